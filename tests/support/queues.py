"""Queues in the guest."""

from __future__ import annotations

QUEUE = "topology.bottleneck.queue"


OPEN_LOOP = """
version: 1
name: open-loop
duration: 12s
warmup: 4s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 1ms, queue: {kind: droptail, limit: 200p}}
  groups: [{name: a, access: {delay: 1ms}}]
flows: [{name: flow, group: a, traffic: {kind: cbr, rate: 12.5mbit}}]
sample: {queue: 10ms}
"""
