#!/usr/bin/env bash
# Runs a program as one process of a container whose image holds it, the C library and nothing else:
# no MPI, no PMIx, no shell. What an image carries for good is set, and all of it is nonsense.
#
#   container.sh PROGRAM ARGUMENT…
#
# Needs root. The file system is the container's own; network, processes and variables are not, as
# with Pyxis and Enroot.
set -euo pipefail

export OMPI_MCA_pml=nonsense OMPI_MCA_btl=nonsense OPAL_PREFIX=/nowhere PMIX_MCA_gds=nonsense
export PMIX_MCA_mca_base_component_path=/nowhere

exec unshare --mount --propagation private bash -ec '
  root=/mnt
  mount -t tmpfs image "$root"
  place() { mkdir -p "$root${1%/*}" && : >"$root$1" && mount --bind "$1" "$root$1"; }
  for file in "$1" /etc/hosts /dev/null /dev/urandom; do place "$file"; done
  for file in $(ldd "$1" | grep -o "/[^ ]*"); do place "$file"; done
  mkdir -p "$root/proc" "$root/tmp"
  mount -t proc proc "$root/proc"
  exec chroot "$root" "$@"' container "$@"
