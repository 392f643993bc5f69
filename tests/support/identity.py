"""Scenarios whose identity is compared."""

from __future__ import annotations

TEXT = """\
version: 1
name: sweep
seed: 1
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}
  groups:
    - {name: a, access: {rate: 1gbit, delay: 5ms}}
flows:
  - {name: one, group: a, congestion: reno}
  - {name: two, group: a, congestion: cubic}
matrix:
  topology.bottleneck.queue.limit: [10p, 20p]
"""
