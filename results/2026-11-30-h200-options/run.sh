#!/usr/bin/env bash
# Correctness of all collectives in both rigs, the rarer options, and figures beside nccl-tests, in one call.
# Beside it: ncclbench (release), summary.py, libnccl230.so.xz, rival/ (nccl-tests' tree).
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
: "${OUT:=$HERE/out}"; mkdir -p "$OUT"
B=$HERE/ncclbench; LIMIT=${LIMIT:-400}
RAW=$OUT/raw; rm -rf "$RAW"; mkdir -p "$RAW"
log() { printf '%4ds %s\n' "$SECONDS" "$*" | tee -a "$OUT/progress.txt"; }
export NCCL_NVLS_ENABLE=0 NCCL_SOCKET_IFNAME=lo NCCL_TESTS_DEVICE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}${LD_LIBRARY_PATH:+:}/usr/local/cuda/lib64
chmod +x "$B"
MPIHOME=${MPI_HOME:-}
if [ -z "$MPIHOME" ]; then
  for d in /usr/lib/x86_64-linux-gnu/openmpi /opt/openmpi /usr/local/mpi; do [ -f $d/include/mpi.h ] && MPIHOME=$d && break; done
  [ -z "$MPIHOME" ] && MPIHOME=$(dirname "$(dirname "$(mpicc --showme:incdirs 2>/dev/null | awk '{print $1}')/x")")
fi
N230=${N230:-/tmp/n230}
if [ -z "${DRY:-}" ]; then
  mkdir -p "$N230" && (xz -dc "$HERE/libnccl230.so.xz" > "$N230/x" && mv "$N230/x" "$N230/libnccl.so.2") & XZ=$!
  RIVAL=$HERE/rival/build
  (cd "$HERE/rival/src" && nice -n 5 make -j15 MPI=1 MPI_HOME="$MPIHOME" CUDA_HOME=/usr/local/cuda \
     NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90" BUILDDIR="$RIVAL" > "$RAW/build.log" 2>&1; echo "nccl-tests built: rc $?" >> "$OUT/progress.txt") & BUILD=$!
else RIVAL=$HERE/dry-rival; XZ=; BUILD=; fi
{ nvidia-smi; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv; nproc; uname -r; mpirun --version; nvcc --version | tail -2; "$B" --version; } > "$RAW/env.txt" 2>&1 &
# ours behind a wrapper, so that ranks and a place to meet can be given by hand where PMIx is of no use
OURS=$OUT/ours; printf '#!/bin/bash\nexec %q "$@" ${OURS_FLAGS//RANK/$OMPI_COMM_WORLD_RANK}\n' "$B" > "$OURS"; chmod +x "$OURS"
meet() { export OURS_FLAGS=; [ -n "${BY_HAND:-}" ] && [ "$1" -gt 1 ] && OURS_FLAGS="--rank RANK --world $1 --rendezvous 127.0.0.1:$((29000 + RANDOM % 900))"; return 0; }
mps_up() { [ -n "${DRY:-}" ] && return; export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog; mkdir -p /tmp/mps /tmp/mpslog; nvidia-cuda-mps-control -d; }
mps_down() { [ -n "${DRY:-}" ] && return; echo quit | timeout 20 nvidia-cuda-mps-control; unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY; }
mpi() { timeout 60 mpirun -n "$1" --oversubscribe --bind-to none "${@:2}"; }
rigA() { mpi "$1" -x NCCL_NET=Socket -x NCCL_NET_PLUGIN=none -x NCCL_MNNVL_ENABLE=0 -x NCCL_MAX_NCHANNELS=2 bash -c 'NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK exec "$@"' _ "${@:2}"; }
rigB() { mpi "$1" -x LD_LIBRARY_PATH="$N230:$LD_LIBRARY_PATH" -x NCCL_MULTI_RANK_GPU_ENABLE=1 -x NCCL_MAX_CTAS=4 "${@:2}"; }
one() { timeout 60 "${@:2}"; }
LIMITS="--timeout-init 40 --timeout-op 20"
bad=0
# check NAME RIG RANKS ARGS…: ours, everything right or the script's own verdict is bad
check() {
  local name=$1 rig=$2 n=$3 rc; shift 3
  meet "$n"; $rig "$n" "$OURS" "$@" --allow-shared-gpu $LIMITS --output "$RAW/check-$name.jsonl" > "$RAW/check-$name.txt" 2>&1; rc=$?
  log "$name rc $rc: $(python3 "$HERE/summary.py" verdict "$RAW/check-$name.jsonl" 2>&1)"
  python3 "$HERE/summary.py" good "$RAW/check-$name.jsonl" && [ $rc -eq 0 ] || { bad=$((bad+1)); grep -E 'error|hint|wrong|BAD' -A2 "$RAW/check-$name.txt" | head -8; }
}
[ -n "$XZ" ] && wait "$XZ"; log "unpacked"
meet 2; mpi 2 "$OURS" allreduce --backend host -b 8 -e 64 > "$RAW/meet.txt" 2>&1 || { BY_HAND=1; log "meeting by hand: $(grep -m1 error "$RAW/meet.txt")"; }
mps_up
# --- all eleven collectives, all datatypes and operators, two sizes, four real ranks, both rigs
for c in allreduce alltoall allgather reducescatter broadcast reduce gather scatter sendrecv hypercube alltoallv; do
  for rig in B A; do
    root=2; case $c in broadcast|gather|scatter) root=-1;; esac
    check "$rig-$c" rig$rig 4 $c -d all -o all -r $root -b 12K -e 300K -i 288K -n 2 -w 1 -c 1
  done
