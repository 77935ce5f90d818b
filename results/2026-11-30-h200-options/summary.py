#!/usr/bin/env python3
"""Counts what a run checked, and sets ours beside nccl-tests.

summary.py verdict RUN.jsonl    one line
summary.py good RUN.jsonl       exit 0 if something was checked, nothing was wrong, the run ended well
summary.py collect FOLDER       pair-TAG-WHO-REP files as CSV, one line a figure
summary.py table FIGURES.csv    medians (smallest-largest) over launches; launch 0 is not counted
"""
import collections
import csv
import glob
import json
import os
import re
import statistics as st
import sys


def lines(path):
    with open(path, errors="replace") as file:
        return [json.loads(line) for line in file if line.strip()]


def counted(path):
    rows = [l for l in lines(path) if l.get("line") == "row"]
    done = [r for r in rows if r["outcome"] == "measured"]
    checked = [r for r in done if r.get("wrong") is not None]
    return {
        "rows": len(rows),
        "measured": len(done),
        "checked": len(checked),
        "kinds": len({(r["dtype"], r["redop"], r["root"]) for r in done}),
        "wrong": sum(1 for r in checked if r["wrong"]),
        "waived": sorted({r["reason"][:90] for r in rows if r["outcome"] == "waived"}),
        "iterations": sum(1 for r in done if r.get("per_iteration")),
        "unchecked": sorted({(r.get("unchecked") or "")[:60] for r in done if r.get("wrong") is None}),
    }


def good(path):
    try:
        c, footer = counted(path), lines(path)[-1]
    except (OSError, ValueError, IndexError) as error:
        print(f"BAD {path}: {error}")
        return False
    return c["checked"] > 0 and c["wrong"] == 0 and footer.get("line") == "footer" and footer["exit_code"] == 0


def ours(path):
    for r in lines(path):
        if r.get("line") == "row" and r["outcome"] == "measured":
            yield r["size"], r["placement"], r["time_us"], r.get("wrong"), r.get("per_iteration")


def theirs(path):
    with open(path, errors="replace") as file:
        document = json.load(file)
    for r in document["results"]:
        for key, placement in (("out_of_place", "out-of-place"), ("in_place", "in-place")):
            m = r[key]
            yield r["size"], placement, m["time"], m.get("nwrong"), r.get(key + "_per_iter")


def collect(folder):
    out = csv.writer(sys.stdout)
    out.writerow(["run", "who", "launch", "placement", "size", "figure", "us", "wrong"])
    for path in sorted(glob.glob(os.path.join(folder, "pair-*"))):
        name = re.match(r"pair-(.+)-(ours|theirs)-(\d+)\.(jsonl|json)$", os.path.basename(path))
        if not name:
            continue
        for size, placement, time, bad, series in (ours if name[2] == "ours" else theirs)(path):
            head = [name[1], name[2], name[3], placement, size]
            out.writerow(head + ["time", round(time, 3), "" if bad is None else int(bad)])
            for key in ("min_us", "p50_us", "max_us") if series else ():
                out.writerow(head + ["i_" + key[:-3], round(series[key], 3), ""])


def table(path):
    data = collections.defaultdict(lambda: collections.defaultdict(lambda: {"ours": [], "theirs": []}))
    wrong = 0
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            wrong += bool(row["wrong"] and int(row["wrong"]))
            if row["launch"] != "0":
                key = (row["run"], row["placement"], row["figure"])
                data[key][int(row["size"])][row["who"]].append(float(row["us"]))
    for (run, placement, figure), sizes in sorted(data.items()):
        launches = [max(len(v[who]) for v in sizes.values()) for who in ("ours", "theirs")]
        print(f"\n{run} {placement} {figure} in us; launches: ours {launches[0]}, nccl-tests {launches[1]}")
        print(f"{'size':>11}  {'ours (min-max)':>30}  {'nccl-tests (min-max)':>30}  ratio")
        for size, v in sorted(sizes.items()):
            a, b = v["ours"], v["theirs"]
            show = lambda v: f"{st.median(v):10.2f} ({min(v):.2f}-{max(v):.2f})"
            apart = "" if min(a) <= max(b) and min(b) <= max(a) else "  apart"
            print(f"{size:>11}  {show(a):>30}  {show(b):>30}  {st.median(a) / st.median(b):.3f}{apart}")
    print(f"\nwrong measurements in all of them: {wrong}")


if __name__ == "__main__":
    command, path = sys.argv[1:3]
    if command == "verdict":
        print(counted(path))
    elif command == "good":
        sys.exit(0 if good(path) else 1)
    elif command == "collect":
        collect(path)
    else:
        table(path)
