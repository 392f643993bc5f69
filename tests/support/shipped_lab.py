"""Scenarios of lab hosts."""

from __future__ import annotations

from pathlib import Path

from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

INVENTORY = """\
lab:
  hosts:
    one: {ansible_host: 10.9.0.1}
    two: {ansible_host: 10.9.0.2}
    three: {ansible_host: 10.9.0.3}
    four: {ansible_host: 10.9.0.4}
"""


SCENARIO = """\
version: 1
name: lab
duration: 10s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms}
  access: {delay: 0ms}
  groups: [{name: a, hosts: 2}]
flows:
  - {name: bulk, group: a, congestion: {name: logwestwood, parameters: {alpha_max: 64}}}
  - {name: turns, group: a, traffic: {kind: campaign, controls: [reno, cubic], turn: 1s}}
lab:
  inventory: hosts.yml
  senders: [{host: one, interface: eth1}]
  receivers: [{host: two, interface: eth1}, {host: three, interface: eth2}]
  router: {host: four, left: eth1, right: eth2}
"""


LIVE = ("kind: dumbbell\n  bottleneck: {rate: 10mbit, delay: 10ms}\n  access: {delay: 0ms}",
        "kind: live-path")  # fmt: skip


ROUTER = "  router: {host: four, left: eth1, right: eth2}\n"


def written(folder: Path, *edits: tuple[str, str]) -> Path:
    (folder / "hosts.yml").write_text(INVENTORY, encoding="utf-8")
    text = SCENARIO
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "lab.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def planned(folder: Path, *edits: tuple[str, str]) -> RunSpec:
    return plan(load(written(folder, *edits))).runs[0]
