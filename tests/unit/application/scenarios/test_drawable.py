"""``validate``, ``plan`` and ``run`` refuse a figure that the runs cannot give, before the runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]

SCENARIO = """\
version: 1
name: figures
duration: 3s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 5ms, queue: {kind: droptail, limit: 1bdp}}
  groups:
    - {name: a, access: {rate: 1gbit, delay: 5ms}}
flows:
  - {name: cubic, group: a, congestion: cubic}
  - {name: bbr, group: a, congestion: bbr}
  - {name: cbr, group: a, traffic: {kind: cbr, rate: 1mbit}}
matrix:
  topology.bottleneck.rate: [10mbit, 20mbit]
  topology.bottleneck.queue.limit: [0.5bdp, 1bdp, 4bdp]
figures:
"""

ONE = "where: {rate: 10mbit, limit: 1bdp}"

UNDRAWABLE = {
    "kind: metric, metric: goodput_bps": "several axes are possible: rate, limit",
    "kind: box, metric: goodput_bps, by: rate, flow: bbr": "a box needs 3 values",
    "kind: bars, metric: goodput_bps, by: rate": "9 lines .* cannot be told apart",
    "kind: metric, metric: goodput_bps, by: limit, panels_by: rate, y_to: 40ms":
        "y_to: 40ms is of s, and the axis is of bit/s",
    "kind: metric, metric: goodput_bps, by: limit, legend: {cubc: CUBIC}":
        "legend: there is no entry `cubc`",
    "kind: metric, metric: goodput_bps, by: limit, panels_by: rate, names: {cubc: CUBIC}":
        r"names: there is no name `cubc` \(did you mean `cubic`\?\); the names are",
    "kind: metric, metric: fct_mean_s, by: limit": "has no values of fct_mean_s",
    "kind: time": "has 6 variants, and this figure is of one run",
    f"kind: time, {ONE}, panel: rtt, flow: cbr": "panel rtt: .* no flow is of TCP",
    f"kind: time, {ONE}, repetition: 1": "no faithful repetition 1",
    f"kind: sequence, {ONE}, from: 5s": "has 3 s of traffic",
    f"kind: queue, {ONE}":
        r"give `capture: \{trace: \[queue\]\}`, or .* by `orchestrator plot queue` after",
    f"kind: sequence, {ONE}, flow: cubic, segments: true":
        r"no `capture` that makes one; give `capture: \{trace: \[acks, packets\]\}`",
    f"kind: events, {ONE}": r"give `capture: \{trace: \[tcp, acks, drops\]\}`",
    f"kind: phase, {ONE}, flow: [cubic, cbr]": r"two flows of TCP, not of 1 \(cubic\)",
    "kind: heatmap, metric: goodput_bps, by: [rate, limit]": "a heat map shows one of `cubic`",
    "kind: cdf, sample: transfers": "has no transfers to draw",
}  # fmt: skip

DRAWABLE = (
    "kind: metric, metric: goodput_bps, by: limit",
    "kind: metric, metric: jain_index, by: limit, of: run",
    "kind: bars, metric: goodput_bps, by: rate, flow: bbr, where: {limit: 1bdp}",
    "kind: cdf, sample: rtt, flow: bbr, names: {bbr: BBRv1}",
    f"kind: time, {ONE}, panel: [cwnd, algorithm.anything, statistic.anything, queue.drops]",
    f"kind: time, {ONE}, panel: [counter.TCPTimeouts, 'counter.Tcp:RetransSegs']",
    f"kind: phase, {ONE}",
    f"kind: sequence, {ONE}",
    "kind: tradeoff, flow: bbr, where: {rate: 10mbit}",
    "kind: heatmap, metric: goodput_bps, by: [rate, limit], flow: bbr",
)


def write(*figures: str) -> None:
    lines = [f"  - {{{one}, file: f{number}.pdf}}\n" for number, one in enumerate(figures)]
    Path("figures.yaml").write_text(SCENARIO + "".join(lines))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_each_figure_that_cannot_be_drawn_is_named_at_its_line() -> None:
    write(*UNDRAWABLE)
    done = orchestrator("validate", "figures.yaml")
    assert done.exit_code == 2
    lines = done.stderr.splitlines()
    assert len(lines) == len(UNDRAWABLE), done.stderr
    first = SCENARIO.count("\n") + 1
    for number, (line, message) in enumerate(zip(lines, UNDRAWABLE.values(), strict=True)):
        place = f"figures.yaml:{first + number}:5: the figure f{number}.pdf cannot be drawn: "
        assert place in line
        assert re.search(message, line), line


@pytest.mark.slow
def test_what_the_runs_can_give_is_valid() -> None:
    write(*DRAWABLE)
    done = orchestrator("validate", "figures.yaml")
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_capture_gives_figures_of_its_trace() -> None:
    traced = ("queue", "events", "sequence, segments: true, flow: cubic")
    write(*(f"kind: {kind}, {ONE}, legend: {{cubic: C}}, names: {{bbr: B}}" for kind in traced))
    done = orchestrator("validate", "figures.yaml", "--set", "capture={}")
    assert (done.exit_code, done.stderr) == (0, "")
    for capture, figure, message in (
        (
            "{trace: [acks, queue]}",
            f"kind: events, {ONE}",
            "it has no tcp; give "
            "`capture: {trace: [acks, queue, tcp]}`, with its other keys as they are, or leave",
        ),
        ("{trace: [packets]}", f"kind: queue, {ONE}", "`capture: {trace: [packets, queue]}`"),
        ("{trace: [tcp]}", f"kind: events, {ONE}", "`capture: {trace: [acks, tcp, drops]}`"),
        ("{}", f"kind: queue, {ONE}, to: 4s", "to: the figure ends at 4 s, after run"),
        (
            "{window: 0s..1s}",
            f"kind: queue, {ONE}, from: 0.5s",
            "it is of 0s..1s; change `capture`, or",
        ),
        ("{flows: [bbr]}", f"kind: {traced[2]}, {ONE}", "it has only the flows bbr"),
        ("{links: ['a_src0']}", f"kind: queue, {ONE}", "it has only the links a_src0"),
        ("{}", f"kind: queue, {ONE}, trace: 2", "a new run has only trace 1, that of `capture`"),
        ("{}", f"kind: queue, {ONE}, link: nolink", "has no link nolink"),
        ("{}", f"kind: {traced[2]}, {ONE}, from: 4s", "has 3 s of traffic"),
    ):
        write(figure)
        done = orchestrator("validate", "figures.yaml", "--set", f"capture={capture}")
        assert (done.exit_code, message in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_plan_and_run_refuse_it_before_any_run(fake: FakeRunner) -> None:
    write("kind: time")
    for command in ("plan", "run"):
        done = orchestrator(command, "figures.yaml")
        assert done.exit_code == 2
        assert "the figure f0.pdf cannot be drawn" in done.stderr
    assert not fake.asked


def test_repetitions_on_the_command_line_count() -> None:
    write("kind: box, metric: goodput_bps, by: rate, flow: bbr, where: {limit: 1bdp}")
    assert orchestrator("plan", "figures.yaml", "--repetitions", "3").exit_code == 0
    assert orchestrator("plan", "figures.yaml", "--repetitions", "2").exit_code == 2
