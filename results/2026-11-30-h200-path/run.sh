#!/usr/bin/env bash
# Path verdicts of rigs A and B (4 ranks), NCCL's lines passed on, and what the capture costs.
# B: the program (optimised). HERE: folder with libnccl230.so.xz or an unpacked /tmp/n230/libnccl.so.2.
set -u
HERE=${HERE:-$(cd "$(dirname "$0")" && pwd)}
B=${B:-$HERE/ncclbench}
OUT=${OUT:-/tmp/path-out}; mkdir -p "$OUT"
T0=$SECONDS
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
chmod +x "$B" 2>/dev/null
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}/usr/local/cuda/lib64
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin NCCL_SOCKET_IFNAME=lo NCCL_NVLS_ENABLE=0
if [ ! -s /tmp/n230/libnccl.so.2 ] && [ -s "$HERE/libnccl230.so.xz" ]; then
  mkdir -p /tmp/n230 && xz -dc "$HERE/libnccl230.so.xz" > /tmp/n230/x && mv /tmp/n230/x /tmp/n230/libnccl.so.2; fi
N230=${N230:-/tmp/n230}
# Four processes by hand: no launcher to go wrong. VARS is set for all; RANKVARS may use $r.
four() { # name, arguments of the program
  local name=$1; shift
  local port=$((29000 + RANDOM % 900)) pids=() r
  for r in 0 1 2 3; do
    ( [ "${RIG:-}" = A ] && export NCCL_NET=Socket NCCL_NET_PLUGIN=none NCCL_MNNVL_ENABLE=0 NCCL_MAX_NCHANNELS=2 NCCL_HOSTID=rank$r
      [ "${RIG:-}" = B ] && export LD_LIBRARY_PATH=$N230:$LD_LIBRARY_PATH NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=4
      exec timeout 45 "$B" "$@" --allow-shared-gpu --timeout-init 30 --timeout-op 15 --rank $r --world 4 --rendezvous 127.0.0.1:$port > "$OUT/$name.$r.out" 2> "$OUT/$name.$r.err" ) &
    pids+=($!)
  done
  local codes=""
  for r in 0 1 2 3; do wait ${pids[$r]}; codes="$codes $?"; done
  echo "$codes" > "$OUT/$name.codes"
}
tell() { log "$1 codes$(cat "$OUT/$1.codes")"; grep -hE '^(path|gate|error|warning|hint|note: not)' "$OUT/$1.0.err" | tee -a "$OUT/verdicts.txt"; }
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps-path CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog-path; mkdir -p /tmp/mps-path /tmp/mpslog-path
[ -n "${NO_MPS:-}" ] || timeout 20 nvidia-cuda-mps-control -d
for rig in A B; do
  n=${SIZE_A:-1M}; [ $rig = B ] && n=${SIZE_B:-64M}
  RIG=$rig four $rig-verdict allreduce -b 8 -e $n -f 8 -n 5 --output "$OUT/$rig-verdict.jsonl"; tell $rig-verdict
  NCCL_DEBUG=INFO RIG=$rig four $rig-debug alltoall -b 1K -e 64K -f 8 -n 3 --require-path any; tell $rig-debug
  NCCL_DEBUG=INFO RIG=$rig four $rig-direct alltoall -b 1K -e 64K -f 8 -n 3 --no-path; tell $rig-direct
  # the same lines whether NCCL wrote them or they were passed on
  for how in debug direct; do cat "$OUT"/$rig-$how.?.out | grep -aE 'NCCL (INFO|WARN)' | sed -E 's/0x[0-9a-f]+/X/g; s/[0-9]+/N/g' | sort > "$OUT/$rig-$how.lines"; done
  log "$rig lines: $(wc -l < "$OUT/$rig-debug.lines") passed on, $(wc -l < "$OUT/$rig-direct.lines") direct, $(diff "$OUT/$rig-debug.lines" "$OUT/$rig-direct.lines" | grep -c '^[<>]') differ"
done
# what the capture costs, on and off by turns
one() { local s; s=$(date +%s.%N); timeout 30 "$B" "$@" 2>> "$OUT/cost.err"; echo "## rc $? wall $(echo "$(date +%s.%N) - $s" | bc)"; }
SW="-b 8 -e 1M -f 8 -w 20 -n ${N1:-200} -c 0"
for i in $(seq ${REPS1:-3}); do
  for how in on off off on; do
    [ $((i % 2)) = 0 ] && how=$([ $how = on ] && echo off || echo on)
    case $how in on) x=;; off) x=--no-path;; esac
    { echo "== one $how rep $i"; one allreduce $SW -g 1 $x; } >> "$OUT/cost.txt"
  done
done; log "one rank done"
for i in $(seq ${REPS:-5}); do
  for how in on off; do
    [ $((i % 2)) = 0 ] && how=$([ $how = on ] && echo off || echo on)
    case $how in on) x=;; off) x=--no-path;; esac
    RIG=B four cost4 allreduce -b 8 -e 1M -f 8 -w 20 -n ${N4:-100} -c 0 $x
    { echo "== four $how rep $i"; cat "$OUT/cost4.0.out"; echo "## rc$(cat "$OUT/cost4.codes")"; } >> "$OUT/cost.txt"
  done
done; log "four ranks done"
[ -n "${NO_MPS:-}" ] || echo quit | timeout 20 nvidia-cuda-mps-control
rm -f "$OUT"/cost4.*
log done
