#!/usr/bin/env bash
# Builds the stand-ins into a folder: DIR/libcuda.so.1, DIR/libnccl.so.2 and DIR/old/
# with both.
#
# Several builds may run at once; a library that is in use is replaced, not written to.
set -euo pipefail
[ $# = 1 ] || {
  echo "usage: tests/stand-ins/build.sh DIR" >&2
  exit 2
}
mkdir -p "$1/old"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
built=${CARGO_TARGET_DIR:-target}/debug

exec 9>"$out/.lock"
flock 9

build() { cargo build --quiet --locked --profile test "$@"; }

# Leaves an unchanged library alone, so that whoever has it open shares it.
put() {
  cmp -s "$1" "$2" && return
  cp "$1" "$2.new"
  mv "$2.new" "$2"
}

build -p stand-in-nccl -p stand-in-cuda --no-default-features
put "$built/libstand_in_nccl.so" "$out/old/libnccl.so.2"
put "$built/libstand_in_cuda.so" "$out/old/libcuda.so.1"
build -p stand-in-cuda -p stand-in-nccl
put "$built/libstand_in_nccl.so" "$out/libnccl.so.2"
put "$built/libstand_in_cuda.so" "$out/libcuda.so.1"