done
# --- the rarer options, checked, four ranks
S="-b 1K -e 1M -f 32 -n 5 -d all -o sum"
i=0; for o in "-G 3" "-R 1" "-R 2" "-I 1 -K 1" "-u 3" "-z 1" "-z 3 -I 1" "-x 1" "-x 2" "-m 4 -G 2" "-M 1"; do
  i=$((i+1)); check "B-allreduce-$i" rigB 4 allreduce $S $o
done
# the null stream waits for nobody else's work under MPS only with a process of its own; small, like the rest
check "B-allreduce-null" rigB 4 allreduce -b 1K -e 1M -f 32 -n 5 -y 1
for o in 1 2; do check "B-alltoall-R$o" rigB 4 alltoall -b 1K -e 1M -f 32 -n 5 -R $o -G 2; done
check "A-allreduce-G" rigA 4 allreduce -b 1K -e 64K -f 8 -n 5 -G 2 -R 1
log "correctness done, $bad bad"
[ -n "$BUILD" ] && wait "$BUILD"; log "rival there: $(ls "$RIVAL" 2>/dev/null | grep -c _perf)"
# --- figures, interleaved; pair TAG RIG RANKS REP OURS-OPTIONS -- OPTIONS OF BOTH
pair() {
  local tag=$1 rig=$2 n=$3 rep=$4 order; shift 4
  [ "$SECONDS" -gt "$LIMIT" ] && return
  order="ours theirs"; [ $((rep % 2)) -eq 1 ] && order="theirs ours"
  for who in $order; do
    local f=$RAW/pair-$tag-$who-$rep rc
    if [ $who = ours ]; then meet "$n"; $rig "$n" "$OURS" allreduce "$@" -c 1 --allow-shared-gpu $LIMITS --output "$f.jsonl" > "$f.txt" 2>&1; rc=$?
    else $rig "$n" "$RIVAL/all_reduce_perf" "$@" -c 1 -g 1 -J "$f.json" > "$f.txt" 2>&1; rc=$?; fi
    [ $rc -ne 0 ] && log "$tag $who rep $rep rc $rc: $(tail -2 "$f.txt" | cut -c1-200)"
  done
}
for rep in 0 1 2 3 4 5 6 7 8 9 10; do pair B4-plain rigB 4 $rep -b 8 -e 1M -f 2 -n 20; done; log "rig B plain"
for rep in 0 1 2 3 4 5; do
  pair B4-G4 rigB 4 $rep -b 8 -e 8M -f 8 -n 20 -G 4
  pair B4-R1I rigB 4 $rep -b 8 -e 8M -f 8 -n 20 -R 1 -I 1
  pair B4-R2I rigB 4 $rep -b 8 -e 8M -f 8 -n 20 -R 2 -I 1
done; log "rig B options"
mps_down
for rep in 0 1 2 3 4 5; do
  pair one-G4 one 1 $rep -b 8 -e 128M -f 16 -n 20 -G 4
  pair one-R1I one 1 $rep -b 8 -e 128M -f 16 -n 20 -R 1 -I 1
  pair one-R2I one 1 $rep -b 8 -e 128M -f 16 -n 20 -R 2 -I 1
done; log "one rank"
python3 "$HERE/summary.py" table "$RAW" | tee "$OUT/table.txt"
log "done, $bad bad"
(cd "$OUT" && tar czf raw.tgz raw && rm -rf raw)
[ "$bad" -eq 0 ]
