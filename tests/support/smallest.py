"""Minimal scenarios around one line: a property of a link, or the traffic of a flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

LINK_LINE = 6
_LINK = """\
topology:
  kind: dumbbell
  bottleneck:
    rate: 10mbit
    delay: 10ms
    {line}
  groups: [{{name: a, access: {access}}}]
flows: [{{name: f, group: a}}]
version: 1
name: least
duration: 100s
"""
FLOW_LINE = 11
_FLOW = """\
version: 1
name: kinds
duration: 20s
topology:
  kind: dumbbell
  bottleneck: {{rate: {rate}, delay: 10ms}}
  groups:
    - {{name: a, hosts: {hosts}, access: {{rate: 8mbit, delay: 20ms}}}}
    - {{name: b, hosts: 1, access: {{delay: 20ms}}}}
flows:
  - {{name: one, group: {group}, {more}traffic: {traffic}}}
"""


def link_faults(
    folder: Path, line: str, access: str = "{delay: 0ms}"
) -> dict[tuple[int, int], str]:
    """Return {(line, column): message} of a scenario whose bottleneck has that on LINK_LINE."""
    file = folder / "bad.yaml"
    file.write_text(_LINK.format(line=line, access=access), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        plan(load(file))
    return {(fault.line, fault.column): fault.message for fault in refused.value.faults}


def planned(
    folder: Path,
    traffic: str,
    more: str = "",
    *overrides: str,
    group: str = "a",
    hosts: int = 1,
    rate: str = "10mbit",
) -> RunSpec:
    """Return the run of a scenario with one flow, on FLOW_LINE; group b has links without rate.

    Raises:
        ScenarioError: it is not valid.
    """
    file = folder / "kinds.yaml"
    text = _FLOW.format(group=group, hosts=hosts, more=more, traffic=traffic, rate=rate)
    file.write_text(text, encoding="utf-8")
    return plan(load(file, overrides)).runs[0]
