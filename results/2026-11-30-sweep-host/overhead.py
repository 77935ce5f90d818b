"""What a sweep costs beside what it measures: overhead.py WALL_SECONDS RUN

Bookkeeping is what is between the end of one row and the beginning of the next, and what is around all
rows: agreeing, gathering, printing, writing, judging, ending. Initialisation stands apart.
"""
import json
import sys

wall = float(sys.argv[1])
lines = [json.loads(line) for line in open(sys.argv[2])]
header, rows = lines[0], [line for line in lines if line["line"] == "row"]
spent = [row["quality"]["spent"] for row in rows]
total = lambda key: sum(one.get(key, 0) for one in spent) / 1e3
init, whole = sum(header["init_ms"].values()) / 1e3, total("whole_ms")
warming = total("warming_ms")
around = wall - init - whole - warming
print(
    f"{len(rows)} rows of {header['collective']}: wall {wall:.3f} s, initialised once in {init:.3f} s, "
    f"rows {whole:.3f} s (timed {total('timed_ms'):.3f}, preparing {total('preparing_ms'):.3f}, "
    f"checking {total('checking_ms'):.3f}), warming up {warming:.3f}, around them {around:.3f} s = {100 * around / (whole + warming):.1f} %"
)
