#!/usr/bin/env bash
# Makes everything in the gallery again, by the commands of its README.
# NCCLBENCH is the program to use (target/release/ncclbench).
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${NCCLBENCH:-target/release/ncclbench}
ncclbench() { "$program" "$@"; }
grep '^ncclbench ' docs/gallery/README.md | while read -r command; do
  echo "$command"
  eval "$command"
done
