"""Conditions are read or refused with a place; they never raise anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from results.matrix.axes import axes
from results.query.conditions import MAX_LENGTH, ConditionError, of_variants, parse
from results.runs import listing
from results.store.store import Store
from tests.fuzz.conftest import Fuzz
from tests.support.stores import restore

PARTS = [
    "status", "congestion", "goodput_bps", "late.goodput_bps", "seed", "tag", "started_utc", "id",
    "=", "!=", "<", "<=", ">", ">=", "==", "(", ")", "and", "or", "not", "none", "ok", "cubic",
    "5mbit", "1e999", "-3ms", "50%", "1bdp(min)", "'", '"', "'a b'", " ", "\t", "\n", "\0",
    "\udcff", "é", ";", "--", "' OR 1=1", "__class__", "{0}", "%s", "\u202e", ".", "..", "9" * 400,
    "2026-11",
]  # fmt: skip


def test_conditions(fuzz: Fuzz, tmp_path: Path) -> None:
    with Store.open_read_only(restore(tmp_path / "runs.db")) as store:
        runs = listing.read(store)
    read, columns = 0, set[int]()
    for draw in fuzz:
        text = "".join(
            draw.choice(PARTS) + draw.choice((" ", "", " "))
            for _ in range(draw.choice((3, 3, 7, 11, 40, 2000)))
        )
        if draw.random() < 0.5:
            text = f"status=ok {draw.choice(('and', 'or', 'and not'))} {text}"
        if len(text) > MAX_LENGTH:
            continue
        try:
            holds = parse(text, runs)
        except ConditionError as error:
            columns.add(error.column)
            continue
        assert all(holds(run) in (True, False) for run in runs)
        read += 1
    assert read
    assert len(columns) > 5
    assert min(columns) >= 1


VARIANTS: list[dict[str, Any]] = [
    {"topology.bottleneck.queue.limit": "1bdp(min)", "flows.a.congestion": "none", "loss": "1%"},
    {"topology.bottleneck.queue.limit": "5mbit", "flows.a.congestion": {"name": "a b"}, "loss": 0},
    {"queue": {"kind": "red", "min": "5p", "of": [1, None, True]}, "loss": "' OR 1=1"},
]


def test_conditions_on_variants(fuzz: Fuzz) -> None:
    there = axes(VARIANTS)
    parts = [*PARTS, "limit", "loss", "queue", "{kind: red, min: 5p, of: [1, null, true]}", "0"]
    read = 0
    for draw in fuzz:
        text = "".join(
            draw.choice(parts) + draw.choice((" ", "", " "))
            for _ in range(draw.choice((3, 3, 5, 7, 40, 400)))
        )
        if draw.random() < 0.5:
            text = f"loss=1% {draw.choice(('and', 'or', 'and not'))} {text}"
        if len(text) > MAX_LENGTH:
            continue
        try:
            holds = of_variants(text, there)
        except ConditionError:
            continue
        assert all(holds(variant) in (True, False) for variant in VARIANTS)
        read += 1
    assert read
