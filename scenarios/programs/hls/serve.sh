#!/bin/sh
# Encodes a film of $SECONDS_LONG seconds in segments of two seconds, and serves it.
cd /tmp || exit
exec 2>&1
ffmpeg -nostdin -loglevel error -bitexact -threads 1 -filter_threads 1 \
  -f lavfi -i "testsrc2=size=640x360:rate=25:duration=$SECONDS_LONG,noise=alls=30:allf=t:all_seed=1" \
  -codec:v mpeg2video -threads 1 -b:v 3M -maxrate 3M -bufsize 1M -g 50 -flags +bitexact -fflags +bitexact \
  -f hls -hls_time 2 -hls_list_size 0 film.m3u8 || exit
exec python3 -m http.server --bind 0.0.0.0 8000
