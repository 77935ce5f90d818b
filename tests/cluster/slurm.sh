#!/usr/bin/env bash
# A throw-away Slurm cluster of two nodes on this machine, for the tests of launches.
#
#   slurm.sh up [loop|netns]   start it (needs root and the packages of tests/all.sh)
#   slurm.sh env               the variables that point at it: eval "$(slurm.sh env)"
#   slurm.sh down              end it; nothing is touched that `up` did not start
#
# README.md beside this file says how it works and why.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# Short, because a Unix socket's path is; below /tmp, because munged wants every folder on the way
# open to all; named after the checkout, so that two checkouts may have a cluster each.
number() { cksum <<<"$1" | cut -d' ' -f1; }
state=${CLUSTER_STATE:-/tmp/ncclbench-$(number "$here")}
id=$(number "$state")
nodes=(node1 node2)
subnet=10.$((64 + id % 64)).$((id / 64 % 256))
bridge=nb$((id % 100000))
gpus=4

fail() {
  echo "slurm.sh: $*" >&2
  exit 1
}

# Whether the process recorded in a file runs, belongs to this cluster and is no zombie.
runs() {
  local pid
  pid=$(cat "$state/$1.pid" 2>/dev/null) && [ -n "$pid" ] || return 1
  grep -q '^State:[[:space:]]*[^Z]' "/proc/$pid/status" 2>/dev/null || return 1
  grep -qaF "$state" "/proc/$pid/cmdline" "/proc/$pid/environ" 2>/dev/null
}

# Polls until a command succeeds, for some seconds.
within() {
  local tries=$(($1 * 10))
  shift
  while ! "$@"; do
    ((tries-- > 0)) || return 1
    sleep 0.1
  done
}

ended() { ! runs "$1"; }

end() {
  runs "$1" || return 0
  local pid
  pid=$(cat "$state/$1.pid")
  kill -TERM "$pid" 2>/dev/null || true
  within 10 ended "$1" || kill -KILL "$pid" 2>/dev/null || true
}

# The next port at or after $1 that nobody listens on.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

cgroup_conf() {
  local version
  version=$(slurmd -V | grep -o '[0-9]*\.[0-9]*' | head -1)
  # No cgroup is used; from 24.05 on Slurm can be told so, before that it must merely find nothing to do.
  if [ "$(printf '%s\n' 24.05 "$version" | sort -V | head -1)" = 24.05 ]; then
    echo "CgroupPlugin=disabled"
  else
    printf 'CgroupPlugin=cgroup/v1\nIgnoreSystemd=yes\n'
  fi
}

# $1: mode. Prints slurm.conf.
slurm_conf() {
  local first controller=127.0.0.1 index address port
  first=$(free_port $((17000 + id % 2000)))
  [ "$1" = netns ] && controller=$subnet.1
  cat <<CONF
ClusterName=ncclbench
SlurmctldHost=controller($controller)
SlurmctldPort=$first
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket
CredType=cred/munge
StateSaveLocation=$state/controller
SlurmdSpoolDir=$state/spool
TmpFS=$state/tmp
SlurmctldPidFile=$state/controller.pid
SlurmdPidFile=$state/%n.pid
SlurmctldLogFile=$state/controller.log
SlurmdLogFile=$state/%n.log
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MailProg=/bin/true
CONF
  port=$first
  for index in "${!nodes[@]}"; do
    address=127.0.0.1
    [ "$1" = netns ] && address=$subnet.$((index + 11))
    port=$(free_port $((port + 1)))
    echo "NodeName=${nodes[index]} NodeHostname=${nodes[index]} NodeAddr=$address Port=$port CPUs=8 RealMemory=1024 Gres=gpu:$gpus State=UNKNOWN"
  done
  echo "PartitionName=all Nodes=$(IFS=, && echo "${nodes[*]}") Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES"
}

# GPUs that are none: Slurm wants character devices, counts them and hands their indices out.
make_gpus() {
  local index
  for index in $(seq 0 $((gpus - 1))); do
    [ -c "$state/gpu$index" ] || mknod -m 0666 "$state/gpu$index" c 1 3
  done
  echo "NodeName=$(IFS=, && echo "${nodes[*]}") Name=gpu File=$state/gpu[0-$((gpus - 1))]" >"$state/gres.conf"
}

# The names that a step can resolve, as on a real cluster.
hosts() {
  echo "127.0.0.1 localhost"
  sed -n 's/^NodeName=\([^ ]*\) .* NodeAddr=\([^ ]*\) .*/\2 \1/p' "$state/slurm.conf"
}

