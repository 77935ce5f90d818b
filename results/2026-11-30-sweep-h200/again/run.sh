#!/usr/bin/env bash
# One GPU: `--iters auto` beside `-n 50` again, with fewer parts of the buffers made; conditions in a record.
set -u
HERE=$(cd "$(dirname "$0")" && pwd); F=$HERE
B=${B:-$F/ncclbench}; OUT=${OUT:-out}; mkdir -p "$OUT"; RAW=$OUT/raw; mkdir -p "$RAW"
T0=$SECONDS; LIMIT=${LIMIT:-34}
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
left() { [ $((SECONDS-T0)) -lt "$LIMIT" ]; }
export NCCL_NVLS_ENABLE=0 LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64 NCCL_SOCKET_IFNAME=lo
chmod +x "$B" 2>/dev/null
N="allreduce -b 8 -e ${TOP:-16G} -f 2 -g 1 -c 0"
wall() { python3 -c "print(round($(date +%s.%N)-$1,3))"; }
timeout 30 "$B" $N -n 50 -N 2 --output "$RAW/warm.jsonl" > /dev/null 2>&1; log "warm rc $?"
for i in 1 2 3 4 5; do left || break
  s=$(date +%s.%N); timeout 30 "$B" $N -n 50 --output "$RAW/n50-$i.jsonl" > /dev/null 2>"$RAW/n50-$i.err"; log "n50 $i rc $? wall $(wall $s)"
  s=$(date +%s.%N); timeout 30 "$B" $N -n auto --ci 0.5 --output "$RAW/auto-$i.jsonl" > /dev/null 2>"$RAW/auto-$i.err"; log "auto $i rc $? wall $(wall $s)"
done
timeout 20 "$B" sweep latency -g 1 --store "$RAW/latency" > "$RAW/latency.txt" 2>&1; log "latency sweep rc $?"
python3 "$F/summary.py" rows "$RAW"/n50-*.jsonl "$RAW"/auto-*.jsonl > "$OUT/auto.txt"; cat "$OUT/auto.txt"
for f in "$RAW"/n50-1.jsonl "$RAW"/auto-1.jsonl; do python3 - "$f" <<'PY'
import json,sys
h=json.loads(open(sys.argv[1]).readline()); print(sys.argv[1].split('/')[-1], h['init_ms'], h.get('conditions'))
PY
done | tee "$OUT/init.txt"
(cd "$OUT" && tar czf raw.tgz raw && rm -rf raw); log done
