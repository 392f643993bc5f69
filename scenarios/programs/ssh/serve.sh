#!/bin/sh
# Makes a file of $SIZE bytes and the keys of both ends, starts sshd, and hands the client its key.
cd /tmp || exit
truncate -s "$SIZE" file
mkdir keys
ssh-keygen -q -t ed25519 -N "" -f host_key
ssh-keygen -q -t ed25519 -N "" -f keys/key
/usr/sbin/sshd -D -e -f "$FILES/sshd_config" &
exec python3 -m http.server --bind 0.0.0.0 --directory keys 8000
