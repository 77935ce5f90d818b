#!/usr/bin/env bash
# run.sh NCCLBENCH [FOLDER OF STAND-INS]: three sweeps of five collectives each on backend host (2 ranks in
# one process, 2 processes) and, with the folder, on the stand-ins (2 ranks).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
one() {
  local name=$1; shift
  for turn in 1 2 3; do
    local s e
    s=$(date +%s.%N)
    "$@" --store "$store/$name-$turn" > /dev/null 2>&1
    e=$(date +%s.%N)
    echo -n "$name $turn: "
    python3 "$here/overhead.py" "$(python3 -c "print($e - $s)")" "$(find "$store/$name-$turn" -name '*.jsonl')"
  done
}
one "host -g 2" "$1" sweep "$here/five.toml" --backend host -g 2
one "host --spawn 2" "$1" sweep "$here/five.toml" --backend host --spawn 2
if [ $# = 2 ]; then
  export LD_LIBRARY_PATH=$2
  one "stand-ins -g 2" "$1" sweep "$here/five.toml" -g 2
fi
