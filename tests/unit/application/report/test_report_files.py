"""``orchestrator report``: one HTML file and one PDF, self-contained, equal for equal runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from orchestrator.application.report import experiment_section
from orchestrator.application.report.section_figures import ReportSelection
from orchestrator.application.report.write import NAMES
from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from results.experiment.experiments import experiments
from results.experiment.model import Interval, Summary
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.layout import small_multiples
from results.report import html_page
from results.store.store import Store
from results.wording import summary_tables
from results.wording.summary_tables import fixed, interval, p_value
from tests.support.experiments import Goodput, make
from tests.support.identity import TEXT
from tests.support.summary import LIMIT, orchestrator, two

pytestmark = pytest.mark.slow

NASTY = "<script>alert(1)</script>"


class Checked(HTMLParser):
    """Notes what could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts, and addresses that are not in the file."""
        if tag in ("script", "link", "iframe", "object"):
            self.found.append(tag)
        self.found += [
            f"{tag} {name}"
            for name, value in attrs
            if name.startswith("on")
            or (name in ("src", "href") and not str(value).startswith(("data:", "#")))
        ]


RATE, DELAY = "topology.bottleneck.rate", "topology.bottleneck.delay"
TWO_LIMITS = [{LIMIT: "10p"}, {LIMIT: "20p"}]
SWEEP = [
    {RATE: rate, LIMIT: limit, DELAY: delay}
    for rate in ("10mbit", "20mbit")
    for limit in ("10p", "20p", "40p")
    for delay in ("5ms", "20ms")
]
BARS = "  - {kind: bars, metric: goodput_bps, file: mine.pdf}\n"
TIME = "  - {kind: time, file: time.pdf}\n"
OWN = TEXT.replace("congestion: reno", "congestion: {name: mine, module: ./nowhere}")


OVERRIDES = ("seed=7", "duration=3s", "topology.bottleneck.queue.kind=codel")


def _other(folder: Path, overrides: Sequence[str], reduced: bool = False) -> dict[str, Any]:
    """Return the head of runs of a scenario's text with overrides, or of its reduced form."""
    (folder / "other.yaml").write_text(f"{TEXT}reduced: {{warmup: 1s}}\n")
    loaded = load(folder / "other.yaml", overrides, reduced)
    resolved = loaded.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"experiment_sha256": experiment_sha256(loaded), "scenario_text": loaded.text,
            "resolved": resolved}  # fmt: skip


@dataclass(frozen=True)
class Reports:
    """A store, and what is reported of it; ``last`` are the ids of newest runs.

    Of ``sweep`` and ``nasty`` there are the files of a report, and of others their HTML.
    """

    db: Path
    folder: Path
    stdout: str
    last: Mapping[str, str]

    def report(self, *words: str) -> Result:
        """Call the command with the store."""
        return orchestrator("report", *words, "--db", str(self.db))

    @property
    def page(self) -> str:
        """The HTML of the report of two experiments."""
        return (self.folder / "report.html").read_text()

    def of(self, name: str) -> str:
        """Return the part of that page that is of an experiment."""
        parts = self.page.split("<article ")[1:]
        (found,) = [part for part in parts if f'<h2 class="title">{name}</h2>' in part]
        return found

    def html(self, name: str, **chosen: Any) -> str:
        """Return the HTML of a report of another experiment: a PDF takes longer than the rest."""
        with Store.open_read_only(self.db) as opened:
            (found,) = [experiment for experiment in experiments(opened) if experiment.name == name]
            made = experiment_section.section(opened, found, ReportSelection(**chosen))
        return html_page(name, [made])


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Make the experiments, and the report of two of them, once."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "sweep.yaml").write_text(TEXT)
    sha256 = experiment_sha256(load(folder / "sweep.yaml"))
    commit = {"scenario": "sweep", "git_commit": "abc+"}
    made: dict[str, tuple[Sequence[Mapping[str, Any]], dict[str, Any]]] = {
        "sweep": (TWO_LIMITS, {"experiment_sha256": sha256, "verdict": "doubtful"}),
        "nasty": (
            TWO_LIMITS,
            {"description": NASTY, "scenario_text": f"{TEXT}# {NASTY}\n", "verdict": "doubtful"},
        ),
        "named": (TWO_LIMITS, {"scenario_text": f"{TEXT}figures:\n{BARS}"}),
        "undrawn": (TWO_LIMITS, {"scenario_text": f"{TEXT}figures:\n{TIME}{BARS}"}),
        "own": (TWO_LIMITS, {"scenario_text": f"{OWN}figures:\n{BARS}"}),
        "same": (TWO_LIMITS, {"experiment_sha256": sha256, "scenario_text": TEXT, **commit}),
        "changed": (TWO_LIMITS, {"experiment_sha256": "c", "scenario_text": TEXT, **commit}),
        "set": (TWO_LIMITS, {**_other(folder, OVERRIDES), "seed": 7, **commit}),
        "short": (TWO_LIMITS, {**_other(folder, (), reduced=True), **commit}),
        "three": (SWEEP, {"scenario_text": TEXT}),
    }
    with Store(folder / "runs.db") as opened:
        last = {
            name: make(opened, two, variants, **{"name": name, "experiment_sha256": name, **heads})[
                -1
            ]
            for name, (variants, heads) in made.items()
        }
    db, out = folder / "runs.db", folder / "out"
    result = orchestrator("report", "sweep", "nasty", "-o", str(out), "--db", str(db))
    assert result.exit_code == 0, result.stderr
    return Reports(db, out, result.stdout, last)


