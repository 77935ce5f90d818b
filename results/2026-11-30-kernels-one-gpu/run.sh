#!/usr/bin/env bash
# tune for 2, 4 and 8 ranks, ladder, final figures (5 launches each, interleaved with NCCL 2.30).
# Needs beside it: ncclbench (release), libnccl230.so.xz, rival/. Writes $OUT/table.txt, $OUT/all.tgz, $OUT/progress.txt.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
B=${B:-$HERE/ncclbench}; chmod +x $B 2>/dev/null
T0=$SECONDS; BUDGET=${BUDGET:-165}; REPS=${REPS:-5}
RAW=/tmp/k2raw; rm -rf $RAW; mkdir -p $RAW "$OUT"
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
left() { [ $((SECONDS-T0)) -lt $((BUDGET-${1:-3})) ]; }
export NCCL_NVLS_ENABLE=0 NCCL_SOCKET_IFNAME=lo; unset CUDA_DEVICE_MAX_CONNECTIONS
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin
LIBS=${LD_LIBRARY_PATH:-}; export LD_LIBRARY_PATH=$LIBS${LIBS:+:}/usr/local/cuda/lib64
MPIHOME=${MPI_HOME:-}
if [ -z "$MPIHOME" ]; then
  for d in /usr/lib/x86_64-linux-gnu/openmpi /opt/openmpi /usr/local/mpi; do [ -f $d/include/mpi.h ] && MPIHOME=$d && break; done
  [ -z "$MPIHOME" ] && MPIHOME=$(dirname "$(dirname "$(mpicc --showme:incdirs 2>/dev/null | awk '{print $1}')/x")")
fi
XZ=; [ -f $HERE/libnccl230.so.xz ] && [ ! -f /tmp/n230/libnccl.so.2 ] && { mkdir -p /tmp/n230; (xz -dc $HERE/libnccl230.so.xz > /tmp/n230/x && mv /tmp/n230/x /tmp/n230/libnccl.so.2) & XZ=$!; }
BUILD=; RIVAL=${RIVAL:-/tmp/rivalbuild}
if [ ! -x $RIVAL/all_reduce_perf ] && [ -d $HERE/rival/src ] && [ -z "${NO_BUILD:-}" ]; then
  (cd $HERE/rival/src && make -j14 MPI=1 MPI_HOME=$MPIHOME CUDA_HOME=/usr/local/cuda NVCC_GENCODE="-gencode=arch=compute_90,code=sm_90" BIN_FILES_LIST="all_reduce alltoall" BUILDDIR=$RIVAL > $RAW/build.log 2>&1; echo "rival build rc $?" >> $OUT/progress.txt) & BUILD=$!
fi
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog; mkdir -p /tmp/mps /tmp/mpslog; nvidia-cuda-mps-control -d; log "mps up"
E="--allow-shared-gpu --timeout-init 15 --timeout-op 6"
tune() { local n=$1; shift; timeout 60 $B tune "$@" --spawn $n $E -b 64 -e ${TE:-4M} -f 4 -n ${TN:-100} -o $RAW/tuning-$n.json > $RAW/tune-$n.txt 2> $RAW/tune-$n.err; log "tune $n rc $?"; [ -s $RAW/tuning-$n.json ] || tail -5 $RAW/tune-$n.err; }
tune 4 --block-threads 128,256
tune 8 --block-threads 256
tune 2 --block-threads none
[ -n "$BUILD" ] && wait $BUILD; [ -n "$XZ" ] && wait $XZ; log "built and unpacked"
export NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_MAX_CTAS=4
for n in 4 8 2; do left 12 && { timeout 40 $B ladder --spawn $n $E -n ${LN:-1000} --nccl-lib ${NCCLLIB:-/tmp/n230/libnccl.so.2} > $RAW/ladder-$n.txt 2>&1; log "ladder $n rc $?"; cat $RAW/ladder-$n.txt | cut -c1-160; }; done
mpi() { local n=$1; shift; timeout 25 mpirun -n $n --oversubscribe --bind-to none -x LD_LIBRARY_PATH=/tmp/n230:$LD_LIBRARY_PATH -x NCCL_MULTI_RANK_GPU_ENABLE=1 -x NCCL_MAX_CTAS=4 -x NCCL_TESTS_DEVICE=0 "$@"; }
ours() { local name=$1 n=$2 c=$3; shift 3; timeout 22 $B $c --backend kernel --spawn $n $E --output $RAW/$name.jsonl "$@" > $RAW/$name.txt 2>&1 || { log "$name rc $?"; grep -E 'error|hint|wrong' $RAW/$name.txt | head -4; }; }
S="-b 8 -e ${SE:-2M} -f 8 -n ${SN:-200} -w 5"
for r in $(seq $REPS); do for n in 2 4 8; do
  left 5 || { log "stop at rep $r, $n ranks"; break 2; }
  T=; [ -s $RAW/tuning-$n.json ] && T="--tuning $RAW/tuning-$n.json"
  ours empty-$n-early0-r$r $n allreduce --algo nothing -b 8 -e 8 -c 0 -n 1000 --early 0
  ours empty-$n-early1-r$r $n allreduce --algo nothing -b 8 -e 8 -c 0 -n 1000
  ours ar-$n-ours-r$r $n allreduce $S $T
  mpi $n $RIVAL/all_reduce_perf $S -c 0 -g 1 > $RAW/ar-$n-nccl-r$r.txt 2>&1
  mpi $n $RIVAL/all_reduce_perf $S -c 0 -g 1 -R 2 > $RAW/ar-$n-sym-r$r.txt 2>&1
  ours a2a-$n-ours-r$r $n alltoall $S $T
  mpi $n $RIVAL/alltoall_perf $S -c 0 -g 1 > $RAW/a2a-$n-nccl-r$r.txt 2>&1
