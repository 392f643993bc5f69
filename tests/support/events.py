"""Scenarios with events."""

from __future__ import annotations

from pathlib import Path

from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

HEAD = """\
version: 1
name: events
duration: 20s
topology:
  kind: custom
  hosts: [a, b, c, d]
  routers: [r1, r2, r3]
  links:
    - {between: [a, r1], delay: 1ms}
    - {between: [c, r1], delay: 1ms}
    - {between: [r1, r2], delay: 10ms, rate: 10mbit, queue: {limit: 100p}}
    - {name: up, between: [r1, r3], delay: 20ms, rate: 5mbit, queue: {kind: red, limit: 100p,
       min: 10p, max: 30p, probability: 10%}}
    - {name: down, between: [r3, r2], delay: 20ms, rate: 5mbit}
    - {between: [r2, b], delay: 1ms, jitter: 1ms}
    - {between: [r2, d], delay: 1ms}
  groups:
    - {name: g, sources: [a], sinks: [b]}
    - {name: h, sources: [c], sinks: [d]}
flows:
  - {name: one, group: g}
  - {name: two, group: h, count: 2}
  - {name: three, group: g, direction: reverse}
events:
"""


def written(folder: Path, *events: str) -> Path:
    path = folder / "events.yaml"
    path.write_text(HEAD + "".join(f"  - {event}\n" for event in events), encoding="utf-8")
    return path


def run(folder: Path, *events: str) -> RunSpec:
    (spec,) = plan(load(written(folder, *events))).runs
    return spec
