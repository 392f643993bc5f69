#!/bin/sh
# Makes a folder of ten files of $SIZE bytes each and serves it as the module "data".
mkdir /tmp/data
for number in 0 1 2 3 4 5 6 7 8 9; do truncate -s "$SIZE" "/tmp/data/$number"; done
exec rsync --daemon --no-detach --config="$FILES/rsyncd.conf" --log-file=/dev/stderr
