#!/bin/sh
# Plays the film at the rate at which a screen would show it, to nowhere.
exec ffmpeg -nostdin -nostats -hide_banner -loglevel info -threads 1 -re -i http://server:8000/film.m3u8 \
  -threads 1 -filter_threads 1 -f null -