def test_a_report_has_everything_in_two_files(reports: Reports) -> None:
    out = reports.folder
    assert reports.stdout == f"{out}/report.html\n{out}/report.pdf\n"
    assert (out / "report.pdf").read_bytes()[:5] == b"%PDF-"
    page = reports.page
    checked = Checked()
    checked.feed(page)
    assert checked.found == []
    assert "&lt;script&gt;alert(1)" in page
    assert "all checks passed" not in page  # the synthetic runs have a check that was not measured
    numbers = [int(number) for number in re.findall(r"<b>Figure (\d+)\.</b>", page)]
    assert numbers == list(range(1, page.count("<figure ") + 1))
    sweep = reports.of("sweep")
    assert "1.060 ± 0.082" in sweep
    # By default, the metric against the axis of numbers; with n and the kind of interval.
    assert "Goodput against queue limit. Points are means over 5 runs. Bars are 95%" in sweep
    assert "<td>queue rtt</td><td>not measured</td>" in sweep
    assert "orchestrator run quickstart.yaml --repetitions 5" in sweep
    assert page.count("<figure ") >= 2
    for words in ("Set-up", "Results", "Methods", "Trust", "Provenance", "Run it again"):
        assert f"<h3>{words}</h3>" in sweep


@pytest.mark.long
def test_nothing_is_overwritten_unasked_and_equal_runs_give_equal_files(
    reports: Reports, tmp_path: Path
) -> None:
    words = ("sweep", "nasty", "-o", str(reports.folder))
    before = [(reports.folder / name).read_bytes() for name in NAMES]
    again = reports.report(*words)
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    times = [(reports.folder / name).stat().st_mtime_ns for name in NAMES]
    assert reports.report(*words, "--force").exit_code == 0
    assert [(reports.folder / name).read_bytes() for name in NAMES] == before
    assert [(reports.folder / name).stat().st_mtime_ns for name in NAMES] != times
    (tmp_path / "file").write_text("")
    assert reports.report("sweep", "-o", str(tmp_path / "file")).exit_code == 2
    wrong = reports.report("sweep", "-o", str(tmp_path / "other"), "--metric", "goodputs")
    assert (wrong.exit_code, "there is no metric goodputs" in wrong.stderr) == (2, True)
    assert not (tmp_path / "other").exists()


def test_differences_have_the_interval_and_the_p_of_their_family(reports: Reports) -> None:
    page = reports.of("sweep")
    asked = ("summary", "sweep", "--metric", "goodput_bps", "--json", "--db", str(reports.db))
    differences = json.loads(orchestrator(*asked).stdout)["differences"]
    assert differences
    for difference in differences:
        assert (
            difference["p_family"] != difference["p_holm"]
            or difference["low_family"] != difference["low"]
        )
        assert p_value(difference["p_family"]) in page.replace("&lt;", "<")
        of_family = Interval(
            difference["mean"], difference["low_family"], difference["high_family"]
        )
        assert interval(of_family, fixed("bit/s")) in page
    assert "Mean [interval]" in page
    assert "p (Bonferroni)" in page
    assert "Holm" not in page


def test_the_figures_are_those_of_the_scenario(reports: Reports) -> None:
    (caption,) = captions_of(reports.html("named"))
    assert caption.partition("</b> ")[2] == (
        "Goodput. Means over 5 runs. Thin bars are 95% confidence intervals "
        "(Student&#39;s t over runs)."
    )


def test_the_commands_say_where_the_text_is_not_all(reports: Reports) -> None:
    hint = "# with --set and --reduced as the runs had them"
    for name in ("same", "changed"):
        page = reports.html(name)
        assert "git checkout abc  # with changes that were not committed\n# sweep.yaml " in page
        assert f"orchestrator run --verify {reports.last[name]}" in page
        assert (hint in page) == (name == "changed")


def test_the_commands_have_what_the_runs_were_made_with(reports: Reports) -> None:
    """The text's queue is of 10 packets: a variant's limit is no override."""
    page = unescape(reports.html("set"))
    command = re.search(r"\norchestrator run sweep.yaml (.*) --repetitions 5\n", page)
    assert command is not None
    words = command[1].split()
    assert {"--set"} == set(words[::2])
    assert set(OVERRIDES) <= set(words[1::2])
    assert not any(".limit=" in word for word in words)
    page = unescape(reports.html("short"))
    assert "\norchestrator run sweep.yaml --reduced --repetitions 5\n" in page


