#!/bin/bash
# In new namespaces of its own (cluster.py makes them): one bridge, one namespace for each host. Ends, and takes everything with it, when
# its input ends: lab.sh FOLDER CTL_ADDRESS NAME=ADDRESS...
set -eu
here=$(dirname "$(readlink -f "$0")") folder=$1
shift
mount -t tmpfs -o size=2g lab "$folder/roots"
mount -t tmpfs -o mode=755 run /run
mount -t proc proc /proc
mkdir -p /run/netns
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.1/16 dev br0
ip link set br0 up
for host in "$@"; do
  name=${host%%=*}
  ip netns add "$name"
  ip link add "v-$name" type veth peer name eth0 netns "$name"
  ip link set "v-$name" master br0 up
  nsenter --net="/run/netns/$name" unshare -m -u -i -p --fork --kill-child --propagation private \
    bash "$here/host.sh" "$folder" "$name" "${host#*=}" >"$folder/log/$name" 2>&1 </dev/null &
done
echo started
cat >/dev/null
