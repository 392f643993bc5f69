"""Rows of ended runs are read column by column, as each row by itself would be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import StoreError
from orchestrator.repetitions import RepetitionRule
from orchestrator.windows import Window
from results.experiment import experiments
from results.query import run_fields
from results.records import typed
from results.records.model import RunRow
from results.store import run_rows
from results.store.store import Store
from tests.support.recordings import head, whole

LIMIT = "topology.bottleneck.queue.limit"
RULE = RepetitionRule("goodput_bps", None, "late", interval=0.1, least=2, most=9)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Runs of two variants that ended in different ways, and one that goes on."""
    with Store(tmp_path / "runs.db") as opened:
        for number in range(6):
            made = head(
                variant={LIMIT: f"{number % 2 + 1}bdp"}, seed=2**62 + number, repetition=number,
                windows=(Window("late", 5.0, 10.0),) if number % 3 else (), unconfined=number == 1,
                repetition_rule=RULE if number == 2 else None,
                git_commit=None if number == 3 else "c0ffee", digest_depends_on_sampling=True,
                experiment_sha256="e1",
            )  # fmt: skip
            run = opened.begin(made)
            if number == 4:
                opened.fail(run, "it hung")
            else:
                opened.finish(run, replace(whole(), digest=f"{number}" * 64), 0.5)
        opened.begin(head(seed=9, experiment_sha256="e1"))
        yield opened


def one_by_one(store: Store) -> list[RunRow]:
    found = []
    for run in store.list_runs():
        found += [
            row for _key, row in run_rows.read(store.connection, store.path, "id = ?", run.id)
        ]
    return found


def test_rows_read_at_once_are_those_read_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = store.list_runs()
    assert [row.status for row in at_once] == [*["ok"] * 4, "failed", "ok", "running"]

    def refuse(*_arguments: Any) -> None:
        raise TypeError("so each is read by itself")

    monkeypatch.setattr(typed, "make_all", refuse)
    singly = store.list_runs()
    assert at_once == singly == one_by_one(store)
    for one, other in zip(at_once, singly, strict=True):
        for field in fields(RunRow):
            assert type(getattr(one, field.name)) is type(getattr(other, field.name)), field.name
        assert hash(one.id) == hash(other.id)
        assert replace(one, seed=1) == replace(other, seed=1)


def test_ended_runs_are_checked_and_made_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = typed.make

    def counting(record: type[Any], values: Any) -> Any:
        made.append(record.__name__)
        return make(record, values)

    monkeypatch.setattr(typed, "make", counting)
    store.list_runs()
    assert made.count("RunRow") == 1  # that of the run in progress


@pytest.mark.parametrize(
    ("column", "value"),
    [("seed", "many"), ("variant", "[1]"), ("variant", "{"), ("windows", "[[1]]"),
     ("started_utc", b"\xff"), ("status", "lost"), ("verdict", "good"), ("wall_s", "long")],
)  # fmt: skip
def test_an_error_names_the_run_that_is_damaged(store: Store, column: str, value: Any) -> None:
    run = store.list_runs()[2].id
    store.connection.executescript("DROP TRIGGER runs_are_final; PRAGMA ignore_check_constraints=1")
    with store.writing() as connection:
        connection.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", (value, run))
    with pytest.raises(StoreError, match=f"{run}.*table runs"):
        store.list_runs()


def test_a_record_of_other_types_is_refused() -> None:
    names = [field.name for field in fields(Window)]
    assert typed.make_all(Window, names, [["a", "b"], [0.0, 1], [2.0, 3.5]]) == [
        Window("a", 0.0, 2.0), Window("b", 1, 3.5),
    ]  # fmt: skip
    assert typed.make_all(Window, names, [[], [], []]) == []
    wrong: list[list[list[Any]]] = [
        [["a"], [None], [1.0]], [["a"], [True], [1.0]], [[b"a"], [0.0], [1.0]],
    ]  # fmt: skip
    for columns in wrong:
        with pytest.raises(TypeError, match=r"(from_s|name) is"):
            typed.make_all(Window, names, columns)


def test_equal_provenance_and_values_of_axes_are_read_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.writing() as connection:
        for key in range(1, 7):
            text = json.dumps({"inputs": {"source": "6.12", "patches": key // 4}})
            connection.execute(
                "INSERT OR REPLACE INTO provenance VALUES (?, 'guest_kernel', ?)", (key, text)
            )
    kernels = store.provenance_values("guest_kernel")
    assert len(kernels) == 6
    assert len({id(one) for one in kernels.values()}) == 2
    asked: list[str] = []
    kernel = experiments._kernel

    def counting(row: RunRow, guest: Any) -> str | None:
        asked.append(row.id)
        return kernel(row, guest)

    monkeypatch.setattr(experiments, "_kernel", counting)
    found = experiments.experiments(store)
    ids = [row.id for row in store.list_runs()]
    # The fifth run failed before it had a kernel, and the last one may be of any experiment.
    assert [[ids.index(row.id) for row in one.rows] for one in found] == [[0, 1, 2], [3, 5], [4, 6]]
    assert [ids.index(run) for run in asked] == [0, 3, 4, 5, 6]
    assert run_fields.axis_values("1bdp") is run_fields.axis_values("1bdp")