start_munge() {
  runs munge && return
  (umask 077 && head -c 1024 /dev/urandom >"$state/munge.key")
  munged --socket="$state/munge.socket" --key-file="$state/munge.key" --pid-file="$state/munge.pid" \
    --log-file="$state/munge.log" --seed-file="$state/munge.seed" --num-threads=2
}

# Each node gets a network of its own behind a bridge, so that the nodes have different addresses.
start_networks() {
  local index space
  ip link show "$bridge" >/dev/null 2>&1 && return
  ip link add "$bridge" type bridge
  ip addr add "$subnet.1/24" dev "$bridge"
  ip link set "$bridge" up
  for index in "${!nodes[@]}"; do
    space=$bridge-$index
    ip netns add "$space"
    ip link add "${bridge}v$index" type veth peer name eth0 netns "$space"
    ip link set "${bridge}v$index" master "$bridge" up
    ip -n "$space" link set lo up
    ip -n "$space" addr add "$subnet.$((index + 11))/24" dev eth0
    ip -n "$space" link set eth0 up
  done
}

end_networks() {
  local index
  ip link show "$bridge" >/dev/null 2>&1 || return 0
  for index in "${!nodes[@]}"; do
    ip link del "${bridge}v$index" 2>/dev/null || true
    ip netns del "$bridge-$index" 2>/dev/null || true
  done
  ip link del "$bridge"
}

# $1: mode, $2: index. A node has its own host name, and its own spool and temporary folder at the
# paths that both nodes share; the rest of the file system is one.
start_node() {
  local node=${nodes[$2]} enter=()
  runs "$node" && return
  install -d -m 0755 "$state/spool" "$state/tmp" "$state/spool-$node"
  install -d -m 1777 "$state/tmp-$node"
  [ "$1" = netns ] && enter=(ip netns exec "$bridge-$2")
  "${enter[@]}" unshare --uts --mount --propagation private bash -ec '
    mount --bind "$2/hosts" /etc/hosts
    mount --bind "$2/spool-$1" "$2/spool"
    mount --bind "$2/tmp-$1" "$2/tmp"
    hostname "$1"
    SLURM_CONF="$2/slurm.conf" exec slurmd -N "$1"' node "$node" "$state" </dev/null
}

start_controller() {
  runs controller && return
  install -d "$state/controller"
  unshare --uts bash -ec 'hostname controller; SLURM_CONF="$1/slurm.conf" exec slurmctld -i' \
    controller "$state" </dev/null
}

idle() {
  [ "$(SLURM_CONF=$state/slurm.conf sinfo -h -N -o %t 2>/dev/null | grep -c '^\(idle\|mix\|alloc\)$')" = ${#nodes[@]} ]
}

up() {
  local mode=${1:-loop} index tool
  case $mode in loop | netns) ;; *) fail "no such mode: $mode" ;; esac
  [ "$(id -u)" = 0 ] || fail "needs root: nodes are made of mount and host name namespaces"
  for tool in slurmctld slurmd srun munged unshare ip; do
    command -v "$tool" >/dev/null || fail "\`$tool\` is missing; tests/all.sh installs it"
  done
  [ "$(cat "$state/mode" 2>/dev/null)" = "$mode" ] || down
  if [ ! -d "$state" ]; then mkdir -m 0755 "$state"; fi
  { [ -O "$state" ] && [ ! -L "$state" ]; } || fail "$state belongs to somebody else"
  [ -s "$state/slurm.conf" ] || slurm_conf "$mode" >"$state/slurm.conf"
  echo "$mode" >"$state/mode"
  hosts >"$state/hosts"
  cgroup_conf >"$state/cgroup.conf"
  make_gpus
  start_munge
  if [ "$mode" = netns ]; then start_networks; fi
  start_controller
  for index in "${!nodes[@]}"; do start_node "$mode" "$index"; done
  if ! within 30 idle; then
    tail -5 "$state"/*.log >&2
    fail "the nodes did not become idle; the logs are in $state"
  fi
}

down() {
  [ -d "$state" ] || return 0
  local service
  for service in "${nodes[@]}" controller munge; do end "$service"; done
  end_networks
  rm -rf "$state"
}

case ${1:-} in
up) up "${2:-}" ;;
env) echo "export SLURM_CONF=$state/slurm.conf" ;;
down) down ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac
