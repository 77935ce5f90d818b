"""Puts the rounds of `before.txt` and `after.txt` together: median (least, most) for each cell."""

import collections
import statistics
import sys


def rounds(path):
    columns, cells = [], collections.defaultdict(list)
    for line in open(path, encoding="utf-8"):
        words = [word.strip() for word in line.strip().strip("|").split("|")]
        if words[0] == "ranks":
            columns = words[1:]
        elif words[0].isdigit():
            for column, word in zip(columns, words[1:], strict=True):
                cells[int(words[0]), column].append(float(word.split()[0]))
    return columns, cells


for path in sys.argv[1:]:
    columns, cells = rounds(path)
    print(f"{path}\n\n| ranks | {' | '.join(columns)} |\n|{'---:|' * (len(columns) + 1)}")
    for ranks in sorted({ranks for ranks, _ in cells}):
        row = [cells[ranks, column] for column in columns]
        texts = [f"{statistics.median(all_):.1f} ({min(all_):.1f}, {max(all_):.1f})" for all_ in row]
        print(f"| {ranks:,} | {' | '.join(texts)} |")
    print()
