"""The figures of a scenario: faults at their place, and no influence on the runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.identity import experiment_sha256
from orchestrator.planning.plan import plan
from orchestrator.scenario import LoadedScenario, load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
MATRIX = "matrix:\n  topology.bottleneck.queue.limit: [0.1bdp, 1bdp]\n"
FIRST = len((QUICKSTART.read_text() + MATRIX).splitlines()) + 1
"""Line of what is appended."""

GOODPUT = "{kind: metric, metric: goodput_bps, by: limit, file: goodput.pdf}"


def loaded(tmp_path: Path, figures: str) -> LoadedScenario:
    file = tmp_path / "figures.yaml"
    file.write_text(QUICKSTART.read_text() + MATRIX + figures)
    return load(file)


def test_figures_are_loaded(tmp_path: Path) -> None:
    (figure,) = loaded(tmp_path, f"figures:\n  - {GOODPUT}\n").scenario.figures
    assert (figure.file, figure.width) == ("goodput.pdf", "ieee")
    text = "figures:\n  - {kind: metric, metric: jain_index, where: {limit: 1bdp}, file: f.svg}\n"
    assert loaded(tmp_path, text).scenario.figures[0].where == {"limit": "1bdp"}


def test_figures_change_neither_runs_nor_experiment(tmp_path: Path) -> None:
    without, with_them = loaded(tmp_path, ""), loaded(tmp_path, f"figures: [{GOODPUT}]\n")
    assert experiment_sha256(with_them) == experiment_sha256(without)
    for one, other in zip(plan(with_them).runs, plan(without).runs, strict=True):
        assert one.resolved == other.resolved
        assert "figures" not in one.resolved


@pytest.mark.parametrize(
    ("figure", "column", "message"),
    [
        ("{kind: metrc, file: f.pdf}", 12, "unknown figure kind `metrc` (did you mean `metric`?)"),
        ("{file: f.pdf}", 5, "`kind` is missing; valid: "),
        ("{kind: metric, metric: goodput_bps}", 5, "`file` is missing"),
        ("{kind: metric, metric: goodput, file: f.pdf}", 28, "there is no metric `goodput` (did"),
        (
            "{kind: metric, file: f.jpg, metric: jain_index}",
            26,
            "`f.jpg` has no valid suffix; valid: .pdf, .svg, .png",
        ),
        ("{kind: metric, file: a/f.pdf, metric: jain_index}", 26, "without folders"),
        ("{kind: metric, file: f.pdf, metric: jain_index, x: 1}", 53, "unknown key `x`"),
        (
            "{kind: metric, file: f.pdf, metric: jain_index, by: rate}",
            57,
            "there is no axis rate; the axes are limit",
        ),
        (
            "{kind: metric, file: f.pdf, metric: goodput_bps, flow: [reno, bbr]}",
            67,
            "there is no flow entry `bbr`; defined: westwood, reno",
        ),
        (
            "{kind: metric, file: f.pdf, metric: goodput_bps, where: {limit: 2bdp}}",
            69,
            "limit has no value 2bdp; its values are `0.1bdp`, `1bdp`",
        ),
        (
            "{kind: metric, file: f.pdf, metric: goodput_bps, where: limit=7bdp}",
            61,
            "column 7: limit has no value 7bdp",
        ),
        (
            "{kind: metric, file: f.pdf, metric: jain_index, window: late}",
            61,
            "there is no window `late`; defined: none",
        ),
        (
            "{kind: metric, file: f.pdf, metric: jain_index, width: a4}",
            60,
            "`a4` is not valid; valid: ieee, ieee-wide, acm, acm-wide",
        ),
    ],
)
def test_faults_are_at_their_place(tmp_path: Path, figure: str, column: int, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loaded(tmp_path, f"figures:\n  - {figure}\n")
    (fault,) = refused.value.faults
    assert message in fault.message
    assert (fault.line, fault.column) == (FIRST + 1, column)


def test_two_figures_have_two_files(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"`goodput.pdf` is the file of two figures; first at"):
        loaded(tmp_path, f"figures:\n  - {GOODPUT}\n  - {GOODPUT}\n")


def test_figures_cannot_vary(tmp_path: Path) -> None:
    file = tmp_path / "figures.yaml"
    file.write_text(QUICKSTART.read_text() + "matrix:\n  figures: [[]]\n")
    with pytest.raises(ScenarioError, match="`figures` cannot vary"):
        load(file)
