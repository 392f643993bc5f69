"""What flow entries have that do not say it themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

SCENARIO = """\
version: 1
name: defaults
duration: 10s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 100p}}
  groups:
    - {name: a, hosts: 1, rtt: 40ms}
defaults: {congestion: CONTROL}
flows:
  - {name: plain, group: a}
  - {name: own, group: a, congestion: vegas}
  - {name: datagrams, group: a, traffic: {kind: cbr, rate: 1mbit}}
  - {name: turns, group: a, traffic: {kind: campaign, controls: [reno, westwood], turn: 1s}}
"""


def controls(folder: Path, control: str, *overrides: str) -> list[list[str | None]]:
    """Return the congestion controls of each run's flows."""
    file = folder / "defaults.yaml"
    file.write_text(SCENARIO.replace("CONTROL", control))
    return [[flow.congestion for flow in run.flows] for run in plan(load(file, overrides)).runs]


def test_entries_without_a_congestion_control_have_that_of_the_defaults(tmp_path: Path) -> None:
    assert controls(tmp_path, "bbr") == [["bbr", "vegas", None, "reno", "westwood"]]
    assert controls(tmp_path, "{name: logwestwood, parameters: {alpha_max: 64}}") == [
        ["logwestwood", "vegas", None, "reno", "westwood"]
    ]


def test_an_axis_can_name_it(tmp_path: Path) -> None:
    runs = controls(tmp_path, "bbr", "matrix={defaults.congestion: [bbr, reno]}")
    assert [run[:2] for run in runs] == [["bbr", "vegas"], ["reno", "vegas"]]


def test_a_wrong_one_is_an_error_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as error:
        controls(tmp_path, "no-such")
    assert "defaults.yaml:9:" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
