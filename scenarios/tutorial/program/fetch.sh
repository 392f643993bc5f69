#!/bin/sh
# Fetches the page at $1 once a second for $2 seconds, and prints how long each took.
end=$(($(date +%s) + $2))
while [ "$(date +%s)" -lt "$end" ]; do
  curl -sSf -o page -w 'first byte %{time_starttransfer} total %{time_total}\n' "$1"
  sleep 1
done
