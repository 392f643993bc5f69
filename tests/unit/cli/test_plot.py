"""``orchestrator plot``: options made of the figures' keys, sources and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from results.figures import FIGURES
from results.store.store import Store
from tests.support.experiments import make

LIMIT = "topology.bottleneck.queue.limit"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        variants = [{LIMIT: "1bdp"}, {LIMIT: "2bdp"}]
        make(store, lambda _, n: {"a": 1e6 + n, "b": 2e6}, variants, repetitions=2)
    return path


def plot(db: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(commands, ["plot", *map(str, words), "--db", str(db)])


@pytest.mark.slow
def test_a_metric_of_an_experiment(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "fig.pdf"
    file.write_text("an earlier one")
    done = plot(db, "metric", "trial", "--metric", "goodput_bps", "-o", file)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{file}\n"
    assert file.read_bytes().startswith(b"%PDF")
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".pdf"] == ["fig.pdf"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["metrc", "trial"], "did you mean `metric`"),
        (["metric", "trial", "--metric", "goodput_bps", "-o", "f.tiff"], "-o f.tiff: `f.tiff` has"),
        (["metric", "trial", "--metric", "rtt", "-o", "f.pdf"], "--metric: there is no metric"),
        (["metric", "trial", "-o", "f.pdf"], "Missing option '--metric'"),
        (
            ["metric", "tral", "--metric", "goodput_bps", "-o", "f.pdf"],
            "no experiment tral in",
        ),
        (["metric", "trial", "--metric", "goodput_bps", "-o", "no/f.pdf"], "cannot be written"),
        (
            ["metric", "trial", "--metric", "goodput_bps", "--names", "c=Mine", "-o", "f.pdf"],
            "error: names: there is no name `c`; the names are `a`, `b`\n",
        ),
        (
            ["metric", "trial", "--metric", "goodput_bps", "--where", "limit", "-o", "f.pdf"],
            "column 6: here must be one of = != <",
        ),
    ],
)
def test_errors_name_what_is_valid(db: Path, words: list[str], message: str) -> None:
    done = plot(db, *words)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("kind", sorted(FIGURES.found))
def test_every_kind_explains_itself(kind: str) -> None:
    done = CliRunner().invoke(commands, ["plot", kind, "--help"])
    assert done.exit_code == 0
    assert "EXPERIMENT" in done.stdout


def test_the_kinds_are_the_files(db: Path) -> None:
    listed = CliRunner().invoke(commands, ["plot", "--help"]).stdout
    for kind in FIGURES.found:
        assert f"  {kind} " in listed
