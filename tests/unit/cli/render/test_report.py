"""What people read of a run, the JUnit report, the status line."""

from __future__ import annotations

import errno
import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.application.outcomes import ScenarioOutcome
from orchestrator.cli.render import junit, run_text, status_line, terminal
from orchestrator.errors import UsageError
from results.records.model import RunEvent
from results.runs.model import RunResult, WindowResult
from tests.support import golden
from tests.support.run_results import check, flow, link, result

GOLDEN = Path(__file__).parent / "golden"


def text_of(run: RunResult, everything: bool = False) -> str:
    out = io.StringIO()
    kernel = ["kernel: Linux 6.12.7", "kernel check: good"] if everything else []
    run_text.print_run(run, terminal.console(out), everything, kernel)
    return out.getvalue()


def full_run() -> RunResult:
    """Return a run with all that a text can have."""
    plain = result()
    first = plain.flows[0]
    dead = flow("reno", None, outcome="timed_out", ended_s=945.7123456, errno=errno.ETIMEDOUT)
    steps = tuple((10.0 * place, (10_000_000, 5_000_000)[place % 2]) for place in range(8))
    requested = {"link": "up", "queue": {"limit": "5p"}}
    goodputs = [replace(first, metrics={"goodput_bps": one}) for one in (1e6, None)]
    long = "far from what was requested, for a reason that is too long for a column of a table"
    wrong = replace(check("rate", ok=False), detail=long)
    checks = [check(), wrong, replace(check("full queue", ok=None), detail="12 places")]
    return result(
        checks, verdict="unfaithful", variant={"rate": "1mbit"}, flows=[first, dead],
        links=[link({"marks_packets": 34}, rate_steps=steps), plain.links[1]],
        events=[RunEvent(4.0 + number, 4.000000042, requested) for number in range(25)],
        windows={"early": WindowResult({}, goodputs)},
        metrics={**plain.metrics, "connections_failed": 3}, digest_depends_on_sampling=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("file", "run", "everything"),
    [
        ("run.txt", result(), False),
        ("show.txt", result(), True),
        ("run-full.txt", full_run(), False),
        ("show-full.txt", full_run(), True),
    ],
)
def test_a_run_reads_as_its_golden_file(file: str, run: RunResult, everything: bool) -> None:
    golden.check(GOLDEN / file, text_of(run, everything))


def test_a_run_is_printed_as_text() -> None:
    text = text_of(result())
    lines = [line.split() for line in text.splitlines()]
    numbers = ["4.750", "100.000", "154.320", "-", "200.000", "1234"]
    assert ["westwood", "westwood", *numbers] in lines
    assert ["reno", "-", *numbers] in lines
    assert ["bottleneck:forward", "10.000", "0.9530", "12", "50.000", "100.000"] in lines
    assert "bottleneck:reverse" not in text
    assert "\x1b" not in text


def test_flows_have_outcomes_where_not_all_have_ended() -> None:
    assert "outcome" not in text_of(result())
    dead = flow("two", "reno", outcome="timed_out", ended_s=945.7123456, errno=errno.ETIMEDOUT)
    flows = [flow("one", "reno"), dead, flow("three", None, outcome="never_connected")]
    lines = [line.split() for line in text_of(result(flows=flows)).splitlines()]
    (heading,) = [line for line in lines if line[:1] == ["flow"]]
    assert heading[-1] == "outcome"
    assert {line[0]: " ".join(line[8:]) for line in lines if line[:1] in (["one"], ["two"],
            ["three"])} == {"one": "ended", "two": "timed_out at 945.712 s (ETIMEDOUT)",
                            "three": "never_connected"}  # fmt: skip


def test_the_summary_counts_connections_that_failed() -> None:
    metrics = result().metrics
    assert "connections failed" not in text_of(result(metrics=metrics))
    assert "connections failed" not in text_of(result(metrics={**metrics, "connections_failed": 0}))


