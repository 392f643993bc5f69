"""A new kind is one new file, found the way the built-in kinds are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import orchestrator.kinds.queues
import topologies
from orchestrator.kinds.losses import LOSSES
from orchestrator.kinds.queues import QUEUES, QueueSpec
from orchestrator.kinds.registry import Kinds
from orchestrator.kinds.traffic import TRAFFIC
from results.figures import FIGURES
from topologies import TOPOLOGIES, Topology

LINE = '''
from typing import Literal

from pydantic import Field

from topologies import Layout, Topology
from orchestrator.network import Channel, Group, Link, Network


class Line(Topology):
    """Two hosts and nothing else."""

    kind: Literal["line"] = Field(description="two hosts")

    def layout(self, seed: int) -> Layout:
        channel = Channel(delay_s=0.01)
        group = Group("ends", ("left",), ("right",))
        link = Link("line", "left", "right", channel, channel)
        return Layout(Network(("left", "right"), (), (link,), (group,), ("line",)), {})
'''
EXTRA = """
from typing import Literal

from orchestrator.kinds.queues import QueueSpec


class Red(QueueSpec):
    kind: Literal["extra"] = "red"
"""


PROMISED: dict[str, tuple[Kinds[Any], str]] = {
    "topology": (
        TOPOLOGIES,
        "custom dumbbell live-path mixed parking-lot rtt-split satellite wired-wireless wlan",
    ),
    "queue": (QUEUES, "ared cake codel droptail dualpi2 fq fq_codel fq_pie pie red sfq"),
    "loss": (LOSSES, "gilbert-elliott independent list markov two-state"),
    "traffic": (
        TRAFFIC,
        "bulk campaign cbr onoff onoff-udp poisson request-response transfers uploads web",
    ),
    "figure": (FIGURES, "bars box ccdf cdf heatmap metric phase sequence time tradeoff"),
}
"""Kinds that scenarios of users name. A new kind need not be listed here."""


@pytest.mark.parametrize("family", PROMISED)
def test_no_kind_that_scenarios_name_is_gone(family: str) -> None:
    kinds, names = PROMISED[family]
    missing = set(names.split()) - set(kinds.found)
    assert not missing, f"scenarios name the {family} {sorted(missing)}: keep the name"


def test_a_topology_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "extra_line.py").write_text(LINE)
    monkeypatch.setattr(topologies, "__path__", [*topologies.__path__, str(tmp_path)])
    kinds = Kinds("topology", "topologies", Topology)  # type: ignore[type-abstract]
    assert set(kinds.found) == {*TOPOLOGIES.found, "line"}
    line = kinds.found["line"].model_validate({"kind": "line"})
    assert isinstance(line, topologies.Topology)
    assert line.layout(1).network.propagation_rtt_s("left", "right") == 0.02


def queue_kinds() -> Kinds[QueueSpec]:
    package = orchestrator.kinds.queues.__name__
    return Kinds("queue", package, QueueSpec)  # type: ignore[type-abstract]


def test_a_queue_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = orchestrator.kinds.queues
    (tmp_path / "extra_red.py").write_text(EXTRA)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert list(queue_kinds().found) == sorted({*QUEUES.found, "extra"})


def test_two_kinds_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = orchestrator.kinds.queues
    (tmp_path / "extra_droptail.py").write_text(EXTRA.replace('"extra"', '"droptail"'))
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    with pytest.raises(TypeError, match="queue kind 'droptail' is defined twice"):
        _ = queue_kinds().found


def test_the_kind_of_a_mapping_is_that_of_its_key() -> None:
    assert QUEUES.of({}) is QUEUES.found["droptail"]  # the default
    assert TOPOLOGIES.of({}) is None
    assert QUEUES.of({"kind": ["droptail"]}) is None
    assert QUEUES.of("droptail") is None
