"""Counts what the runs in rigs/ measured: rows, checked rows, kinds of (datatype, operator), wrong rows."""

import json
import pathlib

for path in sorted((pathlib.Path(__file__).parent / "rigs").glob("*.jsonl")):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [line for line in lines if line["line"] == "row" and line["outcome"] == "measured"]
    waived = sum(line.get("outcome") == "waived" for line in lines)
    checked = sum(row["wrong"] is not None for row in rows)
    wrong = sum(bool(row["wrong"]) for row in rows)
    kinds = {(row["dtype"], row["redop"]) for row in rows}
    print(f"{path.name:20} measured {len(rows):4} waived {waived} checked {checked:4} kinds {len(kinds):3} wrong {wrong} exit {lines[-1]['exit_code']}")
