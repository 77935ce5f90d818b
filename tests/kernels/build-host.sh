#!/usr/bin/env bash
# Compiles the collectives' kernels for the CPU: build-host.sh DIR [g++ options] leaves DIR/*.o.
set -euo pipefail
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
jobs=()
compile() { g++ -std=c++20 -O1 -g -Wall -Werror -Wno-unused-function -Wno-maybe-uninitialized -fPIC -pthread -I"$here/../../kernels" "$@"; }
for source in copies reduce_{int8,int32,int64,half,bfloat16,float,double,f8e4m3,f8e5m2}; do
  extra=()
  [ "$source" != copies ] || extra=(-DCOPIES)
  compile "$@" "${extra[@]}" -DMODULE="$source" -DSOURCE="\"$source.cu\"" -c "$here/module.cpp" -o "$out/$source.o" &
  jobs+=($!)
  if [ ${#jobs[@]} -ge 2 ]; then
    wait "${jobs[0]}"
    jobs=("${jobs[@]:1}")
  fi
done
compile "$@" -c "$here/grid.cpp" -o "$out/grid.o"
for job in "${jobs[@]}"; do wait "$job"; done