def test_figures_are_found_without_the_folder_of_a_module(reports: Reports) -> None:
    assert "Goodput. Means over 5 runs." in reports.html("own")


def summary_of(folder: Path, goodput: Goodput, repetitions: int) -> Summary:
    """Store an experiment of three variants, and return its summary."""
    variants = [{CONGESTION: name} for name in ("reno", "cubic", "bbr")]
    with Store(folder / "runs.db") as opened:
        make(opened, goodput, variants, repetitions, "made", experiment_sha256="m")
        (made,) = experiments(opened)
        return summarise(opened, made, ValueSelection(("goodput_bps", "utilisation")))


CONGESTION = "flows.one.congestion"


def test_findings_begin_with_the_differences_that_are_shown(tmp_path: Path) -> None:
    """Flow two differs with bbr only. Reno and cubic come first in the table."""

    def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        far = 2e6 if variant[CONGESTION] == "bbr" else 0.0
        return {"one": 1e6 + 1e4 * repetition**2, "two": 3e6 + far - 5e4 * repetition}

    found = list(experiment_section._compared(summary_of(tmp_path, goodput, 5)))
    none = [at for at, said in enumerate(found) if "no difference is shown" in said]
    assert len(found) > len(none) > 0
    assert none == list(range(len(found) - len(none), len(found)))


def test_what_to_know_has_words_for_metrics_and_says_once_that_a_run_is_single(
    tmp_path: Path,
) -> None:
    single = summary_of(tmp_path, two, 1)
    assert list(experiment_section._notes(single)) == [
        "Utilisation: no run has a value.",
        "A single run has no interval; --repetitions N makes more.",
    ]
    assert "Differences" not in "".join(experiment_section._methods(single, ["goodput_bps"]))
    assert "none has an interval" not in "".join(summary_tables.notes(single))


def test_what_to_know_has_words_for_the_metrics_of_families(tmp_path: Path) -> None:
    several = summary_of(tmp_path, two, 5)
    said = "".join(experiment_section._notes(several))
    assert "Differences of goodput, flow entries: 3 are compared" in said
    assert "goodput_bps" not in said
    assert "Differences" in "".join(experiment_section._methods(several, ["goodput_bps"]))


def captions_of(page: str) -> list[str]:
    """Return the captions but those of networks."""
    matches = re.findall("<figcaption>(.*?)</figcaption>", page)
    return [caption for caption in matches if "The network" not in caption]


@pytest.mark.long
def test_a_sweep_over_three_axes_is_drawn_in_panels(reports: Reports) -> None:
    """It was refused: 12 lines cannot be told apart."""
    page = reports.html("three")
    captions = captions_of(page)
    assert len(captions) == 3  # the metric against each axis
    assert "Panels by" in captions[0]
    assert "not drawn" not in page


@pytest.mark.long
def test_a_report_is_narrowed_by_where_flow_and_by(reports: Reports, tmp_path: Path) -> None:
    words = ("--where", "rate=10mbit", "--flow", "one", "--by", "limit")
    result = reports.report("three", "-o", str(tmp_path / "out"), *words)
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "out/report.html").read_text()
    (caption,) = captions_of(page)
    assert "against queue limit" in caption
    assert "<dt>Only where</dt><dd>rate=10mbit</dd>" in page
    assert "<dt>Runs</dt><dd>30 faithful</dd>" in page
    assert "20 Mbit/s" not in page
    assert "two − one" not in page
    assert 'scope="col" class="n">two</th>' not in page
    assert 'scope="col" class="n">one</th>' in page
    for wrong, message in (
        (("--where", "rate=30mbit"), "rate has no value 30mbit"),
        (("--flow", "reno"), "there is no flow entry reno"),
        (("--by", "loss"), "there is no axis loss"),
    ):
        refused = reports.report("three", "-o", str(tmp_path / "other"), *wrong)
        assert (refused.exit_code, message in refused.stderr) == (2, True), refused.stderr


@pytest.mark.long
def test_an_experiment_with_too_many_lines_for_any_panels_is_drawn_in_parts(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_multiples, "MOST_PANELS", 1)
    monkeypatch.setattr(small_multiples, "MOST_LINES", 8)
    captions = captions_of(reports.html("three", by="rate"))
    assert len(captions) == 2  # of 12 lines 6 each
    assert ["With delay 5 ms." in captions[0], "With delay 20 ms." in captions[1]] == [True, True]


def test_a_figure_that_cannot_be_drawn_is_named_in_the_report(reports: Reports) -> None:
    page = reports.html("undrawn")
    assert "The figure time.pdf is not drawn: undrawn has 2 variants" in page
    assert len(captions_of(page)) == 1
