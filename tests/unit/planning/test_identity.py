"""What belongs to one experiment, and what makes another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load

Identity = Callable[..., str]

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


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    def of(*overrides: str, text: str = TEXT) -> str:
        file = tmp_path / "sweep.yaml"
        file.write_text(text)
        return experiment_sha256(load(file, overrides))

    return of


LIMITS = "matrix.topology.bottleneck.queue.limit"


@pytest.mark.parametrize(
    "overrides",
    [
        ("repetitions=7",),
        ("description=other words",),
        (f"{LIMITS}=[10p, 20p, 400p]",),
        ("duration=2000ms",),
        ("start_jitter=0s",),
        ("seeds=common",),
        ("topology.bottleneck.queue.limit=77p",),  # each variant has a limit of its own
    ],
)
def test_runs_of_one_experiment(identity: Identity, overrides: tuple[str, ...]) -> None:
    assert identity(*overrides) == identity()


def test_comments_and_order_make_no_difference(identity: Identity) -> None:
    lines = TEXT.replace("seed: 1\n", "").replace("duration: 2s", "duration: 2s  # short\nseed: 1")
    assert identity(text=lines) == identity()


@pytest.mark.parametrize(
    "overrides",
    [
        ("seed=2",),
        ("seeds=independent",),
        ("duration=3s",),
        ("flows.one.congestion=vegas",),
        ("topology.bottleneck.rate=11mbit",),
        ("matrix={flows.one.congestion: [reno, cubic]}",),
        (f"{LIMITS}=[10p]", "matrix.flows.two.congestion=[reno]"),
    ],
)
def test_another_experiment(identity: Identity, overrides: tuple[str, ...]) -> None:
    assert identity(*overrides) != identity()


def test_an_axis_that_changes_the_kind_of_queue(identity: Identity) -> None:
    """Its values are mappings, and other kinds have other keys."""
    kinds = "matrix={topology.bottleneck.queue: [{kind: codel}, {kind: droptail, limit: 10p}]}"
    other = "matrix={topology.bottleneck.queue: [{kind: red, limit: 90p, min: 5p, max: 15p}]}"
    assert identity(kinds) == identity(other) != identity()


def test_items_of_lists_are_named_or_numbered(identity: Identity) -> None:
    by_name = identity("matrix={flows.one.congestion: [reno, bic]}")
    assert by_name == identity("matrix={flows.one.congestion: [vegas]}", "flows.one.congestion=bic")
    by_index = identity("matrix={flows.0.congestion: [reno, bic]}")
    assert by_index == identity("matrix={flows.0.congestion: [reno]}", "flows.0.congestion=bic")
    assert by_index != by_name  # the axis has another path
