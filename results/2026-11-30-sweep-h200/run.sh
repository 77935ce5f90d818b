#!/usr/bin/env bash
# One GPU: a sweep of five collectives beside nccl-tests run five times; `--iters auto` beside `-n 50`.
set -u
HERE=$(cd "$(dirname "$0")" && pwd); F=$HERE
B=${B:-$F/ncclbench}; OUT=${OUT:-out}; mkdir -p "$OUT"; RAW=$OUT/raw; mkdir -p "$RAW"
T0=$SECONDS; LIMIT=${LIMIT:-145}
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
left() { [ $((SECONDS-T0)) -lt "$LIMIT" ]; }
export NCCL_NVLS_ENABLE=0 PATH=$PATH:/usr/local/cuda/bin LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64 NCCL_SOCKET_IFNAME=lo
chmod +x "$B" 2>/dev/null
TOP=${TOP:-16G}
# --- nccl-tests in the background, unless another script has built it
RIVAL=${RIVAL:-$HERE/rival/build}; BUILD=
five="all_reduce alltoall all_gather reduce_scatter broadcast"
have() { for p in $five; do [ -x "$RIVAL/${p}_perf" ] || return 1; done; }
SRC=$HERE/rival/src; [ -d "$SRC" ] || SRC=$F/rival/src
if ! have && [ -d "$SRC" ] && command -v nvcc >/dev/null; then
  (cd "$SRC" && timeout 100 make -j12 MPI=0 CUDA_HOME=/usr/local/cuda NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90" BIN_FILES_LIST="$five" BUILDDIR="$RIVAL" > "$RAW/build.log" 2>&1; echo "rival build rc $?" >> "$OUT/progress.txt") & BUILD=$!
fi
{ nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks_throttle_reasons.active,temperature.gpu --format=csv; nproc; } > "$RAW/env.txt" 2>&1
# --- works at all: percentiles by GPU events, marks, conditions (does not mind the build beside it)
timeout 40 "$B" sweep latency -g 1 --store "$RAW/latency" > "$RAW/latency.txt" 2>&1; log "latency sweep rc $?"
[ -n "$BUILD" ] && wait "$BUILD"; have && log "nccl-tests built" || log "no nccl-tests: that part is left out"
# --- auto beside -n 50, 8 B to TOP, one rank
N="allreduce -b 8 -e $TOP -f 2 -g 1 -c 0"
timeout 60 "$B" $N -n 50 -N 8 --output "$RAW/n50-8times.jsonl" > "$RAW/n50-8times.txt" 2>&1; log "n50 8 times rc $?"
python3 "$F/summary.py" widths "$RAW/n50-8times.jsonl" > "$OUT/widths.txt"
W=$(python3 "$F/summary.py" width "$RAW/n50-8times.jsonl"); W=$(python3 -c "print(min(0.5,max(0.002,float('${W:-0.05}'))))")
log "one pass of -n 50 is known to $W at its worst size"
for i in 1 2 3; do left || break
  s=$(date +%s.%N); timeout 30 "$B" $N -n 50 --output "$RAW/n50-$i.jsonl" > /dev/null 2>"$RAW/n50-$i.err"; log "n50 $i rc $? wall $(python3 -c "print(round($(date +%s.%N)-$s,3))")"
  s=$(date +%s.%N); timeout 30 "$B" $N -n auto --ci "$W" --output "$RAW/auto-$i.jsonl" > /dev/null 2>"$RAW/auto-$i.err"; log "auto $i rc $? wall $(python3 -c "print(round($(date +%s.%N)-$s,3))")"
done
s=$(date +%s.%N); timeout 60 "$B" $N -n auto --output "$RAW/auto-default.jsonl" > /dev/null 2>&1; log "auto at 1 % rc $? wall $(python3 -c "print(round($(date +%s.%N)-$s,3))")"
python3 "$F/summary.py" rows "$RAW"/n50-[123].jsonl "$RAW"/auto-*.jsonl > "$OUT/auto.txt"
# --- a sweep of five beside nccl-tests run five times, interleaved
for i in 1 2 3 4; do left || break
  s=$(date +%s.%N); timeout 60 "$B" sweep "$F/five.toml" -g 1 --store "$RAW/five-$i" > "$RAW/five-$i.txt" 2>&1; rc=$?
  log "five $i ours rc $rc wall $(python3 -c "print(round($(date +%s.%N)-$s,3))")"
  if have; then s=$(date +%s.%N)
    for p in $five; do timeout 30 "$RIVAL/${p}_perf" -b 8 -e 1G -f 2 -g 1 -n 20 -w 1 -c 1 > "$RAW/theirs-$i-$p.txt" 2>&1 || log "theirs $p rc $?"; done
    log "five $i theirs wall $(python3 -c "print(round($(date +%s.%N)-$s,3))")"; fi
done
python3 "$F/summary.py" sweep $(find "$RAW" -path '*five-*' -name '*.jsonl' | sort) > "$OUT/five.txt"
cat "$OUT/auto.txt" "$OUT/five.txt"
(cd "$OUT" && tar czf raw.tgz raw && rm -rf raw); log done