done; log "rep $r"; done
for n in 2 4 8; do left 3 && ours g-$n-ours $n allreduce $S -G 5 ${T:-}; done; log graphs
echo quit | timeout 20 nvidia-cuda-mps-control; unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
python3 - $RAW > $OUT/table.txt <<'PY'
import json,sys,glob,os,re,statistics as st
raw=sys.argv[1]; d={}; checked=wrong=0
def add(k,size,t): d.setdefault(k,{}).setdefault(size,[]).append(t)
for f in sorted(glob.glob(raw+'/*.jsonl')):
    m=re.match(r"(.*)-r\d+$",os.path.basename(f)[:-6]); k=m.group(1) if m else os.path.basename(f)[:-6]
    for l in map(json.loads,open(f)):
        if l.get("line")!="row" or l["outcome"]!="measured": continue
        checked+=l.get("wrong") is not None; wrong+=bool(l.get("wrong"))
        if l["placement"]=="out-of-place": add(k,l["size"],l["time_us"])
for f in sorted(glob.glob(raw+'/*-nccl-r*.txt')+glob.glob(raw+'/*-sym-r*.txt')):
    k=re.match(r"(.*)-r\d+$",os.path.basename(f)[:-4]).group(1)
    for l in open(f):
        w=l.split()
        if len(w)>8 and w[0].isdigit(): add(k,int(w[0]),float(w[5]))
f=lambda v: f"{st.median(v):.2f} ({min(v):.2f}-{max(v):.2f})"
print("checked rows",checked,"wrong",wrong,"; us, median (min-max) over launches, out of place")
for n in (2,4,8):
    e0=d.get(f"empty-{n}-early0",{}).get(8); e1=d.get(f"empty-{n}-early1",{}).get(8)
    if not e0 or not e1: continue
    print(f"\n== {n} ranks: empty kernel {f(e0)}; launched early {f(e1)}")
    for c in ("ar","a2a"):
        o=d.get(f"{c}-{n}-ours",{})
        for s in sorted(o):
            row=f"{c:4} {s:9} ours {f(o[s]):24}"
            for who in ("nccl","sym"):
                v=d.get(f"{c}-{n}-{who}",{}).get(s)
                if v: row+=f" {who} {f(v):24} ratio {st.median(o[s])/st.median(v):.3f}"
            if c=="ar" and s==8: row+=f"  of empty {st.median(o[s])/st.median(e0):.2f}, of early {st.median(o[s])/st.median(e1):.2f}"
            print(row)
    g=d.get(f"g-{n}-ours",{})
    if g: print("graph", "  ".join(f"{s}:{st.median(v):.2f}" for s,v in sorted(g.items())))
for n in (2,4,8):
    for x in (f"tune-{n}.txt",f"ladder-{n}.txt"):
        p=os.path.join(raw,x)
        if os.path.exists(p): print("\n==",x); print(open(p).read()[:6000])
PY
cat $OUT/table.txt; nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv > $RAW/gpu.txt 2>&1; tar czf $OUT/all.tgz -C $RAW .; log done
