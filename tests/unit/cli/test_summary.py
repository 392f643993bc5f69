"""``experiments`` and ``summary``: text, Markdown, LaTeX, CSV, JSON, and what a name means."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from results.experiment.experiments import find
from results.experiment.left_out import LeftOut
from results.experiment.model import Summary, SummaryRow
from results.figures._study import Study
from results.store.store import Store
from results.wording import summary_tables
from results.wording.summary_tables import fixed
from tests.support import golden
from tests.support.experiments import make, metric
from tests.support.identity import TEXT
from tests.support.recordings import flow, head, recording, transfers
from tests.support.summary import LIMIT, orchestrator, two

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"


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


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("summary.txt", ()),
        ("summary-markdown.txt", ("--markdown",)),
        ("summary-latex.txt", ("--latex",)),
    ],
)
def test_a_summary_reads_as_its_golden_file(file: str, form: tuple[str, ...]) -> None:
    result = orchestrator("summary", "sweep", "--metric", "goodput_bps", *form)
    assert result.exit_code == 0
    notes = f"\nstandard error:\n{result.stderr}" if result.stderr else ""
    golden.check(GOLDEN / file, result.stdout + notes)


@pytest.mark.usefixtures("store")
def test_the_table_has_means_and_intervals() -> None:
    result = orchestrator("summary", "sweep", "--metric", "goodput_bps")
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["10p", "one", "5", "1.060", "±", "0.082"] in lines
    assert orchestrator("summary", "sweep.yaml", "--metric", "goodput_bps").stdout == result.stdout


@pytest.mark.usefixtures("store")
def test_other_forms_have_the_same_numbers() -> None:
    words = ("summary", "sweep", "--metric", "goodput_bps")
    document = json.loads(orchestrator(*words, "--json").stdout)
    assert document["schema"] == 1
    assert [axis["path"] for axis in document["axes"]] == [LIMIT]
    means = [row["metrics"]["goodput_bps"]["mean"] for row in document["rows"]]
    lines = list(csv.DictReader(io.StringIO(orchestrator(*words, "--csv").stdout)))
    assert [float(line["mean"]) for line in lines] == means
    assert [(line["limit"], line["flow"]) for line in lines[:3]] == [
        ("10p", ""), ("10p", "one"), ("10p", "two"),
    ]  # fmt: skip
    assert "| 10p | one | 5 | 1.060 ± 0.082 |" in orchestrator(*words, "--markdown").stdout
    assert r"10p & one & 5 & 1.060 $\pm$ 0.082 \\" in orchestrator(*words, "--latex").stdout


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
    assert "is taken: it has the most runs that ended well (10); there are also" in result.stderr
    assert "limit" in result.stdout  # the sweep, and not the newer runs of one variant
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


REFUSED = [
    ("nothing",),
    ("sweep.yaml", "--set", "seed=7"),
    ("sweep", "--set", "seed=7"),
    ("missing.yaml",),
    ("sweep", "--by", "rate"),
    ("sweep", "--json", "--csv"),
    ("sweep", "--flows", "--flow", "one"),
]


@pytest.mark.usefixtures("store")
def test_what_is_not_there_is_status_2_and_reads_as_its_golden_file(tmp_path: Path) -> None:
    said = ""
    for words in REFUSED:
        result = CliRunner().invoke(commands, ["summary", *words])
        assert result.exit_code == 2
        said += golden.transcript(("summary", *words), result)
    golden.check(GOLDEN / "summary-refused.txt", said.replace(f"{tmp_path}/", ""))


def test_what_a_reader_must_know_is_said(store: Path) -> None:
    with Store(store) as opened:
        make(opened, lambda _v, _r: {"one": 1e6}, [{LIMIT: "10p"}], name="same")
        make(
            opened,
            lambda _v, r: {"one": [1e6 + 1e5 * part + r for part in range(20)]},
            [{LIMIT: "10p"}],
            name="rising",
        )
    same = orchestrator("summary", "same").stdout
    assert "4 runs are equal to another one to the bit" not in same  # each has a digest of its own
    rising = orchestrator("summary", "rising", "--metric", "goodput_bps").stdout
    assert "rises by 103%" in rising
    golden.check(GOLDEN / "summary-drifting.txt", rising)


def test_an_experiment_without_a_faithful_run_says_so(store: Path) -> None:
    with Store(store) as opened:
        make(opened, two, name="bad", verdict="unfaithful", repetitions=2)
    golden.check(GOLDEN / "summary-unfaithful.txt", orchestrator("summary", "bad").stdout)


def test_runs_left_out_are_said_with_metrics_of_flows_alone(store: Path) -> None:
    with Store(store) as opened:
        make(opened, two, name="mixed")
        make(opened, two, name="mixed", verdict="unfaithful", repetitions=1, repetition=7, seed=8)
    text = orchestrator("summary", "mixed", "--metric", "queueing_delay_mean_s").stdout
    golden.check(GOLDEN / "summary-left-out.txt", text)


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
        (("nothing", "-o", "n.csv"), "there is no experiment nothing in"),
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
        SummaryRow({}, "one", None, 2, LeftOut(), {"fct_mean_s": metric(mean, mean - 1, mean + 1)})
        for mean in means
    ]
    summary = Summary("x", "0" * 64, None, [], rows)
    _title, headings, cells = summary_tables._means(summary)
    assert headings[-1] == heading
    assert cells[0][-1] == cell


def test_a_mean_that_is_rounded_to_zero_has_no_sign() -> None:
    unit = fixed("bit/s")
    assert summary_tables.interval(metric(-0.04e6, -16e6, 15.9e6), unit) == "0 [-16, 16]"
    assert summary_tables.mean_with_half(metric(-0.04e6, -16e6, 15.9e6), unit) == "0 ± 16"
    assert summary_tables.interval(metric(-0.6e6, -16e6, 15e6), unit) == "-1 [-16, 15]"


@pytest.mark.usefixtures("store")
def test_only_what_is_asked_for_is_compared() -> None:
    """The default has flow entries, and axes of names; --by and --compare have what they name."""
    words = ("summary", "sweep", "--metric", "goodput_bps", "--json")

    def compared(*more: str) -> list[tuple[str | None, str, str, int]]:
        differences = json.loads(orchestrator(*words, *more).stdout)["differences"]
        return [
            (difference["axis"], difference["a"], difference["b"], difference["family_n"])
            for difference in differences
        ]

    flows = [(None, "one", "two", 2)] * 2
    assert compared() == flows
    assert compared("--compare", "one,two") == flows
    assert compared("--compare", "two,one") == [(None, "two", "one", 2)] * 2
    along = [(LIMIT, "10p", "20p", 3)] * 3  # of the run and its two flow entries
    assert compared("--by", "limit") == along
    assert compared("--compare", "10p, 20p") == along
    assert compared("--compare", "20p,10p") == [(LIMIT, "20p", "10p", 3)] * 3
    assert compared("--compare", "10p,20p", "--where", "limit=10p") == []
    for wrong, message in (
        ("one", "give two names or more with commas between, such as mine,cubic"),
        ("one,three", "these are neither flow entries nor values of one axis; the flow entries are "
         "one, two; the values of limit are `10p`, `20p`"),
        ("one,10p", "these are neither flow entries nor values of one axis"),
    ):  # fmt: skip
        refused = CliRunner().invoke(commands, ["summary", "sweep", "--compare", wrong])
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


def test_a_mean_of_a_part_of_the_runs_says_so(store: Path) -> None:
    """One of three runs converges: its time is no mean over three."""
    with Store(store) as opened:
        make(
            opened, lambda _v, r: {"one": 1e6 + r, "two": 1e6 if r == 1 else 3e6}, name="part",
            repetitions=3,
        )  # fmt: skip
    words = ("summary", "part", "--metric", "convergence_time_s", "--metric", "fct_mean_s")
    document = json.loads(orchestrator(*words, "--json").stdout)
    (run,) = [row for row in document["rows"] if row["flow"] is None]
    converged = run["metrics"]["convergence_time_s"]
    assert (run["n"], converged["n"], converged["of"]) == (3, 1, 3)
    assert document["without_values"] == ["fct_mean_s"]
    nothing = run["metrics"]["fct_mean_s"]
    assert (nothing["mean"], nothing["n"], nothing["of"], nothing["runs"]) == (None, 0, 3, [])
    for form in ((), ("--markdown",), ("--latex",)):
        result = orchestrator(*words, *form)
        text = result.stdout + result.stderr
        assert "(1 of 3 runs)" in text, text
        assert "fct_mean_s: no run has a value" in text
        assert "means of a part: run convergence_time_s (1 of 3 runs)" in text
    lines = list(csv.DictReader(io.StringIO(orchestrator(*words, "--csv").stdout)))
    by_metric = {line["metric"]: line for line in lines if not line["flow"]}
    found = by_metric["convergence_time_s"]
    assert (found["n"], found["of"]) == ("1", "3")
    assert (by_metric["fct_mean_s"]["n"], by_metric["fct_mean_s"]["mean"]) == ("0", "")
    drawn = orchestrator("plot", "bars", "part", "--metric", "convergence_time_s", "-o", "bars.svg")
    assert drawn.exit_code == 0, drawn.stderr
    assert "convergence_time_s: 1 of 1 means are of a part: 1 of 3 runs" in drawn.stderr


def test_figures_show_means_of_a_part_and_name_those_that_are_not_there(store: Path) -> None:
    """All, one and none of three runs converge at 10, 20 and 30 packets."""
    converging = {"10p": {0, 1, 2}, "20p": {1}, "30p": set()}

    def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        equal = repetition in converging[variant["limit"]]
        return {"one": 1e6 + repetition, "two": 1e6 if equal else 3e6}

    variants = [{"limit": limit, "rate": "1mbit"} for limit in converging]
    with Store(store) as opened:
        make(opened, goodput, variants, name="part", repetitions=3)
    for kind, words in (
        ("bars", ("--by", "limit")),
        ("metric", ("--by", "limit")),
        ("heatmap", ("--by", "limit", "--by", "rate")),
        ("tradeoff", ("--delay", "jain_index", "--of", "run")),
    ):
        file = f"{kind}.svg"
        named = ("--metric", "convergence_time_s", *words)
        drawn = orchestrator("plot", kind, "part", *named, "-o", file)
        assert drawn.exit_code == 0, drawn.stderr
        assert "convergence_time_s: 1 of 2 means are of a part: 1 of 3 runs\n" in drawn.stderr
        assert (
            "convergence_time_s: 1 of 3 means are not drawn, as no run has a value: "
            "limit=30p rate=1mbit\n"
        ) in drawn.stderr
        assert "†" in Path(file).read_text(), kind
        if kind == "heatmap":  # it has no legend
            assert "†: 1 of 2 means: of a part of the runs" in drawn.stderr
    with Store.open_read_only(store) as opened:
        study = Study(opened, find(opened, "part")[0], has_caption=True)
        study.summary(["convergence_time_s"], {})
    assert study.notes[0] == "Convergence time: 1 of 2 means are of a part: 1 of 3 runs"
    assert study.notes[1].startswith("Convergence time: 1 of 3 means are not drawn, as no run")


def test_completion_times_say_what_share_finished(store: Path) -> None:
    """A mean completion time has only the transfers that ended; two of five did here."""
    ended: list[list[tuple[int, float, float | None, int]]] = [
        [(0, 3.0, 4.0, 100), (0, 3.5, None, 60)],
        [(0, 3.0, 5.0, 9), (0, 6.0, None, 60)],
        [(0, 4.0, None, 60)],
    ]
    with Store(store) as opened:
        for repetition, rows in enumerate(ended):
            run_id = opened.begin(
                head(experiment="web", variant={}, repetition=repetition, seed=repetition)
            )
            made = recording(flows=[flow("w")], transfers=transfers(rows), digest=f"{repetition}")
            opened.finish(run_id, made, 1.0)
    words = ("summary", "web", "--metric", "fct_mean_s")
    document = json.loads(orchestrator(*words, "--json").stdout)
    for row in document["rows"]:
        found = row["metrics"]["fct_mean_s"]
        assert (found["mean"], found["n"], found["of"], found["finished"]) == (1.5, 2, 3, 0.4)
    assert "(2 of 3 runs, 40% finished)" in orchestrator(*words).stdout
