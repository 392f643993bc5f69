"""``explain``: what it prints of a run, of two flows and of two runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import StoreError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from tests.support import golden
from tests.support.run import SCENARIO, FakeRunner, fake, orchestrator, run_ids
from tests.support.traced_senders import acked, counted, happened, sender_trace

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"
MS = 1_000_000


def traced(capture: Capture) -> Trace:
    """A sender that gets an ACK each millisecond from 10 ms to 800 ms, but for 100 ms of them."""
    times = [time for time in range(10, 800) if not 210 <= time < 310]
    acks = [
        acked(time * MS, delivered_segments=number, mss_bytes=1000, srtt_us=20_000, rto_us=200_000,
              limited_by=1, cwnd_segments=20 if time < 310 else 10, ssthresh_segments=10)
        for number, time in enumerate(times)
    ]  # fmt: skip
    acks.append(acked(800 * MS, delivered_segments=len(times), mss_bytes=1000))
    events = [
        counted(205 * MS, "TCPSackRecovery"),
        happened(205 * MS, records.CA_STATE, value=3, cwnd_segments=19, ssthresh_segments=10),
        happened(205 * MS, records.RETRANSMIT),
        happened(310 * MS, records.CA_STATE, value=0, before=3, cwnd_segments=10,
                 ssthresh_segments=10),
        counted(600 * MS, "TCPHystartDelayDetect"),
    ]  # fmt: skip
    lost = {"time_ns": 190 * MS, "channel": 0, "step": records.LOST_BY_NUMBER, "to_sink": 1,
            "payload_bytes": 1000, "seq": 5}  # fmt: skip
    made = sender_trace(acks, events, links=[lost])
    return replace(made, capture=capture)


@pytest.fixture
def stored(fake: FakeRunner) -> list[str]:
    """The ids of two runs of two flows, of which the second had no trouble."""
    fake.trace = traced
    Path("two.yaml").write_text(
        SCENARIO.rstrip() + "\n  - {name: two, group: a, congestion: reno, traffic: {kind: bulk}}\n"
    )
    orchestrator("run", "two.yaml")
    orchestrator("explain", "last")
    orchestrator("run", "two.yaml")
    fake.trace = lambda capture: replace(sender_trace(()), capture=capture)
    return run_ids()


def test_explain_reads_as_its_golden_file(fake: FakeRunner, stored: list[str]) -> None:
    first, second = stored
    said = ""
    for words in (
        [first],
        [first, "--window", "500ms..700ms"],
        [first, "--flow", "one", "--most", "0"],
        [first, "--flow", "one", "--flow", "two"],
        [first, "--flow", "one", "--flow", "two", "--most", "1"],
        [first, "--flow", "one", "--flow", "two", "--window", "1s..1.5s"],
        [first, "--against", second, "--quiet"],
        [first, "--against", second, "--flow", "one", "--quiet", "--most", "1"],
        [first, "--against", second, "--flow", "three"],
        [first, "--at", "1s", "--window", "0s..1s"],
    ):
        text = golden.transcript(("explain", *words), orchestrator("explain", *words))
        said += text.replace(first, "FIRST").replace(second, "SECOND")
    golden.check(GOLDEN / "explain.txt", said)


def test_json_is_the_contract(fake: FakeRunner, stored: list[str]) -> None:
    first, second = stored
    done = orchestrator("explain", first, "--against", second, "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    one, two = said["flows"]
    (event,) = one["costliest"]
    assert event == {
        "time_ns": 190 * MS, "until_ns": 310 * MS, "is_back": True, "cost_bytes": 99_000,
        "level_bps": 8e6, "moments": [0, 1], "events": 1,
    }  # fmt: skip
    assert [one["moments"][at]["kind"] for at in event["moments"]] == [
        "loss by number", "fast recovery",
    ]  # fmt: skip
    assert sum(one["limited_by"].values()) == pytest.approx(1)
    assert one["limits_shown_by"] in ("samples", "acks")
    assert two["costliest"] == []
    assert one["paced_share"] == 0.0
    assert one["cwnd_mean_segments"] == pytest.approx((300 * 20 + 490 * 10) / 790)
    assert (two["paced_share"], two["cwnd_mean_segments"]) == (None, None)
    assert said["against"]["run"] == second
    assert [flow["flow"] for flow in said["against"]["flows"]] == ["one", "two"]
    first_compared, _other = said["comparisons"]
    assert first_compared["first"] == {"run": first, "flow": "one"}
    assert first_compared["second"] == {"run": second, "flow": "one"}
    assert first_compared["counts"] == {
        "HyStart": [1, 0], "fast recovery": [1, 0], "loss by number": [1, 0],
    }  # fmt: skip
    assert first_compared["only_first"] == one["moments"]
    assert first_compared["only_second"] == []
    nothing = {"count": 0, "mean_duration_s": None, "mean_cwnd_ratio": None, "mean_packets": None}
    assert list(first_compared["kinds"]) == list(first_compared["counts"])
    assert first_compared["kinds"]["fast recovery"] == [
        {"count": 1, "mean_duration_s": 0.105, "mean_cwnd_ratio": 0.5, "mean_packets": None},
        nothing,
    ]
    assert first_compared["kinds"]["loss by number"] == [
        {"count": 1, "mean_duration_s": None, "mean_cwnd_ratio": None, "mean_packets": 1.0},
        nothing,
    ]


@pytest.fixture
def zoomed(fake: FakeRunner, stored: list[str]) -> list[str]:
    """The same runs: the first one has a trace of a part, too, and one without queues."""
    fake.trace = traced
    for kinds in ("tcp,acks,queue", "tcp,acks"):
        words = ("--window", "200ms..700ms", "--trace", kinds, "--quiet")
        done = orchestrator("zoom", stored[0], *words)
        assert done.exit_code == 0, done.stderr
    return stored


@pytest.mark.slow
def test_a_trace_that_is_named_is_read_and_all_that_it_shows(zoomed: list[str]) -> None:
    first, second = zoomed

    def told(*words: str) -> dict[str, Any]:
        done = orchestrator("explain", *words, "--json", "--quiet")
        assert done.exit_code == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def span_ms(said: dict[str, Any]) -> tuple[float, float]:
        return said["from_ns"] / MS, said["to_ns"] / MS

    part = told(first, "--trace", "2")
    assert (part["trace"], *span_ms(part)) == (2, 200, 700)
    assert part["flows"][0]["limited_by"] is None
    assert told(first, "--trace", "1") == told(first)
    less = told(first, "--trace", "2", "--window", "500ms..600ms")
    assert (less["trace"], *span_ms(less)) == (2, 500, 600)
    assert told(first, "--window", "500ms..600ms", "--trace", "1")["trace"] == 1

    both = told(first, "--against", second, "--trace", "2")
    assert [(each["trace"], *span_ms(each)) for each in (both, both["against"])] == [
        (2, 200, 700), (1, 200, 700),
    ]  # fmt: skip
    turned = told(second, "--against", first, "--trace", "1", "--trace", "2")
    assert [(each["trace"], *span_ms(each)) for each in (turned, turned["against"])] == [
        (1, 200, 700), (2, 200, 700),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_trace_that_does_not_show_it_is_refused(zoomed: list[str]) -> None:
    first, second = zoomed
    for words, said in (
        (["--trace", "9"], f"--trace 9: run {first} has no such trace; it has 1, 2, 3"),
        (["--trace", "3"], f"--trace 3: trace 3 of run {first} does not show it: it has no queue "
         "or drops\n  fix: leave --trace out: another trace is taken then, or made"),
        (["--trace", "2", "--at", "1s"], "does not show it: it is of 0.2s..0.7s"),
        (["--trace", "1", "--trace", "1"], "--trace: give one, or with --against one of each run"),
        (["--against", second, "--trace", "1", "--trace", "2"],
         f"--trace 2: run {second} has no such trace; it has none"),
    ):  # fmt: skip
        done = orchestrator("explain", first, *words, "--quiet")
        assert done.exit_code == 2, words
        assert said in done.stderr


def test_of_runs_of_unequal_length_the_time_of_both_is_compared(
    fake: FakeRunner, stored: list[str]
) -> None:
    first = stored[0]
    fake.trace, fake.simulated_s = traced, 0.5
    done = orchestrator("run", "two.yaml", "--set", "duration=500ms", "--set", "warmup=0s")
    assert done.exit_code == 0, done.stderr
    shorter = run_ids()[-1]
    for runs in ([first, shorter], [shorter, first]):
        done = orchestrator("explain", runs[0], "--against", runs[1], "--json")
        assert done.exit_code == 0, done.stderr
        said = json.loads(done.stdout)
        assert {(of["from_ns"], of["to_ns"]) for of in (said, said["against"])} == {(0, 500 * MS)}
        # HyStart is at 600 ms.
        kinds = {"fast recovery": [1, 1], "loss by number": [1, 1]}
        assert said["comparisons"][0]["counts"] == kinds
        both = [of["flows"][0] for of in (said, said["against"])]
        assert both[0]["costliest"] == both[1]["costliest"]
        text = orchestrator("explain", runs[0], "--against", runs[1]).stdout
        assert f"The time that both have is compared: {shorter} is the shorter." in text
    whole = json.loads(orchestrator("explain", first, "--json").stdout)
    assert whole["to_ns"] == 2000 * MS
    assert whole["flows"][0]["counts"]["HyStart"] == 1


def test_a_flow_entry_stands_for_all_of_its_flows(fake: FakeRunner) -> None:
    fake.trace = lambda capture: replace(sender_trace(()), capture=capture)
    Path("many.yaml").write_text(
        SCENARIO.rstrip() + "\n  - {name: many, group: a, count: 30, traffic: {kind: bulk}}\n"
    )
    orchestrator("run", "many.yaml")

    def flows(*names: str) -> list[str]:
        words = [word for name in names for word in ("--flow", name)]
        done = orchestrator("explain", "last", "--json", *words)
        assert done.exit_code == 0, done.stderr
        return [flow["flow"] for flow in json.loads(done.stdout)["flows"]]

    many = [f"many[{number}]" for number in range(30)]
    assert flows("many") == many
    assert flows("many[3]", "one") == ["many[3]", "one"]
    assert flows("many[3]", "many") == ["many[3]", *many[:3], *many[4:]]
    said = orchestrator("explain", "last", "--flow", "one", "--flow", "many", "--most", "0")
    assert (
        "--flow one --flow many are 31 flows, and two are compared side by side. For the table "
        "name two, such as --flow 'one' --flow 'many[29]'."
    ) in said.stdout
    table = orchestrator("explain", "last", "--flow", "one", "--flow", "many[29]").stdout
    assert table.endswith("nothing in both flows\n")
    assert "are compared" not in orchestrator("explain", "last", "--flow", "many").stdout
    wrong = orchestrator("explain", "last", "--flow", "others")
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith("the run has no such flow; it has one, many[0] ... many[29]\n")


def test_a_stored_trace_is_explained_from_a_store_that_cannot_be_written(
    fake: FakeRunner, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_words: object) -> None:
        raise StoreError("the store was opened for writing")

    monkeypatch.setattr(Store, "__init__", write)
    told = orchestrator("explain", stored[0], "--flow", "one", "--json")
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout)["flows"][0]["counts"]["fast recovery"] == 1
    not_traced = orchestrator("explain", stored[1], "--flow", "one")
    assert "the store was opened for writing" in not_traced.stderr


def test_chains_and_handshakes_are_told_with_two_digits(fake: FakeRunner) -> None:
    """The SYN is sent again at 1 s, and half of the data are lost in 360 ms."""
    times = [time for time in range(1150, 1650) if not 1200 <= time < 1560 or time % 2 == 0]
    acks = [
        acked(time * MS, delivered_segments=1 + number, mss_bytes=1000, srtt_us=20_000,
              rto_us=40_000, limited_by=1)
        for number, time in enumerate(times)
    ]  # fmt: skip
    acks.append(acked(1650 * MS, delivered_segments=len(times) + 1, mss_bytes=1000))
    events = [
        happened(0, records.TCP_STATE, value=2, before=7),
        happened(1000 * MS, records.TIMER, value=1, before=1_000_000),
        counted(1000 * MS, "TCPSynRetrans"),
        happened(1000 * MS, records.RETRANSMIT),
        happened(1040 * MS, records.TCP_STATE, value=1, before=2),
    ]
    lost = []
    for begin in (1200, 1320, 1440):
        lost.append({"time_ns": begin * MS, "channel": 0, "step": records.LOST_BY_NUMBER,
                     "to_sink": 1, "payload_bytes": 1000})  # fmt: skip
        state = {"cwnd_segments": 9, "ssthresh_segments": 9}
        events += [happened((begin + 1) * MS, records.CA_STATE, value=3, **state),
                   happened((begin + 110) * MS, records.CA_STATE, before=3, **state)]  # fmt: skip
    made = sender_trace(acks, events, links=lost)
    fake.trace = lambda capture: replace(made, capture=capture)
    Path("one.yaml").write_text(SCENARIO)
    orchestrator("run", "one.yaml")
    said = orchestrator("explain", "last", "--most", "0", "--quiet").stdout.splitlines()
    costs = said[said.index("  what cost most goodput:") + 1 :]
    assert costs == [
        "    At 0.000 s handshake: 590 KiB behind 5.1 Mbit/s by 1.040 s",
        "    From 1.200 s to 1.550 s a chain of 3 events (loss by number, fast recovery), "
        "8.0 Mbit/s before it: 58 KiB behind in all, then back",
    ]


def test_a_part_of_a_run_has_no_story(fake: FakeRunner, stored: list[str]) -> None:
    said = json.loads(orchestrator("explain", stored[0], "--at", "600ms", "--json").stdout)
    (one, _two) = said["flows"]
    assert (one["limited_by"], one["costliest"]) == (None, None)
    assert (said["against"], said["comparisons"]) == (None, [])


def test_windows_and_times_are_written_to_the_nanosecond(
    fake: FakeRunner, stored: list[str]
) -> None:
    said = orchestrator("explain", stored[0], "--window", "500ms..500.0001ms", "--quiet").stdout
    assert said.startswith(f"{stored[0]}, 0.5 s to 0.5000001 s, by its trace ")
    after = orchestrator("explain", stored[0], "--at", "2.0000001s").stderr
    assert "--at 2.0000001s: the run goes from 0s to 2s" in after


def test_errors_name_explain(fake: FakeRunner, stored: list[str]) -> None:
    late = orchestrator("explain", "last", "--window", "1s..2.1s")
    assert "error: explain: the window ends at 2.1s, after the run, which ends at 2s" in late.stderr
    fake.trace = lambda capture: replace(sender_trace(()), capture=capture, full_ns=1_500_000_000)
    full = orchestrator("explain", "last", "--window", "1s..2s", "--quiet")
    assert full.stderr.startswith("error: explain: the trace is larger than its limit of 256 MiB")
    assert full.stderr.endswith(
        "fix: give --window 1s..1.47s, which fits, or raise the `--limit` of `orchestrator zoom`\n"
    )
    fake.failed = {1}
    orchestrator("run", "two.yaml")
    failed = orchestrator("explain", "last")
    assert f"error: explain: run {run_ids()[2]} is failed; only a run that is" in failed.stderr
    for words in (["--at", "1s"], ["--flow", "one"], ["--against", stored[0], "--at", "1s"]):
        assert orchestrator("explain", "last", *words).stderr == failed.stderr
    other = orchestrator("explain", stored[0], "--against", "last")
    assert other.stderr == failed.stderr
