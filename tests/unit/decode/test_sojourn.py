"""Sojourn times of queues: counters of the bed become rows of intervals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from orchestrator.decode.edges.sojourn import sojourn_times
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError
from orchestrator.protocol.links.link import MOST_BUCKETS, bucket_span_ns
from orchestrator.protocol.reports.records import SOJOURN_CODE, SOJOURN_FIELDS, SOJOURN_ROW

Rows = list[tuple[int, int, int, int]]


def reading(time_ns: int, place: int, totals: tuple[int, ...], buckets: dict[int, int]) -> Rows:
    found = {SOJOURN_CODE + number: value for number, value in enumerate(totals)} | buckets
    return [(time_ns, place, code, value) for code, value in found.items()]


def decoded(folder: Path, rows: Rows) -> list[tuple[int, ...]]:
    (folder / "sojourn.bin").write_bytes(b"".join(SOJOURN_ROW.pack(*row) for row in rows))
    found: list[tuple[int, ...]] = sojourn_times(OutputFolder(folder), 4).tolist()
    return found


def test_counters_since_the_links_creation_become_those_of_intervals(tmp_path: Path) -> None:
    """The largest time is that of the interval already; a bucket's packets have 32 bits."""
    most = 2**32
    rows = [
        *reading(0, 2, (most - 2, 100, 90, 0, 0), {0: most - 2}),
        *reading(0, 3, (0, 0, 0, 0, 0), {}),
        *reading(10, 2, (most + 3, 170, 40, 1, 2), {0: 1, 5: 2}),
        *reading(10, 3, (1, 8, 8, 0, 0), {1: 1}),
        *reading(30, 2, (most + 3, 170, 0, 1, 2), {0: 1, 5: 2}),
    ]
    assert decoded(tmp_path, rows) == [
        (10, 2, -1, 5, 70, 40, 1, 2), (10, 2, 0, 3, 0, 0, 0, 0), (10, 2, 5, 2, 0, 0, 0, 0),
        (10, 3, -1, 1, 8, 8, 0, 0), (10, 3, 1, 1, 0, 0, 0, 0),
        (30, 2, -1, 0, 0, 0, 0, 0),
    ]  # fmt: skip


EMPTY = (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (reading(0, 4, EMPTY, {}), "a row of place 4"),
        (reading(0, 1, EMPTY[:-1], {}), "the reading of place 1 at 0 is not whole"),
        (reading(0, 1, EMPTY, {MOST_BUCKETS: 1}), f"code {MOST_BUCKETS} with value 1"),
        (reading(0, 1, (*EMPTY, 7), {}), f"code {SOJOURN_CODE + len(SOJOURN_FIELDS)}"),
        (reading(0, 1, EMPTY, {}) + reading(0, 2, EMPTY, {}) + reading(0, 1, EMPTY, {}),
         "place 1 has no order of time"),
        (reading(0, 1, EMPTY, {}) + reading(0, 1, EMPTY, {}), "code 65536 with value 0"),
        (reading(0, 1, (5, 0, 0, 0, 0), {0: 5}) + reading(9, 1, EMPTY, {}),
         "a counter of place 1 falls at 9"),
        (reading(0, 1, EMPTY, {}) + reading(9, 1, (2, 0, 0, 0, 0), {0: 1}),
         "the histogram of place 1 at 9 is not whole"),
        (reading(0, 1, (0, 2**63, 0, 0, 0), {}), "value 9223372036854775808"),
    ],
)  # fmt: skip
def test_what_no_link_counts_is_refused(tmp_path: Path, rows: Rows, why: str) -> None:
    with pytest.raises(BedError, match=why):
        decoded(tmp_path, rows)


def test_buckets_follow_each_other_and_are_within_a_percent() -> None:
    edges = [bucket_span_ns(index) for index in range(MOST_BUCKETS)]
    assert edges[0] == (0, 8)
    assert edges[-1][1] == 2**39
    for (_low, high), (after, _end) in pairwise(edges):
        assert high == after
    assert all((high - low) / 2 <= max(4, 0.01 * low) for low, high in edges)
