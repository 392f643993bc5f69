"""What traffic draws has the distribution asked for: counted over many draws of real runs.

That the bed sends just what its seeds say is tested beside each kind; here it is the law itself,
as the receivers see it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from results.store.store import Store
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

S = 10**9
HEAD = """\
version: 1
name: distributions
seed: 11
topology:
  kind: dumbbell
  bottleneck: {rate: 1gbit, delay: 1ms, queue: {kind: droptail, limit: 5000p}}
  groups: [{name: a, access: {delay: 1ms}}]
sample: {tcp: 1s, queue: 1s}
"""
SIGMAS = 4.0
"""Of what is measured: a right sampler misses one such bound in 16 000."""


def ran(run: Run, folder: Path, text: str) -> dict[str, Any]:
    file = folder / "distributions.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    document = run(scenario=file)
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    return document


def transfers(document: dict[str, Any], db: Path, flow: str) -> npt.NDArray[np.float64]:
    """Return begin in s, size in bytes and whether it ended of each transfer, a row each."""
    with Store.open_read_only(db) as store:
        found = store.load(document["id"]).transfers(flow)
    ended = ~np.isnan(np.asarray(found["end_ns"], dtype=np.float64))
    return np.column_stack([found["start_ns"] / S, found["bytes"], ended])


def farthest(sample: npt.NDArray[np.float64], below: npt.NDArray[np.float64]) -> float:
    """Return Kolmogorov and Smirnov's statistic; ``below`` is P(X <= x) of the sorted sample."""
    ranks = np.arange(len(sample) + 1) / len(sample)
    return float(max((ranks[1:] - below).max(), (below - ranks[:-1]).max()))


def bound(size: int) -> float:
    """Return what that statistic stays within but for a chance of 1e-5."""
    return math.sqrt(math.log(2 / 1e-5) / 2 / size)


SHAPE, MEAN_BYTES, A_SECOND = 1.5, 3000, 500


def test_sizes_have_a_pareto_tail_and_arrivals_are_a_poisson_process(
    run: Run, db: Path, tmp_path: Path
) -> None:
    """The mean of so heavy a tail never settles in a test; its index and its law do."""
    document = ran(
        run,
        tmp_path,
        "duration: 4s\nflows: [{name: many, group: a, traffic: {kind: transfers, "
        f"arrivals: {A_SECOND}/s, size: {{distribution: pareto, mean: {MEAN_BYTES}B, "
        f"shape: {SHAPE}}}}}}}]\n",
    )
    begins_s, sizes, ended = transfers(document, db, "many").T
    assert len(begins_s) == pytest.approx(4 * A_SECOND, abs=SIGMAS * math.sqrt(4 * A_SECOND))
    gaps_s = np.sort(np.diff(np.sort(begins_s)))
    assert farthest(gaps_s, 1 - np.exp(-gaps_s * A_SECOND)) < bound(len(gaps_s))
    sizes = sizes[ended > 0]
    number = len(sizes)
    assert number > len(begins_s) - 20
    least = MEAN_BYTES * (SHAPE - 1) / SHAPE
    assert sizes.min() >= math.floor(least)
    sizes = np.sort(sizes + 0.5)  # they are rounded down
    assert farthest(sizes, 1 - np.minimum(1, least / sizes) ** SHAPE) < bound(number)
    # Hill's estimate from the upper tenth: its standard error is shape / sqrt(values).
    top = sizes[-number // 10 :]
    hill = 1 / np.mean(np.log(top[1:] / top[0]))
    assert hill == pytest.approx(SHAPE, rel=SIGMAS / math.sqrt(len(top) - 1))


@pytest.mark.parametrize(
    ("law", "deviation"),
    [
        ("", 0.0),
        ("distribution: exponential, ", 1.0),
        ("distribution: pareto, shape: 3, ", 1 / math.sqrt(3)),
    ],
    ids=["fixed", "exponential", "pareto"],
)
def test_on_off_sources_are_on_for_their_share_of_the_time(
    run: Run, tmp_path: Path, law: str, deviation: float
) -> None:
    """Ten sources on for 10 ms and off for 20 ms on average, of that deviation in means."""
    asked = f"on: {{{law}mean: 10ms}}, off: {{{law}mean: 20ms}}"
    document = ran(
        run,
        tmp_path,
        "duration: 6s\nflows: [{name: many, group: a, count: 10, traffic: "
        f"{{kind: onoff-udp, rate: 6056kbit, {asked}}}}}]\n",
    )
    sent = sum(flow["sent_packets"] for flow in document["flows"])
    received = sum(flow["received_packets"] for flow in document["flows"])
    assert 0 <= sent - received <= 10 * 3  # on their way at the end
    # By renewal theory the time on has the variance of (2 on - off) / 3 a cycle; sources begin on.
    cycle_s = deviation * math.sqrt(4 * 0.01**2 + 0.02**2) / 3
    error_s = SIGMAS * cycle_s * math.sqrt(10 * 6 / 0.03) + 10 * 0.01
    assert sent * 0.002 == pytest.approx(10 * 6 / 3, abs=error_s)
    if not law:
        assert {flow["sent_packets"] for flow in document["flows"]} == {1000}


def test_a_tcp_source_restarts_once_a_cycle(run: Run, db: Path, tmp_path: Path) -> None:
    """Also when it is on for less than a round trip, and no byte goes."""
    document = ran(
        run,
        tmp_path,
        "duration: 20s\nflows: [{name: many, group: a, count: 4, traffic: {kind: onoff, "
        "window: 5p, reconnect: true, on: {distribution: exponential, mean: 30ms}, "
        "off: {distribution: exponential, mean: 70ms}}}]\n",
    )
    each = [transfers(document, db, flow["name"])[:, 0] for flow in document["flows"]]
    cycles_s = np.concatenate([np.diff(begins_s) for begins_s in each])
    deviation_s = math.hypot(0.03, 0.07)
    assert len(cycles_s) > 600
    assert cycles_s.mean() == pytest.approx(0.1, abs=SIGMAS * deviation_s / len(cycles_s) ** 0.5)
    # The sum of two exponential times.
    cycles_s = np.sort(cycles_s)
    below = 1 - (0.07 * np.exp(-cycles_s / 0.07) - 0.03 * np.exp(-cycles_s / 0.03)) / 0.04
    assert farthest(cycles_s, below) < bound(len(cycles_s))


@pytest.mark.long
def test_web_of_default_sizes_reaches_its_share_of_a_link_in_the_long_run(
    run: Run, tmp_path: Path
) -> None:
    """The heavy tail settles slowly: 22 000 objects are within 4.6% with 95% confidence."""
    document = ran(
        run,
        tmp_path,
        "duration: 5s\nflows: [{name: web, group: a, traffic: {kind: web, load: 30%, "
        "objects: 10}}]\n",
    )
    assert document["links"][0]["utilisation"] == pytest.approx(0.3, rel=0.05)
    assert document["flows"][0]["retransmitted_segments"] == 0
