#!/bin/bash
# One host of the lab, in namespaces of its own: this machine's files under a layer of its own, own /dev, /run, network, munge, sshd, Slurm.
set -eu
folder=$1 name=$2 address=$3
layers=$folder/roots/$name
mkdir -p "$layers"/{upper,work,root}
mount -t overlay "$name" -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$layers/root"
cd "$layers/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755,size=16m dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"; done
mknod -m 666 dev/tty c 5 0
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=755,size=16m run run
mkdir -p tmp etc/munge etc/slurm run/sshd run/munge var/log/munge var/lib/munge var/log/slurm var/spool/slurmd var/lib/slurm/slurmctld
mount -t tmpfs -o mode=1777,size=256m tmp tmp
: >dev/kmsg
echo "$name" >etc/hostname
hostname "$name"
cp "$folder/hosts" etc/hosts
install -o munge -g munge -m 400 "$folder/munge.key" etc/munge/munge.key
chown -R munge: run/munge var/log/munge var/lib/munge
chmod 755 run/munge
chmod 700 etc/munge var/log/munge
chown munge: etc/munge
cp "$folder"/etc/* etc/slurm/
chown slurm: etc/slurm/slurmdbd.conf
chmod 600 etc/slurm/slurmdbd.conf
install -m 755 "$folder"/bin/* usr/local/sbin/
install -d -m 700 root/.ssh
install -m 600 "$folder/id.pub" root/.ssh/authorized_keys
: >root/.bashrc # this machine's may start what costs time at each connection
mkdir -p usr/local/lib/lab
cp "$folder/captures/$name.json" usr/local/lib/lab/capture.json 2>/dev/null || true
for gpu in 0 1 2 3 4 5 6 7; do mknod -m 666 "dev/nvidia$gpu" c 1 3; done
pivot_root . mnt
cd /
umount -l /mnt
ip link set lo up
ip addr add "$address/16" dev eth0
ip link set eth0 up
/usr/sbin/sshd -f "/etc/slurm/sshd_config"
setpriv --reuid munge --regid munge --init-groups /usr/sbin/munged
if [ "$name" = ctl ]; then
  chown -R slurm: /var/lib/slurm /var/log/slurm
  # Accounting: where the database cannot start, Slurm starts without it and the tests say so.
  if grep -q '^AccountingStorageType=accounting_storage/slurmdbd' /etc/slurm/slurm.conf; then
    install -d -o slurm /var/lib/lab-mysql /run/mysqld
    mariadb-install-db --user=slurm --datadir=/var/lib/lab-mysql --skip-test-db --auth-root-authentication-method=normal
    mariadbd --user=slurm --datadir=/var/lib/lab-mysql --socket=/run/mysqld/mysqld.sock --skip-networking --skip-grant-tables --innodb-flush-log-at-trx-commit=0 &
    for _ in $(seq 100); do [ -S /run/mysqld/mysqld.sock ] && break || sleep 0.1; done
    slurmdbd
    for _ in $(seq 150); do sacctmgr -i -Q add cluster lab && break || sleep 0.2; done
  fi
  slurmctld
else
  slurmd -N "$name"
fi
touch /run/ready
exec bash -c 'trap : TERM; sleep infinity & while :; do wait; done'
