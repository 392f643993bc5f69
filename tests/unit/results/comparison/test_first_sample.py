"""When the first stored sample of two runs differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.recording.model import RECEIVER, SENDER
from results.comparison.first_sample import first_unequal_sample_ns
from results.store.store import Store
from tests.support.recordings import flow, head, recording

S = 1_000_000_000


def samples(**changed: Any) -> list[dict[str, Any]]:
    """Samples of both ends of a flow, a second apart; ``at`` is the time of those changed."""
    at, end = changed.pop("at", None), changed.pop("end", SENDER)
    return [
        {"time_s": second, "flow": 0, "endpoint": endpoint, "rtt_us": 100,
         **(changed if (second, endpoint) == (at, end) else {})}
        for second in range(5) for endpoint in (SENDER, RECEIVER)
    ]  # fmt: skip


def first(tmp_path: Path, one: list[dict[str, Any]], other: list[dict[str, Any]]) -> int | None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        ids = []
        for rows in (one, other):
            run_id = store.begin(head())
            store.finish(run_id, recording(rows, flows=[flow("one")]), 1.0)
            ids.append(run_id)
    with Store.open_read_only(path) as store:
        return first_unequal_sample_ns(*map(store.load, ids))


def test_equal_samples_have_none(tmp_path: Path) -> None:
    assert first(tmp_path, samples(), samples()) is None


@pytest.mark.parametrize("end", [SENDER, RECEIVER])
@pytest.mark.parametrize("column", ["rtt_us", "bytes_received", "time_s"])
def test_the_first_row_with_another_value(tmp_path: Path, column: str, end: int) -> None:
    value = 2.5 if column == "time_s" else 7
    changed = samples(at=3, end=end, **{column: value})
    changed.sort(key=lambda row: row["time_s"])
    found = first(tmp_path, samples(), changed)
    assert found == (2.5 if column == "time_s" else 3) * S


def test_a_run_that_ends_earlier_differs_from_then_on(tmp_path: Path) -> None:
    assert first(tmp_path, samples(), samples()[:6]) == 3 * S