def test_a_run_says_whether_sampling_may_change_its_digest() -> None:
    line = "digest: another sampling period may give another one"
    assert line in text_of(result(digest_depends_on_sampling=True)).splitlines()
    for exact in (False, None):
        assert line not in text_of(result(digest_depends_on_sampling=exact))


def test_a_rate_that_changes_is_marked() -> None:
    fast, slow = 10_000_000, 5_000_000
    steps = (
        ((), "10.000"),
        ([fast, slow], "10.000 -> 5.000"),
        ([fast, slow] * 4, "5.000..10.000"),
    )
    for rates, shown in steps:
        changing = tuple((10.0 * place, rate) for place, rate in enumerate(rates))
        text = text_of(result(links=[link(rate_steps=changing)]))
        assert f"bottleneck:forward {shown:>12}".split() == [
            word for line in text.splitlines() if line.startswith("bottleneck:forward")
            for word in line.split()[: len(shown.split()) + 1]
        ]  # fmt: skip


def test_a_queue_that_marks_has_a_column_of_marks() -> None:
    assert "marks" not in text_of(result())
    assert "marks" not in text_of(result(links=[link({"marks_packets": 0})]))
    text = text_of(result(links=[link({"marks_packets": 34})]))
    lines = [line.split() for line in text.splitlines()]
    assert ["bottleneck:forward", "10.000", "0.9530", "12", "34", "50.000", "100.000"] in lines


def test_show_lists_the_events_and_when_they_were_applied() -> None:
    first = RunEvent(4.0, 4.000000042, {"link": "up", "queue": {"limit": "5p"}})
    many = [first, *(RunEvent(5.0 + n, 4.1, {"reroute": True}) for n in range(24))]
    assert "applied" not in text_of(result(events=many))
    text = text_of(result(events=many), everything=True)
    lines = [line.strip() for line in text.splitlines()]
    (line,) = [line for line in lines if line.startswith("4 ")]
    assert line.split(maxsplit=2) == ["4", "4.000000042", "link: up, queue: {limit: 5p}"]
    assert sum("reroute: true" in line for line in lines) == 19


def test_windows_are_a_table_of_goodputs() -> None:
    def window(*goodputs_bps: float | None) -> WindowResult:
        flows = zip(result().flows, goodputs_bps, strict=True)
        return WindowResult({}, [replace(one, metrics={"goodput_bps": bps}) for one, bps in flows])

    text = text_of(result(windows={"early": window(1e6, 2.5e6), "late": window(None, 0)}))
    lines = [line.split() for line in text.splitlines()]
    assert ["westwood", "1.000", "-"] in lines
    assert ["reno", "2.500", "0.000"] in lines
    assert "goodput Mbit/s of" not in text_of(result())


def test_a_long_line_in_a_file_is_neither_cut_nor_wrapped() -> None:
    name = "a_very_long_flow_name" * 12
    assert f"\n{name}" in text_of(result(flows=[flow(name, "cubic")]))


def test_names_are_no_markup() -> None:
    assert "[red]flow[0]" in text_of(result(flows=[flow("[red]flow[0]", "cubic")]))


def test_checks_that_did_not_pass_are_listed() -> None:
    checks = [check(), check("rate", ok=False), check("full queue", ok=None)]
    run = result(checks, verdict="unfaithful")
    text = text_of(run)
    assert "unfaithful: 1 of 3 checks" in text
    assert "base RTT   " not in text.partition("FAILED")[2]


def test_a_failed_run_has_no_tables() -> None:
    text = text_of(result(status="failed", error="the guest hung", variant={"rate": "1mbit"}))
    assert text == "20261120-1: rate=1mbit, repetition 0, seed 1\nfailed: the guest hung\n"


def test_a_failed_run_shows_the_lines_of_its_error_and_forges_no_line() -> None:
    error = "the guest ended\n  console: first\n\nconsole:\tse\x1bcond\u2028third"
    head, *lines = text_of(result(status="failed", error=error)).splitlines()
    assert head.startswith("20261120-1: ")
    assert lines == [
        "failed: the guest ended",
        "  console: first",
        r"  console:\tse\x1bcond\u2028third",
    ]


