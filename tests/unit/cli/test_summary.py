"""``experiments`` and ``summary``: text, Markdown, LaTeX, CSV, JSON, and what a name means."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import _summary, commands
from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from results.store import Store
from tests.unit.planning.test_identity import TEXT
from tests.unit.results.experiments import make
from tests.unit.results.test_recordings import head

LIMIT = "topology.bottleneck.queue.limit"


def two(variant: object, repetition: int) -> dict[str, float]:
    return {"one": 1.0e6 + 1e4 * repetition**2, "two": 3.0e6 - 5e4 * repetition}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario and runs of it."""
    monkeypatch.chdir(tmp_path)
    Path("sweep.yaml").write_text(TEXT)
    sha256 = experiment_sha256(load(Path("sweep.yaml")))
    with Store(tmp_path / "runs.db") as opened:
        make(opened, two, [{LIMIT: "10p"}, {LIMIT: "20p"}], name="sweep", experiment_sha256=sha256)
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "runs.db"))
    return tmp_path / "runs.db"


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, ["--debug", *words])


@pytest.mark.usefixtures("store")
def test_the_table_has_means_intervals_and_differences() -> None:
    result = orchestrator("summary", "sweep", "--metric", "goodput_bps")
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["limit", "of", "runs", "goodput_bps", "(Mbit/s)"] in lines
    assert ["10p", "one", "5", "1.060", "±", "0.082"] in lines
    assert any(line[:5] == ["limit=10p", "-", "two", "-", "one"] for line in lines)
    assert orchestrator("summary", "sweep.yaml", "--metric", "goodput_bps").stdout == result.stdout


@pytest.mark.usefixtures("store")
def test_other_forms_have_the_same_numbers() -> None:
    words = ("summary", "sweep", "--metric", "goodput_bps")
    document = json.loads(orchestrator(*words, "--json").stdout)
    assert document["schema"] == 1
    assert [axis["path"] for axis in document["axes"]] == [LIMIT]
    means = [each["metrics"]["goodput_bps"]["mean"] for each in document["rows"]]
    lines = list(csv.DictReader(io.StringIO(orchestrator(*words, "--csv").stdout)))
    assert [float(line["mean"]) for line in lines] == means
    assert [(line["limit"], line["flow"]) for line in lines[:3]] == [
        ("10p", ""), ("10p", "one"), ("10p", "two"),
    ]  # fmt: skip
    assert "| 10p | one | 5 | 1.060 ± 0.082 |" in orchestrator(*words, "--markdown").stdout
    latex = orchestrator(*words, "--latex").stdout
    assert r"10p & one & 5 & 1.060 $\pm$ 0.082 \\" in latex
    assert r"goodput\_bps" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2


@pytest.mark.usefixtures("store")
def test_differences_have_a_csv_of_their_own() -> None:
    words = ("summary", "sweep", "--metric", "goodput_bps", "--by", "limit")
    document = json.loads(orchestrator(*words, "--json").stdout)
    lines = list(csv.DictReader(io.StringIO(orchestrator(*words, "--csv-differences").stdout)))
    assert len(lines) == len(document["differences"]) > 1
    assert {line["unit"] for line in lines} == {"bit/s"}
    for line, each in zip(lines, document["differences"], strict=True):
        assert (line["flow"], line["metric"]) == (each["flow"] or "", each["metric"])
        assert [float(line[key]) for key in ("mean", "low", "high")] == [
            pytest.approx(each[key]) for key in ("mean", "low", "high")
        ]
    assert ("10p", "20p") in [(line["a"], line["b"]) for line in lines]


