#!/usr/bin/env bash
# compute-sanitizer on small sizes, then a soak of random sizes, algorithms and delays (SECS, default 300).
set -u
HERE=$(cd "$(dirname "$0")" && pwd); B=${B:-$HERE/ncclbench}; chmod +x $B 2>/dev/null
T0=$SECONDS; SECS=${SECS:-300}; RAW=/tmp/k3raw; rm -rf $RAW; mkdir -p $RAW "$OUT"
log() { printf '%4ds %s\n' $((SECONDS-T0)) "$*" | tee -a "$OUT/progress.txt"; }
export PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin; unset CUDA_DEVICE_MAX_CONNECTIONS
E="--allow-shared-gpu --timeout-init 30"
if [ -z "${NO_SANITIZER:-}" ]; then
for tool in memcheck racecheck; do
  timeout 40 compute-sanitizer --tool $tool --target-processes all $B allreduce --backend kernel -g 1 $E -b 8 -e 20K -i 9999 -n 1 -w 0 -d all -o all > $RAW/$tool-one.txt 2>&1; log "$tool, one rank rc $? $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|not supported' $RAW/$tool-one.txt | tail -1)"
done
for a in ll oneshot ll-twoshot twoshot; do
  timeout 40 compute-sanitizer --tool memcheck --target-processes all $B allreduce --backend kernel --spawn 2 $E --timeout-op 25 --algo $a -b 8 -e 20K -i 9999 -n 1 -w 0 > $RAW/memcheck-two-$a.txt 2>&1; log "memcheck, two processes, $a rc $? $(grep -E 'ERROR SUMMARY|not supported' $RAW/memcheck-two-$a.txt | sort | uniq -c | tail -2 | tr '\n' ' ')"
done
for c in alltoall allgather broadcast reducescatter; do
  timeout 40 compute-sanitizer --tool memcheck --target-processes all $B $c --backend kernel --spawn 2 $E --timeout-op 25 -b 8 -e 90K -i 44444 -n 1 -w 0 > $RAW/memcheck-two-$c.txt 2>&1; log "memcheck, two processes, $c rc $? $(grep -E 'ERROR SUMMARY' $RAW/memcheck-two-$c.txt | sort | uniq -c | tail -2 | tr '\n' ' ')"
done; fi
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mpslog; mkdir -p /tmp/mps /tmp/mpslog; nvidia-cuda-mps-control -d; log "soak begins"
python3 - $B $RAW $SECS $((SECONDS-T0)) <<'PY' | tee -a $OUT/soak.txt
import os,random,signal,subprocess,sys,threading,time,json
B,raw,secs=sys.argv[1],sys.argv[2],float(sys.argv[3]); end=time.time()+secs
rng=random.Random(20261130); algos={"allreduce":["ll","oneshot","ll-twoshot","twoshot",None],"reducescatter":["ll","pull",None],"allgather":["ll","put","engine",None],"alltoall":["ll","put","pull","engine",None],"broadcast":["ll","put","handout","engine",None]}
dts="int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2".split(); ops="sum prod max min avg mulsum".split()
runs=rows=checked=wrong=waived=bad=pauses=0; began=time.time(); worst=0
def pester(pid,stop):
    global pauses
    while not stop.wait(rng.uniform(0.005,0.05)):
        try:
            kids=open(f"/proc/{pid}/task/{pid}/children").read().split() or [str(pid)]
            k=int(rng.choice(kids)); os.kill(k,signal.SIGSTOP); time.sleep(rng.uniform(0.001,0.03)); os.kill(k,signal.SIGCONT); pauses+=1
        except (OSError,IndexError): pass
while time.time()<end:
    c=rng.choice(list(algos)); a=rng.choice(algos[c]); n=rng.choice([2,2,3,4,4,5,7,8]); lo=rng.randint(1,200000); hi=lo+rng.randint(1,3000000); step=rng.randint(100000,900001)
    form=rng.choice(["spawn","spawn","spawn","t","g"]); cmd=[B,c,"--backend","kernel","--allow-shared-gpu","-b",str(lo),"-e",str(hi),"-i",str(step),"-n",str(rng.choice([1,3,20])),"-w","1","-c","2","--timeout-init","30","--timeout-op","20","-d",rng.choice(dts),"--early",rng.choice("0111")]
    cmd+={"spawn":["--spawn",str(n)],"t":["-t",str(n)],"g":["-g",str(n)]}[form]
    if a: cmd+=["--algo",a]
    if c in("allreduce","reducescatter"): cmd+=["-o",rng.choice(ops)]
    if c=="broadcast": cmd+=["-r",str(rng.randrange(n))]
    if rng.random()<0.4 and a!="engine": cmd+=["--block-threads",str(rng.choice([32,64,96,128,256,512]))]
    if rng.random()<0.2 and a!="engine" : cmd+=["-G","3"]
    out=f"{raw}/soak.jsonl"
    if os.path.exists(out): os.remove(out)
    t=time.time(); p=subprocess.Popen(cmd+["--output",out],stdout=subprocess.PIPE,stderr=subprocess.STDOUT,text=True); stop=threading.Event(); th=None
    if form=="spawn" and rng.random()<0.7: th=threading.Thread(target=pester,args=(p.pid,stop)); th.start()
    try: text,_=p.communicate(timeout=90); rc=p.returncode
    except subprocess.TimeoutExpired: p.kill(); text,_=p.communicate(); rc=-9
    stop.set(); th and th.join(); runs+=1; worst=max(worst,time.time()-t); w0=0
    if os.path.exists(out):
        for l in map(json.loads,open(out)):
            if l.get("line")!="row": continue
            rows+=1; waived+=l["outcome"]=="waived"
            if l["outcome"]=="measured": checked+=l.get("wrong") is not None; w0+=bool(l.get("wrong"))
    wrong+=w0
    if (rc not in(0,3)) or w0: bad+=1; print("BAD rc",rc,"wrong",w0," ".join(cmd[1:])); print("\n".join(text.splitlines()[-12:])[:1500]); sys.stdout.flush()
    if bad>12: break
print(f"soak: {time.time()-began:.0f} s, {runs} runs, {rows} rows, {checked} checked, {waived} waived, {wrong} wrong, {bad} runs that ended badly, {pauses} pauses of single ranks, longest run {worst:.1f} s")
PY
echo quit | timeout 20 nvidia-cuda-mps-control; log "soak done"; tar czf $OUT/all.tgz -C $RAW . ; log done
