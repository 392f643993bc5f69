"""The matrix of harm: its pairs, its cells, its files, and what it would cost."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.evaluation.judging import PairKey
from orchestrator.evaluation.matrix import harm, page
from orchestrator.evaluation.matrix.harm import HarmMatrix
from orchestrator.evaluation.matrix.prepared import MatrixRequest, prepare
from results.contract.evaluations import HarmMatrix as Contract
from results.contract.evaluations import PlannedMatrix
from results.store.store import Store
from tests.support.contract import faults
from tests.support.experiments import make
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]

LIMIT = "topology.bottleneck.queue.limit"
OWN = Path(__file__).parents[3] / "scenarios/own-module/mycc"

GOODPUTS: Mapping[PairKey, tuple[float, float]] = {
    ("cubic", "cubic"): (8.0, 10.0), ("cubic", "bbr"): (2.0, 16.0), ("bbr", "bbr"): (8.0, 8.0),
}  # fmt: skip
"""Mbit/s of the newcomer and of the incumbent by the pair of both."""


def computed(tmp_path: Path) -> HarmMatrix:
    """Return the matrix of stored runs with these goodputs, which differ a little by seed."""
    prepared = prepare(MatrixRequest(("cubic", "bbr"), tmp_path / "matrix"))
    assert list(prepared.experiments) == list(GOODPUTS)
    path = tmp_path / "runs.db"
    rows = {}
    with Store(path) as store:
        for number, (pair, (newcomer, incumbent)) in enumerate(GOODPUTS.items()):

            def goodput(
                _variant: Mapping[str, Any],
                repetition: int,
                values: tuple[float, float] = (newcomer, incumbent),
            ) -> Any:
                scale = 1e6 * (1 + repetition / 100)
                return {"newcomer": values[0] * scale, "incumbent": values[1] * scale}

            ids = make(store, goodput, [{LIMIT: "0.5bdp"}], 3, f"of {number}")
            rows[pair] = [store.load(run_id).row for run_id in ids]
    with Store.open_read_only(path) as store:
        (row,) = [row for row in prepared.rows if row.id == "throughput"]
        cells = list(harm.cells_of(prepared, row, rows, store))
    return HarmMatrix(prepared, cells, [each for made in rows.values() for each in made])


def test_the_runs_of_a_pair_tell_of_both_directions(tmp_path: Path) -> None:
    cells = {(cell.newcomer, cell.incumbent): cell for cell in computed(tmp_path).cells}
    means = {pair: cell.value.mean for pair, cell in cells.items()}
    assert means == {
        ("cubic", "cubic"): pytest.approx(9.09e6),
        ("cubic", "bbr"): pytest.approx(16.16e6),
        ("bbr", "cubic"): pytest.approx(2.02e6),
        ("bbr", "bbr"): pytest.approx(8.08e6),
    }
    assert cells["cubic", "cubic"].change is None
    assert cells["cubic", "cubic"].verdict is None
    harmed, gained = cells["bbr", "cubic"], cells["cubic", "bbr"]
    assert harmed.change is not None
    assert gained.change is not None
    assert harmed.change.mean == pytest.approx(2 / 9 - 1)
    assert gained.change.mean == pytest.approx(1.0)
    assert (harmed.verdict, gained.verdict) == ("does not meet", "meets")
    assert harmed.runs == gained.runs


def test_the_tables_say_it_in_words(tmp_path: Path) -> None:
    found = computed(tmp_path)
    (table,) = page.tables(found)
    assert table.headings == ["newcomer", "incumbent cubic", "incumbent bbr"]
    assert table.rows[0][:2] == ["cubic", "9.090 (itself)"]
    assert table.rows[1][0] == "bbr"
    assert table.rows[1][1].startswith("2.020 (-78% [-80%, -76%]): does not meet")
    assert page.findings(found) == [
        "cubic: no cell of 1 cell is beyond the limits of harm",
        "bbr harms cubic in throughput more than these do themselves, beyond the limits of harm: "
        "1 of 1 cell",
    ]


NAMES = ("--matrix", "cubic,reno", "--db", "runs.db")


@pytest.mark.slow
def test_a_matrix_is_made_once_and_can_be_cited(fake: FakeRunner) -> None:
    first = orchestrator("evaluate", *NAMES, "-o", "matrix")
    assert first.exit_code == 0, first.output
    (asked,) = fake.asked
    assert len(asked[0].runs) == 3 * 2 * 3  # pairs, buffers, seeds
    document = json.loads(Path("matrix/matrix.json").read_text())
    assert faults(Contract, document) == []
    assert [one["metric"] for one in document["metrics"]] == [
        "goodput_bps", "rtt_mean_s", "loss_ratio",
    ]  # fmt: skip
    assert [len(one["cells"]) for one in document["metrics"]] == [2 * 2 * 2] * 3
    text = Path("matrix/matrix.html").read_text()
    assert "to cite it" in text
    assert document["digest"] in text
    assert Path("matrix/scenarios/harm/cubic-beside-reno.yaml").is_file()
    again = orchestrator(*shlex.split(document["command"])[1:], "--json")
    assert again.exit_code == 0, again.output
    assert len(fake.asked) == 1
    assert json.loads(again.stdout) == document


def test_a_plan_says_runs_and_hours_and_makes_none(fake: FakeRunner) -> None:
    words = ("--matrix", f"cubic,reno,bbr,{OWN}", "--db", "runs.db", "--plan")
    planned = orchestrator("evaluate", *words, "--json")
    assert planned.exit_code == 0, planned.output
    document = json.loads(planned.stdout)
    assert faults(PlannedMatrix, document) == []
    assert document["controls"] == ["cubic", "reno", "bbr", "mycc"]
    assert (document["pairs"], document["runs"], document["missing"]) == (10, 60, 60)
    assert document["hours"] > 0
    text = orchestrator("evaluate", *words, "--jobs", "2").stdout
    assert "quick matrix of 4 controls: 10 pairs, 60 runs" in text
    assert fake.asked == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--matrix", "cubic", "--plan"], "give two controls at least"),
        (["--matrix", "cubic,cubic", "--plan"], "give two controls at least"),
        (["--matrix", "cubic,rino", "--plan"], "there is no congestion control `rino`"),
        (["--matrix", "cubic,,reno", "--plan"], "--matrix: a name is missing between commas"),
        (["cubic", "--matrix", "cubic,reno", "--plan"], "--matrix and NAME|FOLDER: give one"),
        (["--matrix", "cubic,reno", "--only", "harm", "--plan"], "--matrix and --only: give one"),
        (["--matrix", "cubic,reno"], "-o DIR: is missing"),
        (["--matrix", "cubic,reno", "-o", "full"], "has files and no matrix"),
        (["--plan"], "NAME|FOLDER: is missing; or give --matrix NAMES"),
        (["--matrix", "reno,reno2", "--plan"], "several controls have the name `reno`"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(fake: FakeRunner, words: list[str], message: str) -> None:
    for name in ("full", "reno2"):
        Path(name).mkdir()
    Path("full/other.txt").write_text("mine")
    source = (OWN / "tcp_mycc.c").read_text()
    Path("reno2/tcp_reno2.c").write_text(source.replace('"mycc"', '"reno"'))
    result = orchestrator("evaluate", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert fake.asked == []