def test_a_name_with_several_experiments_names_the_others(store: Path) -> None:
    with Store(store) as opened:
        make(opened, two, name="sweep", experiment_sha256="newer")
    result = orchestrator("summary", "sweep")
    assert result.exit_code == 0
    assert "is the newest; there are also sweep@" in result.stderr
    listed = json.loads(orchestrator("experiments", "--json").stdout)["experiments"]
    assert [(each["name"], each["variants"], each["runs"]) for each in listed] == [
        ("sweep", 2, 10), ("sweep", 1, 5),
    ]  # fmt: skip
    text = orchestrator("experiments").stdout
    assert all(f"sweep@{each['identity'][:8]}" in text for each in listed)
    first = orchestrator("summary", f"sweep@{listed[0]['identity'][:8]}")
    assert (first.exit_code, first.stderr) == (0, "")
    assert "limit" in first.stdout
    assert orchestrator("summary", "sweep.yaml").stdout == first.stdout


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "there is no experiment nothing"),
        (("sweep.yaml", "--set", "seed=7"), "has no runs of sweep.yaml as it is now"),
        (("sweep", "--set", "seed=7"), "--set: sweep is no scenario file"),
        (("missing.yaml",), "missing.yaml:1:1: "),
        (("sweep", "--by", "rate"), "there is no axis rate; the axes are limit"),
        (("sweep", "--flows", "--flow", "one"), "--flows: give it without --flow"),
    ],
)
def test_what_is_not_there_is_status_2(words: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(commands, ["summary", *words])
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_what_a_reader_must_know_is_said(store: Path) -> None:
    with Store(store) as opened:
        make(opened, lambda _v, _r: {"one": 1e6}, [{LIMIT: "10p"}], name="same")
        make(
            opened,
            lambda _v, r: {"one": [1e6 + 1e5 * part + r for part in range(20)]},
            [{LIMIT: "10p"}],
            name="rising",
        )
        make(opened, two, name="bad", verdict="unfaithful", repetitions=2)
    same = orchestrator("summary", "same").stdout
    assert "4 runs are equal to another one to the bit" not in same  # each has a digest of its own
    rising = orchestrator("summary", "rising", "--metric", "goodput_bps").stdout
    assert "still drifting (marked ~)" in rising
    assert "limit=10p one goodput_bps (rises by 103%, steady from " in rising
    assert "2 runs were unfaithful and are left out" in orchestrator("summary", "bad").stdout


def test_runs_left_out_are_said_with_metrics_of_flows_alone(store: Path) -> None:
    with Store(store) as opened:
        make(opened, two, name="mixed")
        make(opened, two, name="mixed", verdict="unfaithful", repetitions=1, repetition=7, seed=8)
    text = orchestrator("summary", "mixed", "--metric", "queueing_delay_mean_s").stdout
    assert "1 run was unfaithful and is left out" in text


def test_an_experiment_is_exported_as_one_table(store: Path) -> None:
    with Store(store) as opened:
        opened.fail(opened.begin(head(experiment="hung", experiment_sha256="x")), "it hung")
    for name in ("sweep", "sweep.yaml"):
        result = orchestrator("export", name, "-o", f"{name}.csv")
        assert (result.exit_code, result.stdout) == (0, f"{name}.csv\n"), result.stderr
    lines = list(csv.DictReader(io.StringIO(Path("sweep.csv").read_text())))
    assert Path("sweep.csv").read_text() == Path("sweep.yaml.csv").read_text()
    assert len(lines) == 2 * 5 * 3  # variants, repetitions, the run and its two flows
    assert {(line["limit"], line["limit [packets]"]) for line in lines} == {
        ("10p", "10.0"), ("20p", "20.0"),
    }  # fmt: skip
    of_one = [float(line["goodput_bps"]) for line in lines if line["flow"] == "one"]
    assert of_one[:5] == pytest.approx([two({}, r)["one"] for r in range(5)], rel=1e-5)
    assert {line["jain_index"] != "" for line in lines if line["flow"] == ""} == {True}
    for words, message in (
        (("sweep", "-o", "sweep.csv"), "exists already"),
        (("sweep", "-o", "sweep.json"), "of an experiment there is csv or parquet"),
        (("hung", "-o", "hung.csv"), "has no run that ended ok"),
        (("nothing", "-o", "n.csv"), "there is no run nothing"),
    ):
        refused = CliRunner().invoke(commands, ["export", *words])
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


@pytest.mark.usefixtures("store")
def test_quantiles_have_a_table_and_columns() -> None:
    words = (
        "summary",
        "sweep",
        "--metric",
        "goodput_bps",
        "--quantile",
        "50%",
        "--quantile",
        "0.9",
    )
    text = orchestrator(*words).stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["limit", "of", "metric", "50%", "90%", "runs"] in lines
    (line,) = [line for line in lines if line[:2] == ["10p", "two"] and line[3] == "(Mbit/s)"]
    assert (line[2], line[4], line[-1]) == ("goodput_bps", "2.90", "5")
    table = list(csv.DictReader(io.StringIO(orchestrator(*words, "--csv").stdout)))
    assert float(table[2]["50%"]) == pytest.approx(2.9e6, rel=1e-4)
    assert float(table[2]["50% low"]) < 2.9e6 < float(table[2]["50% high"])
    for share in ("0", "100%", "2", "most"):
        refused = CliRunner().invoke(commands, ["summary", "sweep", "--quantile", share])
        assert (refused.exit_code, f"--quantile {share}" in refused.stderr) == (2, True)


def test_an_experiment_is_exported_as_parquet(store: Path) -> None:
    for file in ("sweep.csv", "sweep.parquet", "again.parquet"):
        result = orchestrator("export", "sweep", "-o", file)
        assert (result.exit_code, result.stdout) == (0, f"{file}\n"), result.stderr
    assert Path("sweep.parquet").read_bytes() == Path("again.parquet").read_bytes()
    table = duckdb.read_parquet("sweep.parquet")
    names = table.columns
    types = dict(zip(names, map(str, table.types), strict=True))
    assert {name: types[name] for name in ("run", "limit", "limit [packets]", "seed")} == {
        "run": "VARCHAR", "limit": "VARCHAR", "limit [packets]": "DOUBLE", "seed": "BIGINT",
    }  # fmt: skip
    assert (types["goodput_bps"], types["retransmitted_segments"]) == ("DOUBLE", "BIGINT")
    lines = list(csv.reader(io.StringIO(Path("sweep.csv").read_text())))
    assert names == lines[0]
    found = table.fetchall()
    text = [["" if cell is None else str(cell) for cell in row] for row in found]
    assert text == lines[1:]
    jain = names.index("jain_index")
    flow = names.index("flow")
    assert {row[flow] == "" for row in found if row[jain] is None} == {False}
    refused = CliRunner().invoke(commands, ["export", "sweep", "-o", "sweep.parquet"])
    assert (refused.exit_code, "exists already" in refused.stderr) == (2, True)
    refused = CliRunner().invoke(commands, ["export", "sweep", "--format", "flent", "-o", "x"])
    assert (refused.exit_code, "name a run for flent" in refused.stderr) == (2, True)


def test_a_files_reduced_form_is_an_experiment_of_its_own(store: Path) -> None:
    Path("both.yaml").write_text(f"{TEXT}reduced: {{duration: 1s}}\n".replace("sweep", "both"))
    sha256 = experiment_sha256(load(Path("both.yaml"), (), reduced=True))
    with Store(store) as opened:
        make(opened, two, [{LIMIT: "10p"}], name="both", experiment_sha256=sha256)
    assert orchestrator("summary", "both.yaml", "--reduced").exit_code == 0
    refused = CliRunner().invoke(commands, ["summary", "both.yaml"])
    assert (refused.exit_code, "--reduced means its reduced form" in refused.stderr) == (2, True)
    named = CliRunner().invoke(commands, ["summary", "both", "--reduced"])
    assert (named.exit_code, "--reduced: both is no scenario file" in named.stderr) == (2, True)


@pytest.mark.parametrize(
    ("means", "heading", "cell"),
    [
        ([60.4, 167.3], "fct_mean_s (s)", "60.4 ± 1.0"),
        ([0.25, 167.3], "fct_mean_s (ms)", "250 ± 1000"),
        ([0.02, 0.03], "fct_mean_s (ms)", "20 ± 1000"),
    ],
)
def test_times_of_a_second_and_more_are_shown_in_seconds(
    means: list[float], heading: str, cell: str
) -> None:
    rows = [
        {
            "variant": {}, "flow": "one", "link": None, "n": 2,
            "metrics": {
                "fct_mean_s": {"mean": mean, "low": mean - 1, "high": mean + 1, "drifting": False},
            },
        }
        for mean in means
    ]  # fmt: skip
    document = {"rows": rows, "axes": [], "window": "", "experiment": "x", "identity": "0" * 64}
    _title, headings, cells = _summary._means(document)
    assert headings[-1] == heading
    assert cells[0][-1] == cell
