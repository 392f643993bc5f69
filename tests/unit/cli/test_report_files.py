"""``orchestrator report``: one HTML file and one PDF, self-contained, equal for equal runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import load
from results.store import Store
from tests.unit.cli.test_summary import LIMIT, orchestrator, store, two
from tests.unit.planning.test_identity import TEXT
from tests.unit.results.experiments import make

__all__ = ["store"]

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
            or (name in ("src", "href") and not str(value).startswith("data:"))
        ]


def test_a_report_has_everything_in_two_files(store: Path) -> None:
    with Store(store) as opened:
        make(
            opened, two, [{LIMIT: "10p"}, {LIMIT: "20p"}], name="nasty", experiment_sha256="n",
            description=NASTY, scenario_text=f"{TEXT}# {NASTY}\n",
        )  # fmt: skip
    for folder in ("one", "two"):
        result = orchestrator("report", "sweep", "nasty", "-o", folder)
        assert result.exit_code == 0, result.stderr
        assert result.stdout == f"{folder}/report.html\n{folder}/report.pdf\n"
    page = Path("one/report.html").read_text()
    assert page == Path("two/report.html").read_text()
    assert Path("one/report.pdf").read_bytes() == Path("two/report.pdf").read_bytes()
    assert Path("one/report.pdf").read_bytes()[:5] == b"%PDF-"
    checked = Checked()
    checked.feed(page)
    assert checked.found == []
    assert "&lt;script&gt;alert(1)" in page
    assert "1.060 ± 0.082" in page
    assert "goodput_bps-limit.svg" in page  # by default, the metric against the axis of numbers
    assert "all checks passed" not in page  # the synthetic runs have a check that was not measured
    assert "queue_rtt" in page
    assert "orchestrator run quickstart.yaml --repetitions 5" in page
    assert page.count("<figure>") >= 2


def test_the_figures_are_those_of_the_scenario(store: Path) -> None:
    figures = "figures:\n  - {kind: bars, metric: goodput_bps, file: mine.pdf}\n"
    with Store(store) as opened:
        make(
            opened, two, [{LIMIT: "10p"}, {LIMIT: "20p"}], name="named", experiment_sha256="n",
            scenario_text=TEXT + figures,
        )  # fmt: skip
    assert orchestrator("report", "named", "-o", "out").exit_code == 0
    captions = re.findall("<figcaption>(.*?)</figcaption>", Path("out/report.html").read_text())
    assert captions[-1] == "mine.pdf"
    assert "goodput_bps-limit.svg" not in captions


def test_the_commands_say_where_the_text_is_not_all(store: Path) -> None:
    hint = "# with --set and --reduced as the runs had them"
    sha256 = experiment_sha256(load(Path("sweep.yaml")))
    for name, known in (("same", sha256), ("changed", "other")):
        with Store(store) as opened:
            make(
                opened, two, [{LIMIT: "10p"}], name=name, experiment_sha256=known,
                scenario_text=TEXT, scenario="sweep", git_commit="abc+",
            )  # fmt: skip
            last = opened.resolve("last")
        assert orchestrator("report", name, "-o", name).exit_code == 0
        page = Path(name, "report.html").read_text()
        assert "git checkout abc\n# sweep.yaml is the scenario below\n" in page
        assert f"orchestrator run --verify {last}" in page
        assert (hint in page) == (name == "changed")


def test_figures_are_found_without_the_folder_of_a_module(store: Path) -> None:
    text = TEXT.replace("congestion: reno", "congestion: {name: mine, module: ./nowhere}")
    figures = "figures:\n  - {kind: bars, metric: goodput_bps, file: mine.pdf}\n"
    with Store(store) as opened:
        make(
            opened, two, [{LIMIT: "10p"}, {LIMIT: "20p"}], name="own", experiment_sha256="n",
            scenario_text=text + figures,
        )  # fmt: skip
    assert orchestrator("report", "own", "-o", "out").exit_code == 0
    assert "<figcaption>mine.pdf</figcaption>" in Path("out/report.html").read_text()


@pytest.mark.usefixtures("store")
def test_nothing_is_overwritten_unasked() -> None:
    assert orchestrator("report", "sweep", "-o", "out").exit_code == 0
    again = orchestrator("report", "sweep", "-o", "out")
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)
    assert orchestrator("report", "sweep", "-o", "out", "--force").exit_code == 0
    Path("file").write_text("")
    assert orchestrator("report", "sweep", "-o", "file").exit_code == 2
    wrong = orchestrator("report", "sweep", "-o", "other", "--metric", "goodputs")
    assert (wrong.exit_code, "there is no metric goodputs" in wrong.stderr) == (2, True)
    assert not Path("other").exists()
