#!/usr/bin/env bash
# smoke of backend kernel, cadence, sweep of algorithms, NCCL 2.30 plain and -R 2 in the same call.
# Needs beside it: ncclbench (release), libnccl230.so.xz, rival/ (nccl-tests sources). Writes into $OUT.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
B=${B:-$HERE/ncclbench}; chmod +x $B 2>/dev/null
T0=$SECONDS; BUDGET=${BUDGET:-145}
RAW=/tmp/kraw; rm -rf $RAW; mkdir -p $RAW "$OUT"
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
left() { [ $((SECONDS-T0)) -lt $((BUDGET-${1:-4})) ]; }
export NCCL_NVLS_ENABLE=0 NCCL_SOCKET_IFNAME=lo CUDA_DEVICE_MAX_CONNECTIONS=32
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin
LIBS=${LD_LIBRARY_PATH:-}; export LD_LIBRARY_PATH=$LIBS${LIBS:+:}/usr/local/cuda/lib64
MPIHOME=${MPI_HOME:-}
if [ -z "$MPIHOME" ]; then
  for d in /usr/lib/x86_64-linux-gnu/openmpi /opt/openmpi /usr/local/mpi; do [ -f $d/include/mpi.h ] && MPIHOME=$d && break; done
  [ -z "$MPIHOME" ] && MPIHOME=$(dirname "$(dirname "$(mpicc --showme:incdirs 2>/dev/null | awk '{print $1}')/x")")
