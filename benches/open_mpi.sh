#!/usr/bin/env bash
# Backend `host` beside Open MPI, interleaved: 4 processes, float, 1, 16 and 64 MiB.
#
#   benches/open_mpi.sh [ROUNDS]      needs openmpi-bin and libopenmpi-dev, and a release build
#
# Prints raw lines `round who collective bytes microseconds`, then medians with the smallest and largest.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-7}
sizes=(1048576 16777216 67108864)
peer=$(mktemp -d)
trap 'rm -rf "$peer"' EXIT
mpicc.openmpi -O2 -o "$peer/open_mpi" benches/open_mpi.c
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

ours() {
  local collective size
  for collective in allreduce alltoall; do
    for size in "${sizes[@]}"; do
      target/release/ncclbench "$collective" --backend host --spawn 4 -b "$size" -e "$size" -n 20 -c 0 2>/dev/null |
        awk -v c="$collective" -v s="$size" '$1 == s { print c, s, $6 }'
    done
  done
}

theirs() { timeout 120 mpirun.openmpi -n 4 --oversubscribe "$peer/open_mpi" 20 "${sizes[@]}"; }

for round in $(seq "$rounds"); do
  ours | sed "s/^/$round ncclbench /"
  theirs | sed "s/^/$round open-mpi /"
done | tee "$peer/raw"

python3 - "$peer/raw" <<'PY'
import collections, statistics, sys

times = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    turn, who, collective, size, us = line.split()
    times[collective, int(size), who][turn] = float(us)
for collective, size in sorted({key[:2] for key in times}):
    ours, theirs = (times[collective, size, who] for who in ("ncclbench", "open-mpi"))
    ratios = [theirs[turn] / ours[turn] for turn in ours]
    speed = lambda us: size / statistics.median(us.values()) / 1e3
    print(f"{collective} {size >> 20} MiB: {speed(ours):.2f} GB/s, Open MPI {speed(theirs):.2f} GB/s, "
          f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
PY