@pytest.mark.parametrize(
    ("name", "value", "shown", "unit"),
    [
        ("goodput_bps", 1_234_567, "1.235", "Mbit/s"),
        ("rtt_mean_s", 0.0015, "1.500", "ms"),
        ("drops_packets", 1_000_000, "1000000", "packets"),
        ("jain_index", 0.123456, "0.1235", ""),
        ("loss_ratio", None, "-", ""),
        ("note", "text", "text", ""),
    ],
)
def test_quantities_are_shown_with_their_units(
    name: str, value: object, shown: str, unit: str
) -> None:
    assert (run_text.quantity(name, value), run_text.unit(name)) == (shown, unit)


def test_a_list_of_runs_is_a_table() -> None:
    out = io.StringIO()
    runs = [result().listed(), result(variant={"a": 1}).listed()]
    run_text.print_list(runs, terminal.console(out), True)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert len({len(line.rstrip()) for line in out.getvalue().splitlines()[:1]}) == 1
    assert lines[2][:7] == ["20261120-1", "quickstart", "-", "westwood", "0", "1", "ok"]
    assert lines[3][2] == "a=1"


def test_a_list_shows_variant_and_congestion_controls_before_short_seeds() -> None:
    out = io.StringIO()
    many = [flow("a[0]", "cubic"), flow("a[1]", "cubic"), flow("b", "bbr")]
    run = result(variant={"a": 1}, repetition=3, seed=8_112_233_445_566_778_899, flows=many)
    run_text.print_list([run.listed()], terminal.console(out))
    headings, _, line = out.getvalue().splitlines()[:3]
    assert headings.split()[:6] == [
        "run",
        "variant",
        "congestion",
        "controls",
        "repetition",
        "seed",
    ]
    assert line.split()[:6] == ["20261120-1", "a=1", "cubic,", "bbr", "3", "#3"]


def test_the_junit_report_has_a_case_for_each_run(tmp_path: Path) -> None:
    bad = [check(), check("rate", ok=False)]
    runs = [
        result(),
        result(bad, variant={"x": 1}, repetition=2, verdict="unfaithful"),
        result(status="failed", error="hung\x00\nconsole", wall_s=None),
        result([], verdict="doubtful"),
    ]
    path = tmp_path / "report.xml"
    junit.require_writable(path)
    junit.write([ScenarioOutcome.of(runs, 1)], path)
    suite = ET.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert suite.get("time") == "7.500"
    assert [case.get("name") for case in suite][:2] == ["repetition 0", "x=1 repetition 2"]
    failures = [case.find("failure") for case in suite]
    assert [failure is not None for failure in failures] == [False, True, True, False]
    assert failures[1] is not None
    assert "rate: expected 0.1, measured 0.1004 s" in (failures[1].text or "")
    assert failures[2] is not None
    assert failures[2].get("message") == "hung\\x00"


def test_an_unwritable_report_is_an_error_before_any_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        junit.require_writable(tmp_path / "none" / "report.xml")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_status_line_is_rewritten_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "PERIOD_S", 0.0)
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    with status_line.StatusLine(stream=stream) as line:
        line.show("compiling", "10%")
        line.show("compiling", "a long detail that does not fit")
        line.say("done with one")
    assert stream.getvalue() == (
        "\r\x1b[Kcompiling 10%\r\x1b[Kcompiling a long de\r\x1b[Kdone with one\n"
    )


def test_the_status_line_prints_few_lines_without_a_terminal() -> None:
    stream = io.StringIO()
    with status_line.StatusLine(stream=stream) as line:
        for percent in range(100):
            line.show("compiling", f"{percent}%")
        line.show("installing")
    assert stream.getvalue() == "compiling 0%\ninstalling\n"


def test_a_quiet_status_line_says_nothing() -> None:
    stream = Terminal()
    with status_line.StatusLine(quiet=True, stream=stream) as line:
        line.show("compiling")
        line.say("done")
    assert stream.getvalue() == ""
