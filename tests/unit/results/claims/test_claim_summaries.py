"""Which of a claim's summaries counts for a statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.claims import claim_summaries, record
from results.claims.stated.model import Statement


def summary(length: str, statement: str | None, values: list[float]) -> dict[str, Any]:
    row = {"label": "", "values": values, "least": 3, "unfaithful": 0, "failed": 0, "identical": 0}
    head = {"schema": 1, "paper": "paper", "claim": "W1", "length": length, "ablation": None}
    build = {"kernel": "6", "linux_sha256": "a", "modules": {}, "link_model": 3}
    own = {} if statement is None else {"statement": statement}
    return {
        **head, **own, **build, "digest_version": 1, "sandboxed": True, "experiments": {},
        "statements": {"W1.1": [row]}, "runs": [],
    }  # fmt: skip


@pytest.fixture
def statement() -> Statement:
    return Statement.model_validate(
        {"id": "W1.1", "says": "a", "place": "b", "relation": "value", "tolerance": 0,
         "reason": "c", "of": {"experiment": "short", "metric": "goodput_bps"}, "paper": 1}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "counts"),
    [
        ([("quick", None, 9), ("full", None, 3)], ("full", None)),
        ([("full", None, 10), ("full", "W1.1", 56)], ("full", "W1.1")),
        ([("full", "W1.1", 5), ("full", None, 10), ("quick", "W1.1", 99)], ("full", None)),
        ([("quick", None, 5), ("full", "W1.1", 0)], ("quick", None)),
    ],
)
def test_the_greatest_length_counts_and_of_equal_ones_the_most_values(
    tmp_path: Path,
    statement: Statement,
    made: list[tuple[str, str | None, int]],
    counts: tuple[str, str | None],
) -> None:
    for number, (length, of, n) in enumerate(made):
        document = summary(length, of, [1.0] * n)
        if n == 0:
            document["statements"] = {}
        (tmp_path / f"{number}.json").write_text(record.parsed(document).text())
    (summaries,) = claim_summaries.read_all(tmp_path).values()
    chosen = summaries.of(statement).record
    assert (chosen.length, chosen.statement) == counts
