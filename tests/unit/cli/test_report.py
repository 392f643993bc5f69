"""What people read of a run, the JUnit report, the status line."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import _junit, _output, _report, _status
from orchestrator.errors import UsageError


def check(name: str = "base RTT", ok: bool | None = True) -> dict[str, Any]:
    return {
        "name": name, "unit": "s", "expected": 0.1, "measured": 0.1004, "tolerance": 0.001,
        "ok": ok, "detail": "",
    }  # fmt: skip


def flow(name: str, congestion: str | None) -> dict[str, Any]:
    return {
        "name": name, "congestion_control": congestion, "goodput_bps": 4_750_000.4,
        "base_rtt_s": 0.1, "rtt_mean_s": 0.15432, "rtt_p95_s": None, "rtt_max_s": 0.2,
        "retransmitted_segments": 1234,
    }  # fmt: skip


def stored_run(**changes: Any) -> dict[str, Any]:
    link = {
        "name": "bottleneck", "direction": "forward", "bottleneck": True, "rate_bps": 10_000_000,
        "rate_min_bps": 5_000_000, "rate_max_bps": 10_000_000, "rate_end_bps": 5_000_000,
        "rate_changes": 0, "utilisation": 0.953, "drops_packets": 12, "queue_delay_mean_s": 0.05,
        "queue_delay_p95_s": 0.1,
    }  # fmt: skip
    return {
        "id": "20261120-1", "scenario": "quickstart", "variant": {}, "repetition": 0, "seed": 1,
        "status": "ok", "error": None, "wall_s": 2.5,
        "fidelity": {"verdict": "faithful", "checks": [check(), check("loss")]},
        "simulated_s": 60.0,
        "metrics": {
            "rtt_mean_s": 0.15, "utilisation": 0.953, "jain_index": 0.99, "loss_ratio": None,
        },
        "links": [link, {**link, "direction": "reverse", "utilisation": None}],
        "flows": [flow("westwood", "westwood"), flow("reno", None)],
        "windows": {},
        "events": [],
        "tags": [],
        "notes": [],
        "digest_depends_on_sampling": False,
        **changes,
    }  # fmt: skip


def text_of(run: dict[str, Any], everything: bool = False) -> str:
    out = io.StringIO()
    _report.print_run(run, _output.console(out), everything)
    return out.getvalue()


def test_a_run_is_printed_as_text() -> None:
    text = text_of(stored_run())
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("20261120-1: repetition 0, seed 1, 60 s simulated in 2.5 s\n\n")
    assert text.endswith(
        "utilisation 0.9530, Jain's index 0.9900, loss ratio -\nfaithful: 2 of 2 checks\n"
    )
    numbers = ["4.750", "100.000", "154.320", "-", "200.000", "1234"]
    assert ["westwood", "westwood", *numbers] in lines
    assert ["reno", "-", *numbers] in lines
    assert ["bottleneck:forward", "10.000", "0.9530", "12", "50.000", "100.000"] in lines
    assert "bottleneck:reverse" not in text
    assert "rtt_mean_s    150.000   ms" in text_of(stored_run(), everything=True)
    assert "\x1b" not in text


def test_a_run_says_whether_sampling_may_change_its_digest() -> None:
    line = "digest: another sampling period may give another one"
    assert line in text_of(stored_run(digest_depends_on_sampling=True)).splitlines()
    for exact in (False, None):
        assert line not in text_of(stored_run(digest_depends_on_sampling=exact))


def test_a_rate_that_changes_is_marked() -> None:
    (link, reverse) = stored_run()["links"]
    for changes, shown in ((0, "10.000"), (1, "10.000 -> 5.000"), (7, "5.000..10.000")):
        text = text_of(stored_run(links=[{**link, "rate_changes": changes}, reverse]))
        assert f"bottleneck:forward {shown:>12}".split() == [
            word for line in text.splitlines() if line.startswith("bottleneck:forward")
            for word in line.split()[: len(shown.split()) + 1]
        ]  # fmt: skip


def test_a_queue_that_marks_has_a_column_of_marks() -> None:
    (link, reverse) = stored_run()["links"]
    assert "marks" not in text_of(stored_run())
    assert "marks" not in text_of(stored_run(links=[{**link, "marks_packets": 0}, reverse]))
    text = text_of(stored_run(links=[{**link, "marks_packets": 34}, reverse]))
    lines = [line.split() for line in text.splitlines()]
    assert ["bottleneck:forward", "10.000", "0.9530", "12", "34", "50.000", "100.000"] in lines


def test_show_lists_the_events_and_when_they_were_applied() -> None:
    first = {"time_s": 4.0, "applied_s": 4.000000042, "link": "up", "queue": {"limit": "5p"}}
    many = [first] + [{**first, "time_s": 5.0 + n, "reroute": True} for n in range(24)]
    assert "applied" not in text_of(stored_run(events=many))
    text = text_of(stored_run(events=many), everything=True)
    lines = [line.strip() for line in text.splitlines()]
    (line,) = [line for line in lines if line.startswith("4 ")]
    assert line.split(maxsplit=2) == ["4", "4.000000042", "link: up, queue: {limit: 5p}"]
    assert "and 5 more; --json lists all" in lines
    assert sum("reroute: true" in line for line in lines) == 19


def test_windows_are_a_table_of_goodputs() -> None:
    early = {"flows": [{"goodput_bps": 1e6}, {"goodput_bps": 2.5e6}]}
    late = {"flows": [{"goodput_bps": None}, {"goodput_bps": 0}]}
    text = text_of(stored_run(windows={"early": early, "late": late}))
    lines = [line.split() for line in text.splitlines()]
    assert ["goodput", "Mbit/s", "of", "early", "late"] in lines
    assert ["westwood", "1.000", "-"] in lines
    assert ["reno", "2.500", "0.000"] in lines
    assert "goodput Mbit/s of" not in text_of(stored_run())


def test_a_long_line_in_a_file_is_neither_cut_nor_wrapped() -> None:
    name = "a_very_long_flow_name" * 12
    assert f"\n{name}" in text_of(stored_run(flows=[flow(name, "cubic")]))


def test_names_are_no_markup() -> None:
    assert "[red]flow[0]" in text_of(stored_run(flows=[flow("[red]flow[0]", "cubic")]))


def test_checks_that_did_not_pass_are_listed() -> None:
    checks = [check(), check("rate", ok=False), check("full queue", ok=None)]
    run = stored_run(fidelity={"verdict": "unfaithful", "checks": checks})
    text = text_of(run)
    assert "unfaithful: 1 of 3 checks" in text
    assert "FAILED         rate" in text
    assert "not measured   full queue" in text
    assert "base RTT   " not in text.partition("FAILED")[2]
    assert "ok             base RTT" in text_of(run, everything=True)


def test_a_failed_run_has_no_tables() -> None:
    text = text_of(stored_run(status="failed", error="the guest hung", variant={"rate": "1mbit"}))
    assert text == "20261120-1: rate=1mbit, repetition 0, seed 1\nfailed: the guest hung\n"


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
    assert (_report.quantity(name, value), _report.unit(name)) == (shown, unit)


def test_a_list_of_runs_is_a_table() -> None:
    out = io.StringIO()
    _report.print_list([stored_run(), stored_run(variant={"a": 1})], _output.console(out), True)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert len({len(line.rstrip()) for line in out.getvalue().splitlines()[:1]}) == 1
    assert lines[2][:7] == ["20261120-1", "quickstart", "-", "westwood", "0", "1", "ok"]
    assert lines[3][2] == "a=1"


def test_a_list_shows_variant_and_congestion_controls_before_short_seeds() -> None:
    out = io.StringIO()
    many = [flow("a[0]", "cubic"), flow("a[1]", "cubic"), flow("b", "bbr")]
    run = stored_run(variant={"a": 1}, repetition=3, seed=8_112_233_445_566_778_899, flows=many)
    _report.print_list([run], _output.console(out))
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
    bad = {"verdict": "unfaithful", "checks": [check(), check("rate", ok=False)]}
    runs = [
        stored_run(),
        stored_run(variant={"x": 1}, repetition=2, fidelity=bad),
        stored_run(status="failed", error="hung\x00\nconsole", wall_s=None),
        stored_run(fidelity={"verdict": "doubtful", "checks": []}),
    ]
    path = tmp_path / "report.xml"
    _junit.require_writable(path)
    _junit.write({"scenario": "quickstart", "runs": runs}, path)
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
        _junit.require_writable(tmp_path / "none" / "report.xml")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_status_line_is_rewritten_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_status, "PERIOD_S", 0.0)
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    with _status.StatusLine(stream=stream) as line:
        line.show("compiling", "10%")
        line.show("compiling", "a long detail that does not fit")
        line.say("done with one")
    assert stream.getvalue() == (
        "\r\x1b[Kcompiling 10%\r\x1b[Kcompiling a long de\r\x1b[Kdone with one\n"
    )


def test_the_status_line_prints_few_lines_without_a_terminal() -> None:
    stream = io.StringIO()
    with _status.StatusLine(stream=stream) as line:
        for percent in range(100):
            line.show("compiling", f"{percent}%")
        line.show("installing")
    assert stream.getvalue() == "compiling 0%\ninstalling\n"


def test_a_quiet_status_line_says_nothing() -> None:
    stream = Terminal()
    with _status.StatusLine(quiet=True, stream=stream) as line:
        line.show("compiling")
        line.say("done")
    assert stream.getvalue() == ""
