"""What belongs to one experiment, and what makes another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from tests.support.identity import TEXT
from tests.support.users import ROOT

Identity = Callable[..., str]


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


def test_files_count_by_their_content_and_not_by_their_paths(
    tmp_path: Path, identity: Identity
) -> None:
    own = shutil.copytree(ROOT / "scenarios" / "own-module" / "mycc", tmp_path / "mycc")
    shutil.copytree(own, tmp_path / "lib" / "other")
    shutil.copy(ROOT / "scenarios" / "tutorial" / "cellular.trace", tmp_path / "first.trace")
    shutil.copy(tmp_path / "first.trace", tmp_path / "lib" / "second.trace")

    def of(module: str, trace: str) -> str:
        return identity(
            f"flows.one.congestion={{name: mycc, module: {module}}}",
            f"topology.bottleneck={{delay: 10ms, queue: {{limit: 100p}}, "
            f"capacity: {{forward: {{trace: {trace}}}, reverse: {{rate: 5mbit}}}}}}",
        )

    before = of("./mycc", "first.trace")
    assert of("lib/other", "lib/second.trace") == before
    (tmp_path / "lib" / "second.trace").write_text("1\n2\n")
    assert of("./mycc", "lib/second.trace") != before
    source = tmp_path / "lib" / "other" / "tcp_mycc.c"
    source.write_text(f"{source.read_text()}/* changed */\n")
    assert of("lib/other", "first.trace") != before