fi
XZ=; [ -f $HERE/libnccl230.so.xz ] && { mkdir -p /tmp/n230; (xz -dc $HERE/libnccl230.so.xz > /tmp/n230/x && mv /tmp/n230/x /tmp/n230/libnccl.so.2) & XZ=$!; }
BUILD=; RIVAL=/tmp/rivalbuild
if [ -d $HERE/rival/src ] && [ -z "${NO_BUILD:-}" ]; then
  (cd $HERE/rival/src && make -j14 MPI=1 MPI_HOME=$MPIHOME CUDA_HOME=/usr/local/cuda NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90" BIN_FILES_LIST="all_reduce alltoall" BUILDDIR=$RIVAL > $RAW/build.log 2>&1; echo "rival build rc $?" >> $OUT/progress.txt) & BUILD=$!
fi
E="--allow-shared-gpu --timeout-init 15 --timeout-op 6"
# run NAME N COLLECTIVE args...: N processes
run() { local name=$1 n=$2 c=$3; shift 3; left || { log "skip $name"; return; }
  timeout ${LIM:-22} $B $c --backend kernel --spawn $n $E --output $RAW/$name.jsonl "$@" > $RAW/$name.txt 2>&1; local rc=$?
  [ $rc -ne 0 ] && { log "$name rc $rc"; grep -E 'error|hint|gave up|rank' $RAW/$name.txt | head -6 | tee -a $OUT/progress.txt; }; }
# ---- one process, without MPS
log "one process"
timeout 22 $B allreduce --backend kernel -g 4 $E -b 8 -e 2M -f 16 -n 20 > $RAW/g4.txt 2>&1; log "-g 4 rc $?"; grep -E '^ +[0-9]|error|hint' $RAW/g4.txt | head -12 | tee -a $OUT/progress.txt
timeout 22 $B allreduce --backend kernel -t 8 $E -b 8 -e 2M -f 16 -n 20 > $RAW/t8.txt 2>&1; log "-t 8 rc $?"; grep -E '^ +[0-9]|error|hint' $RAW/t8.txt | head -12 | tee -a $OUT/progress.txt
for e in 0 1; do run nothing-1-e$e 1 allreduce --algo nothing -b 8 -e 8 -c 0 -n 2000 --early $e; done
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog; mkdir -p /tmp/mps /tmp/mpslog; nvidia-cuda-mps-control -d; log "mps up"
[ -n "$BUILD" ] && wait $BUILD; [ -n "$XZ" ] && wait $XZ; log "built and unpacked"
for n in 2 4 8; do for e in 1 0; do run nothing-$n-e$e $n allreduce --algo nothing -b 8 -e 8 -c 0 -n 2000 --early $e; done; done; log "cadence"
for n in 4 2 8; do for a in ll oneshot ll-twoshot twoshot; do for e in 1 0; do
  [ $e = 0 ] && [ $a = twoshot ] && continue
  run ar-$n-$a-e$e $n allreduce --algo $a -b 8 -e 8M -f 8 -n 100 -w 5 --early $e; done; done; log "sweep $n"; done
mpi() { local n=$1; shift; timeout 25 mpirun -n $n --oversubscribe --bind-to none -x LD_LIBRARY_PATH=/tmp/n230:$LD_LIBRARY_PATH -x NCCL_MULTI_RANK_GPU_ENABLE=1 -x NCCL_MAX_CTAS=4 -x NCCL_TESTS_DEVICE=0 "$@"; }
for n in 4 2 8; do
  left && mpi $n $RIVAL/all_reduce_perf -b 8 -e 8M -f 8 -n 100 -w 5 -c 0 -g 1 > $RAW/nccl-ar-$n.txt 2>&1
  left && mpi $n $RIVAL/all_reduce_perf -b 8 -e 8M -f 8 -n 100 -w 5 -c 0 -g 1 -R 2 > $RAW/nccl-sym-$n.txt 2>&1
  left && mpi $n $RIVAL/alltoall_perf -b 64 -e 8M -f 8 -n 100 -w 5 -c 0 -g 1 > $RAW/nccl-a2a-$n.txt 2>&1
done; log "nccl"
for n in 4 2 8; do for a in ll put pull; do run a2a-$n-$a-e1 $n alltoall --algo $a -b 64 -e 8M -f 8 -n 100 -w 5; done; done; log "alltoall"
for a in peer-flag barrier local-flag; do run $a-4-e1 4 allreduce --algo $a -b 8 -e 8 -c 0 -n 2000; done; log "rungs"
for t in 128 256; do run ar-4-ll-t$t 4 allreduce --algo ll -b 8 -e 256K -f 8 -n 100 --block-threads $t; run ar-4-ll-twoshot-t$t 4 allreduce --algo ll-twoshot -b 4K -e 2M -f 8 -n 100 --block-threads $t; done; log "threads"
for a in ll oneshot ll-twoshot twoshot; do run full-$a 4 allreduce --algo $a -d all -o all -b 12K -e 300K -i 288K -n 2 -c 1; done; log "all datatypes"
for a in ll pull; do run rs-$a 4 reducescatter --algo $a -d all -o all -b 12K -e 300K -i 288K -n 2; done
for a in ll put engine; do run ag-$a 4 allgather --algo $a -b 64 -e 2M -f 32 -n 20; done
for a in ll put handout engine; do run bc-$a 4 broadcast --algo $a -b 64 -e 2M -f 32 -n 20 -r all; done
run a2a-engine 4 alltoall --algo engine -b 64 -e 2M -f 32 -n 20; log "others"
echo quit | timeout 20 nvidia-cuda-mps-control; unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
python3 - $RAW > $OUT/table.txt <<'PY'
import json,sys,glob,os,re
raw=sys.argv[1]; bad=[]; total=0; out=[]
for f in sorted(glob.glob(raw+'/*.jsonl')):
    name=os.path.basename(f)[:-6]; cells=[]; waived={}
    for l in map(json.loads,open(f)):
        if l.get("line")!="row": continue
        if l["outcome"]=="waived": waived[l["reason"][:80]]=waived.get(l["reason"][:80],0)+1; continue
        total+=l.get("wrong") is not None
        if l.get("wrong"): bad.append((name,l["dtype"],l["redop"],l["size"],l["placement"],l["wrong"],l["bad"][:1]))
        if l["placement"]=="out-of-place" and not name.startswith(("full","rs-")): cells.append(f'{l["size"]}:{l["time_us"]:.2f}' + (f'(issue {l["issue"]["mean_us"]:.2f})' if l["size"]==8 else ""))
    out.append(name+"  "+"  ".join(cells)+("  WAIVED "+str(waived) if waived else ""))
for f in sorted(glob.glob(raw+'/nccl-*.txt')):
    cells=[]
    for l in open(f):
        w=l.split()
        if len(w)>8 and w[0].isdigit(): cells.append(f"{w[0]}:{w[5]}")
    out.append(os.path.basename(f)[:-4]+"  "+"  ".join(cells))
print("checked rows",total,"wrong",len(bad)); [print("WRONG",b) for b in bad[:20]]; print("\n".join(out))
PY
cat $OUT/table.txt; tar czf $OUT/raw.tgz -C $RAW .; log done
