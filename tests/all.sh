#!/usr/bin/env bash
# Installs what the tests need, where it is missing, and runs all of them: what a developer runs
# before a change leaves the machine, and what the continuous integration runs.
#
# Installs Debian packages (as root, or through sudo) and, under target/, Python wheels. Starts a
# private Slurm cluster (tests/cluster) and ends it, whatever happens.
set -euo pipefail
cd "$(dirname "$0")/.."

log=target/tests.log
wheels=target/wheels
root=()
[ "$(id -u)" = 0 ] || root=(sudo)

step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

fail() {
  echo "tests/all.sh: $*" >&2
  exit 1
}

# g++ compiles the kernels' header for the host; Slurm's plugin opens what only libpmix-dev has; the
# last line but one is for the cargo feature `mpi`, whose declarations libclang reads from MPI's headers;
# the last is for the report in a browser.
packages=(
  git g++ python3 python3-venv
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libpmix-dev
  openmpi-bin mpich iproute2 util-linux libfabric-bin
  libopenmpi-dev libmpich-dev libclang-dev
  chromium chromium-driver
)

is_installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do is_installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing ${missing[*]}"
  "${root[@]}" apt-get update -q
  # Installing a daemon must not start it: the tests start their own.
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap '"${root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" install -m 0755 /dev/stdin "$policy"
  fi
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}

install_components() {
  cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
  cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
}

# The system's Python refuses foreign packages, so pip gets an environment of its own.
install_wheels() {
  cmp -s tests/wheels.txt "$wheels/done" && return
  rm -rf "$wheels"
  target/venv/bin/python -m pip --version >/dev/null 2>&1 || python3 -m venv --clear target/venv
  target/venv/bin/python -m pip install -q --no-deps --target "$wheels" -r tests/wheels.txt
  cp tests/wheels.txt "$wheels/done"
}

# Runs cargo test with the arguments, and fails where nothing ran.
test_some() {
  cargo test --locked "$@" 2>&1 | tee target/tests.part
  grep -q '^test result: ok\. [1-9]' target/tests.part || fail "no test ran: cargo test $*"
  cat target/tests.part >>"$log"
}

# Launches by real launchers. In `netns` mode the nodes have addresses of their own, which only
# srun's steps can see a difference in.
test_launches() {
  trap '"${root[@]}" tests/cluster/slurm.sh down' EXIT
  "${root[@]}" tests/cluster/slurm.sh up loop
  eval "$(tests/cluster/slurm.sh env)"
  test_some --lib scontrol -- --ignored
  test_some --test launch -- --ignored
  # The feature `mpi`, linked to one MPI and then to the other, which share nothing that is built.
  for mpi in openmpi mpich; do
    MPICC=mpicc.$mpi test_some --features mpi --target-dir "target/$mpi" --lib mpi::
    MPICC=mpicc.$mpi test_some --features mpi --target-dir "target/$mpi" --test launch mpi:: -- --ignored
  done
  "${root[@]}" tests/cluster/slurm.sh up netns
  test_some --test launch srun -- --ignored
}

# The README's first command is what a newcomer types; it must work.
run_readme() {
  local command
  command=$(grep -m1 '^cargo run --release' README.md)
  echo "$command"
  $command | tee target/tests.part
  grep -q '^# Out of bounds values : 0 OK' target/tests.part || fail "the README's command did not end well"
}

# The release that the README's command has built must start on older systems and in any image.
test_release() {
  local release=$PWD/target/release/ncclbench
  NCCLBENCH_TEST_PROGRAM=$release test_some --test portable
}

# One line over all runs of cargo test, worded as each of theirs is. A test that was ignored first
# and then run with --ignored is not counted as ignored.
total() {
  awk -v seconds="$SECONDS" '
    /^test result: / { passed += $4; failed += $6 }
    /^test .* \.\.\. ignored/ { ignored[$2] }
    /^test .* \.\.\. ok$/ { ran[$2] }
    END {
      for (name in ignored) if (!(name in ran)) left++
      printf "test result: %s. %d passed; %d failed; %d ignored; 0 measured; 0 filtered out; finished in %d.00s\n",
        failed ? "FAILED" : "ok", passed, failed, left, seconds
    }' "$log"
}

mkdir -p target
: >"$log"
step "packages, components, wheels"
(install_packages) # in a shell of its own, which ends what it set up
install_components
install_wheels
step "format"
cargo fmt --all --check
step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings
MPICC=mpicc.openmpi cargo clippy --all-targets --features mpi --target-dir target/openmpi --locked -- -D warnings
step "kernels are what their sources say"
target/venv/bin/python kernels/build.py --check
step "tests"
test_some
step "the real NCCL, as far as it goes without a GPU"
test_some --test real_nccl -- --ignored
step "the report in a browser"
test_some --test browser -- --ignored
step "launches by Slurm, Open MPI and MPICH"
test_launches
step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --locked
MPICC=mpicc.openmpi RUSTDOCFLAGS="-D warnings" \
  cargo doc --no-deps --document-private-items --features mpi --target-dir target/openmpi --locked
step "the README's first command"
run_readme
step "what the release needs"
test_release
step "all"
total
