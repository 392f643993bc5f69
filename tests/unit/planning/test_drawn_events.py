"""Rates and delays of events that are drawn from the run's seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load
from tests.support.events import run, written

DRAWN = (
    "{at: 1s, every: 2s, link: r1-r2, rate: {uniform: [2mbit, 9mbit]}, "
    "delay: {uniform: [5ms, 40ms]}}"
)


def seeded(folder: Path, seed: int) -> RunSpec:
    (spec,) = plan(load(written(folder, DRAWN), [f"seed={seed}"])).runs
    return spec


def drawn(spec: RunSpec) -> list[tuple[int, float]]:
    """Return the rate and the delay after each event, which are those of both directions."""
    found = []
    for event in spec.events:
        forward, reverse = (state.channel for state in event.channels.values())
        assert (forward.rate_bps, forward.delay_s) == (reverse.rate_bps, reverse.delay_s)
        assert forward.rate_bps is not None
        found.append((forward.rate_bps, forward.delay_s))
    return found


def test_values_are_drawn_from_the_seed_each_time_an_event_happens(tmp_path: Path) -> None:
    first, other = (drawn(seeded(tmp_path, seed)) for seed in (1, 2))
    assert drawn(seeded(tmp_path, 1)) == first
    assert len(set(first)) == len(first) > 3
    assert not set(first) & set(other)
    for rate_bps, delay_s in (*first, *other):
        assert 2_000_000 <= rate_bps <= 9_000_000
        assert rate_bps % 1000 == 0
        assert 0.005 <= delay_s <= 0.04
        assert delay_s * 1e6 == pytest.approx(round(delay_s * 1e6), abs=1e-6)


def test_the_plan_has_what_was_drawn_and_not_the_range(tmp_path: Path) -> None:
    spec = run(tmp_path, DRAWN)
    (rate_bps, delay_s), *_later = drawn(spec)
    requested = spec.events[0].requested
    assert requested["rate"] == f"{rate_bps // 1000}kbit"
    assert requested["delay"] == f"{round(delay_s * 1e6)}us"


def test_an_event_that_draws_makes_repetitions_differ(tmp_path: Path) -> None:
    planned = plan(load(written(tmp_path, DRAWN), ["repetitions=2"]))
    first, second = planned.runs
    assert drawn(first) != drawn(second)
    assert not [
        each for each in planned.warnings if "nothing in this scenario is random" in str(each)
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("rate: {uniform: [9mbit, 2mbit]}", "`uniform` must have the least value first"),
        ("rate: {uniform: [9mbit]}", "`uniform` must have two values"),
        ("rate: {uniform: [9, 10mbit]}", "unit"),
        ("rate: {normal: [1mbit, 2mbit]}", "unknown key `normal`"),
        ("delay: {uniform: [1ms, 700s]}", "600"),
        ("delay: {uniform: [2ms, 1ms]}", "`uniform` must have the least value first"),
    ],
)
def test_a_range_that_is_none_is_an_error_at_its_place(
    tmp_path: Path, event: str, said: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        run(tmp_path, f"{{at: 1s, link: r1-r2, {event}}}")
    assert said in str(error.value)
