import sys,re,collections,statistics as st
runs=collections.defaultdict(lambda: collections.defaultdict(list)); wall=collections.defaultdict(list); key=None
for l in open(sys.argv[1],errors="replace"):
    m=re.match(r"== (\S+) (\S+) rep (\d+)",l)
    if m: key=(m[1],m[2],int(m[3])) ; continue
    m=re.match(r"## wall ([\d.]+)",l)
    if m and key[2]>0: wall[key[:2]].append(float(m[1]))
    f=l.split()
    if key and len(f)==13 and f[0].isdigit() and key[2]>0:
        runs[key[0]][int(f[0])].append(((key[1],key[2]),float(f[5]),f[8]))
# header "one ours": normalise order of names
def norm(k): return k
for rig in runs:
    print(f"{rig}: size, ours median us (min-max), theirs median us (min-max), ratio")
    for size in sorted(runs[rig]):
        d=collections.defaultdict(list); bad=0
        for (who,rep),t,w in runs[rig][size]:
            d[who].append(t); bad+= w not in("0","N/A")
        if not d["ours"] or not d["theirs"]: print("  ",size,"missing",{k:len(v) for k,v in d.items()}); continue
        a,b=st.median(d["ours"]),st.median(d["theirs"])
        print(f"  {size:>11} {a:9.2f} ({min(d['ours']):.2f}-{max(d['ours']):.2f}) {b:9.2f} ({min(d['theirs']):.2f}-{max(d['theirs']):.2f})  {a/b:.3f} {'WRONG' if bad else ''}")
for k,v in wall.items(): print("wall",k,f"median {st.median(v):.2f} s ({min(v):.2f}-{max(v):.2f}) n={len(v)}")
