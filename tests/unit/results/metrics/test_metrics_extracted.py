"""Numbers of programs' output in the store, summaries, comparisons and exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.recording.extracted import ExtractedNumber, document
from results.comparison.variants import compare_variants
from results.experiment.experiments import experiments
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.records.model import WHOLE
from results.runs import result
from results.store.store import Store
from results.tables import experiment_table, run_tables, summary_csv
from results.wording import summary_tables
from tests.support.recordings import flow, head, recording

TIME, COUNT, NEVER = "program_page_s", "program_pages", "program_none_bps"


def store_runs(
    store: Store, variant: str, values: list[float], ended_s: float | None = 6.0
) -> list[str]:
    """Store a run for each value of the number, of the first of two flows."""
    ids = []
    for repetition, value in enumerate(values):
        numbers = [
            ExtractedNumber(TIME, value, 1, 1),
            ExtractedNumber(COUNT, 3, 3, 3),
            ExtractedNumber(NEVER, None, 0, 0),
        ]
        run_id = store.begin(head(
            variant={"queue": variant}, repetition=repetition, seed=repetition,
            resolved={"flows": [{"name": "a"}, {"name": "b"}]},
        ))  # fmt: skip
        made = recording(
            flows=[flow("a", ended_s=ended_s), flow("b")],
            digest=f"{variant} {repetition}",
            provenance={"extracted": document({"a": numbers})},
        )
        store.finish(run_id, made, 1.0)
        ids.append(run_id)
    return ids


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """Return a store with two variants of three runs each."""
    with Store(tmp_path / "runs.db") as made:
        store_runs(made, "droptail", [2.0, 2.5, 3.0])
        store_runs(made, "codel", [1.0, 1.25, 1.5])
        yield made


def test_the_flow_has_them_in_the_spans_in_which_its_client_ended(store: Store) -> None:
    run = store.load(store.list_runs()[0].id)
    by_window = run.metrics()
    whole, quiet = by_window[WHOLE].flows, by_window["quiet"].flows
    assert (whole[0][TIME], whole[0][COUNT], whole[0][NEVER]) == (2.0, 3, None)
    assert (quiet[0][TIME], quiet[0][COUNT]) == (None, None)  # it ended at 6 s
    assert TIME not in whole[1]
    assert [one.found for one in result.of_run(run).extracted] == [
        "1 match",
        "3 matches",
        "no match",
    ]


@pytest.mark.parametrize(
    ("ended_s", "there"), [(None, False), (1.9, False), (2.0, True), (10.0, True), (10.1, True)]
)
def test_a_client_that_ran_to_the_end_of_the_run_has_them(
    ended_s: float | None, there: bool, tmp_path: Path
) -> None:
    with Store(tmp_path / "runs.db") as made:
        (run_id,) = store_runs(made, "codel", [1.5], ended_s)
        value = made.load(run_id).metrics()[WHOLE].flows[0][TIME]
    assert value == (1.5 if there else None)


def test_they_are_computed_again_from_what_is_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.load(store.list_runs()[0].id)
    monkeypatch.setattr("results.metrics.expected", lambda _run: {("newer", "run")})
    assert run.metrics()[WHOLE].flows[0][TIME] == 2.0


def test_a_summary_has_their_means_by_default_and_by_name(store: Store) -> None:
    (experiment,) = experiments(store)
    usual = summarise(store, experiment, ValueSelection())
    means = {
        (row.variant["queue"], row.flow, name): (one.mean, one.n, one.of)
        for row in usual.rows
        for name, one in row.metrics.items()
        if name.startswith("program_")
    }
    assert means["droptail", "a", TIME] == (2.5, 3, 3)
    assert means["codel", "a", NEVER] == (None, 0, 3)  # shown, though nothing matched
    assert {entry for _queue, entry, _name in means} == {"a"}
    assert usual.without_values == [NEVER]
    (why,) = (note for note in summary_tables.notes(usual) if NEVER in note)
    assert "ended within the warm-up" in why
    assert summary_tables.units_of(usual)[TIME].name == "s"

    named = summarise(store, experiment, ValueSelection((TIME,)))
    (difference,) = named.differences
    assert (difference.metric, difference.mean) == (TIME, -1.25)
    assert f",a,,{TIME},s,3,2.5," in summary_csv.text(named)
    assert TIME in summary_csv.differences(named)


def test_a_number_that_no_run_has_is_an_error_that_names_those_there_are(store: Store) -> None:
    (experiment,) = experiments(store)
    with pytest.raises(UsageError, match=rf"program_pages_s .*{NEVER}, {TIME}, {COUNT}"):
        summarise(store, experiment, ValueSelection(("program_pages_s",)))


def test_tables_and_comparisons_have_them(store: Store, tmp_path: Path) -> None:
    (experiment,) = experiments(store)
    paths = {kind: tmp_path / f"table.{kind}" for kind in ("csv", "parquet")}
    experiment_table.write(store, experiment, paths)
    lines = paths["csv"].read_text().splitlines()
    assert lines[0].split(",")[-3:] == [NEVER, TIME, COUNT]
    assert sum(line.endswith(",,2.5,3") for line in lines) == 1

    rows = store.list_runs()
    of_run = dict(zip(run_tables.PARTS, run_tables.tables(store.load(rows[0].id)), strict=True))
    assert ["", "flow", "a", TIME, "s", 2.0] in list(of_run["metrics"].rows)
    flows = of_run["flows"]
    place = list(flows.kinds).index(TIME)
    assert [row[place] for row in flows.rows] == [2.0, None, None, None]

    compared = compare_variants(store, rows, [experiment])
    assert compared is not None
    (line,) = [line for line in compared.values if line.metric == TIME]
    assert (line.flow, line.unit) == ("a", "s")
