"""Figures of the GPU run of sweeps and of `--iters auto`.

  summary.py width RUN        largest half-width of one -n 50 pass, from its repetitions (as a share)
  summary.py rows RUN...      time of the rows of each run, and how well they are known
  summary.py sweep RUN...     overhead of a sweep over what it measured
"""
import json, statistics, sys

def load(path):
    lines = [json.loads(line) for line in open(path)]
    return lines[0], [l for l in lines if l["line"] == "row" and l["outcome"] == "measured"]

def width(path):
    cases = {}
    for row in load(path)[1]:
        cases.setdefault((row["requested"], row["placement"]), []).append(row["time"]["max_us"])
    out = []
    for key, times in sorted(cases.items()):
        middle = statistics.median(times)
        out.append((1.96 * statistics.stdev(times) / middle if middle else 0.0, key, middle))
    return out

def rows(path):
    header, found = load(path)
    spent = [r["quality"]["spent"] for r in found]
    total = lambda key: sum(s[key] for s in spent) / 1e3
    sampling = [r["quality"].get("sampling") for r in found]
    sampling = [s for s in sampling if s]
    ops = sum(s["iterations"] for s in sampling) if sampling else sum(r["iterations"] for r in found)
    widths = [s["half_width"] for s in sampling if s["half_width"] is not None]
    stops = {}
    for s in sampling:
        stops[s["stop"]] = stops.get(s["stop"], 0) + 1
    text = f"{path.split('/')[-1]:24} rows {len(found):3} whole {total('whole_ms'):7.3f} s timed {total('timed_ms'):7.3f} s preparing {total('preparing_ms'):6.3f} s operations {ops}"
    if widths:
        text += f" half-width max {max(widths):.4f} median {statistics.median(widths):.4f} stops {stops}"
    return text

def sweep(path):
    header, found = load(path)
    spent = [r["quality"]["spent"] for r in found]
    total = lambda key: sum(s[key] for s in spent) / 1e3
    return (f"{path.split('/')[-1]:24} rows {len(found)} init {sum(header['init_ms'].values())/1e3:.3f} s "
            f"whole {total('whole_ms'):.3f} s timed {total('timed_ms'):.3f} s checking {total('checking_ms'):.3f} s "
            f"wrong {sum(r.get('wrong') or 0 for r in found)}")

if __name__ == "__main__":
    what, paths = sys.argv[1], sys.argv[2:]
    if what == "width":
        found = width(paths[0])
        print(f"{max(w for w, _, _ in found):.4f}")
    elif what == "widths":
        for w, (size, placement), middle in width(paths[0]):
            print(f"{size:12} {placement:13} {middle:12.2f} us  +-{100*w:.2f} %")
    else:
        for path in paths:
            print({"rows": rows, "sweep": sweep}[what](path))
