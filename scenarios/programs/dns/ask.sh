#!/bin/sh
# Asks for $QUERIES names, one after another with pauses.
number=0
while [ "$number" -lt "$QUERIES" ]; do
  dig @server -p 5353 +noall +answer +stats "name$number.example.test" || exit
  sleep 0.5
  number=$((number + 1))
done
