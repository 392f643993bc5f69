#!/bin/sh
# Fetches the page at $1 for $2 times, one a second, and prints how long each took.
n=0
while [ $n -lt "$2" ]; do
  curl -sSf -o page -w 'first byte %{time_starttransfer} total %{time_total}\n' "$1"
  sleep 1
  n=$((n + 1))
done
