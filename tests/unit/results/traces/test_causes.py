"""What is said of traced events, and what is not said without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.multipath import Connection
from orchestrator.recording.trace import TABLES, Capture, Trace
from results.store.store import Store
from results.traces.causes import what_happened
from results.traces.columns import columns
from results.traces.moments import Moment
from results.traces.view import TraceView
from tests.support import traces as made

MS = 1_000_000
SENDER, RECEIVER = 1, 2
ENDS = [
    {"end": SENDER, "flow": 0, "is_sender": 1, "port": 7, "peer_port": 8},
    {"end": RECEIVER, "flow": 0, "port": 8, "peer_port": 7},
]
Row = Mapping[str, Any]


def trace(**rows: Sequence[Row]) -> Trace:
    """A trace of the flow 0 with these rows, and nothing else."""
    tables = {}
    for name, dtype in TABLES.items():
        given = rows.get(name, ENDS if name == "ends" else [])
        tables[name] = np.zeros(len(given), dtype)
        for number, row in enumerate(given):
            for column, value in row.items():
                tables[name][column][number] = value
    return Trace(Capture(0, 10**10), tables)


@pytest.fixture
def said(tmp_path: Path) -> Any:
    """Return what is said of the first flow by some rows."""
    path = made.store(tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        run = store.load(made.ids_of(path)[0])

        def ask(**rows: Sequence[Row]) -> list[Moment]:
            return what_happened(TraceView(run, trace(**rows)), 0)

        yield ask


def event(time_ns: int, what: int, end: int = SENDER, **values: Any) -> Row:
    return {"time_ns": time_ns, "end": end, "what": what, **values}


def count(time_ns: int, name: str, end: int = SENDER, value: int = 1) -> Row:
    return event(time_ns, records.COUNTER, end, name=name.encode(), value=value)


def test_nothing_is_said_of_nothing(said: Any) -> None:
    assert said() == []


def test_moments_of_a_flow_with_several_connections_have_ports(said: Any) -> None:
    idle = [event(5 * MS, records.CWND, end, value=10, before=20) for end in (SENDER, 3)]
    (one,) = said(events=idle[:1])
    assert "port" not in one.text
    others = [
        {"end": 3, "flow": 0, "is_sender": 1, "port": 7, "peer_port": 9},
        {"end": 4, "flow": 0, "port": 9, "peer_port": 7},
    ]
    grown = count(6 * MS, "TCPRcvQDrop", end=4)
    first, second, third = said(ends=[*ENDS, *others], events=[*idle, grown])
    assert first.text == f"{one.text} (ports 7 to 8)"
    assert second.text == f"{one.text} (ports 7 to 9)"
    assert third.text.endswith("(ports 7 to 9)")
    assert (third.numbers["sender_port"], third.numbers["receiver_port"]) == (7, 9)
    assert second.numbers == {**one.numbers, "sender_port": 7, "receiver_port": 9}


def test_rows_of_other_flows_say_nothing(said: Any) -> None:
    lost = {"time_ns": 5, "flow": -1, "channel": 0, "step": records.REFUSED}
    assert said(links=[lost], drops=[{"time_ns": 5, "flow": -1, "name": b"TC_INGRESS"}]) == []


def test_losses_near_each_other_are_one_moment(said: Any) -> None:
    times = [0, MS, 2 * MS, 5000 * MS]
    lost = [
        {"time_ns": t, "channel": 0, "step": records.LOST_BY_NUMBER, "to_sink": 1,
         "payload_bytes": 1448, "seq": 1448 * n}
        for n, t in enumerate(times)
    ]  # fmt: skip
    first, second = said(links=lost)
    assert (first.time_ns, first.until_ns, first.numbers["packets"]) == (0, 2 * MS, 3)
    assert (first.numbers["first_seq"], first.numbers["end_seq"]) == (0, 3 * 1448)
    assert (second.time_ns, second.until_ns, second.numbers["packets"]) == (5000 * MS, None, 1)
    assert {moment.kind for moment in (first, second)} == {"loss by number"}
    assert "3 data packets" in first.text
    assert first.evidence == {"links": 3}


def test_what_lasts_longer_than_the_gap_between_moments_says_until_when(said: Any) -> None:
    times = range(1, 2000, 5)
    lost = [{"time_ns": t * MS, "channel": 0, "step": records.LOST_BY_NUMBER, "to_sink": 1,
             "payload_bytes": 1448} for t in times]  # fmt: skip
    policed = [{"time_ns": t * MS, "flow": 0, "name": b"TC_INGRESS"} for t in times]
    marked = [{"time_ns": t * MS, "flow": 0, "channel": 0, "step": records.MARKED} for t in times]
    texts = [moment.text for moment in said(links=[*lost, *marked], drops=policed)]
    assert len(texts) == 3
    assert [text for text in texts if not text.endswith(", until 1.996 s")] == []
    (short,) = said(links=lost[:3])
    assert (short.until_ns, "until" in short.text) == (11 * MS, False)


@pytest.mark.parametrize(
    ("reason", "to_sink", "where"),
    [
        ("TCP_INVALID_SYN", 1, "at {sink}"),
        ("NO_SOCKET", 0, "at {source}"),
        ("NOT_SPECIFIED", 1, "on the way to {sink}"),
        ("{0}", 0, "on the way to {source}"),
    ],
)
def test_a_drop_of_the_kernel_has_its_host_and_reason(
    said: Any, tmp_path: Path, reason: str, to_sink: int, where: str
) -> None:
    drops = [{"time_ns": 5, "flow": 0, "name": reason.encode(), "to_sink": each}
             for each in (to_sink, to_sink, 1 - to_sink)]  # fmt: skip
    one, moment = sorted(said(drops=drops), key=lambda each: each.numbers["packets"])
    assert (one.numbers["packets"], moment.numbers["packets"]) == (1, 2)
    with Store.open_read_only(tmp_path / "runs.db") as store:
        flow = store.load(made.ids_of(tmp_path / "runs.db")[0]).flows[0]
    assert moment.text == (
        f"the kernel dropped 2 packets of {flow.name} "
        f"{where.format(sink=flow.sink, source=flow.source)} (the kernel's drop reason is {reason})"
    )


def test_lost_acks_are_told_apart(said: Any) -> None:
    (moment,) = said(links=[{"channel": 1, "step": records.LOST_BY_LINE, "to_sink": 0}])
    assert moment.kind == "loss by the line (ACKs)"
    assert "1 ACK of" in moment.text


def test_a_lost_handshake_is_told(said: Any) -> None:
    """A SYN-ACK is lost, and then the SYN that its timer sends; another connection's SYN, too."""
    ends = {SENDER: {"source_port": 7, "sink_port": 8}, 3: {"source_port": 9, "sink_port": 8}}
    lost = {"channel": 0, "step": records.LOST_BY_NUMBER}
    links = [
        {**lost, "time_ns": 20 * MS, "source_port": 8, "sink_port": 7, "tcp_flags": 0x12,
         "channel": 1},
        {**lost, "time_ns": 500 * MS, **ends[3], "tcp_flags": 0x02, "to_sink": 1},
        {**lost, "time_ns": 1010 * MS, **ends[SENDER], "tcp_flags": 0xC2, "to_sink": 1},
    ]  # fmt: skip
    timers = [
        row
        for time_ms, rto_us in ((1010, 1_000_000), (3010, 2_000_000))
        for row in (
            event(time_ms * MS, records.TIMER, value=1, before=rto_us),
            count(time_ms * MS, "TCPTimeouts"),
            count(time_ms * MS, "TCPSynRetrans"),
            event(time_ms * MS, records.RETRANSMIT, seq=1, end_seq=2),
        )
    ]
    events = [
        event(10 * MS, records.TCP_STATE, value=2, before=7),
        *timers,
        event(3050 * MS, records.TCP_STATE, value=1, before=2),
    ]
    found = said(links=links, events=events)
    assert [moment.kind for moment in found] == ["handshake", *["loss by number"] * 3]
    assert ["1 SYN-ACK of" in found[1].text, "1 SYN of" in found[2].text] == [True, True]
    assert (found[0].time_ns, found[0].until_ns) == (10 * MS, 3050 * MS)
    assert found[0].text.split(": ", 1)[1] == (
        "a SYN-ACK was lost (loss by number at bottleneck:reverse); "
        "a SYN was lost (loss by number at bottleneck:forward); "
        "the SYN timer ran out after 1000 ms and 2000 ms; the SYN was sent again 2 times; "
        "the connection was established at 3.050000 s"
    )
    assert found[0].numbers == {"retransmissions": 2, "waited_ms": 3000.0, "took_ms": 3040.0}
    (unfinished,) = said(events=events[:5])
    assert unfinished.text.endswith("it was not established by the end of the trace")
    assert said(events=[events[0], event(50 * MS, records.TCP_STATE, value=1, before=2)]) == []


def test_a_recovery_has_its_numbers(said: Any) -> None:
    states = [{"time_ns": 9 * MS, "end": SENDER, "by": records.BY_SEGMENT, "cwnd_segments": 40}]
    (moment,) = said(
        acks=states,
        events=[
            count(10 * MS, "TCPRenoRecovery"),
            event(10 * MS, records.CA_STATE, value=3, cwnd_segments=38, ssthresh_segments=20),
            event(10 * MS, records.RETRANSMIT),
            event(12 * MS, records.RETRANSMIT),
            event(50 * MS, records.CA_STATE, value=0, before=3, cwnd_segments=20,
                  ssthresh_segments=20),
        ],
    )  # fmt: skip
    assert (moment.kind, moment.time_ns, moment.until_ns) == ("fast recovery", 10 * MS, 50 * MS)
    assert moment.text.startswith("duplicate ACKs told of a loss of")
    assert moment.numbers == {
        "cwnd_before_segments": 40, "retransmissions": 2, "took_ms": 40.0,
        "cwnd_after_segments": 20, "ssthresh_segments": 20,
    }  # fmt: skip


def test_a_recovery_ends_with_the_state_after_its_last_ack(said: Any) -> None:
    states = [
        {"time_ns": 9 * MS, "end": SENDER, "by": records.BY_SEGMENT, "cwnd_segments": 64,
         "mss_bytes": 1000},
        {"time_ns": 50 * MS, "end": SENDER, "by": records.BY_SEGMENT, "cwnd_segments": 41,
         "ssthresh_segments": 41, "mss_bytes": 1000},
    ]  # fmt: skip
    (moment,) = said(
        acks=states,
        events=[
            event(10 * MS, records.CA_STATE, value=3, cwnd_segments=64, ssthresh_segments=32),
            event(10 * MS, records.RETRANSMIT, seq=2**32 - 500, end_seq=2500),
            event(11 * MS, records.RETRANSMIT, seq=2500, end_seq=2501),
            event(50 * MS, records.CA_STATE, value=0, before=3, cwnd_segments=32,
                  ssthresh_segments=32),
        ],
    )  # fmt: skip
    assert moment.numbers["retransmissions"] == 4, "one may be of several segments"
    assert (moment.numbers["cwnd_after_segments"], moment.numbers["ssthresh_segments"]) == (41, 41)
    assert moment.text.endswith("from 64 to 41 (ssthresh 41, 0.64 of the cwnd before)")
    assert moment.evidence == {"events": 3}


def test_a_recovery_at_the_end_of_a_trace_is_said_to_go_on(said: Any) -> None:
    (moment,) = said(events=[event(MS, records.CA_STATE, value=3, cwnd_segments=8)])
    assert moment.until_ns is None
    assert moment.text.endswith("it went on at the end of the trace")


@pytest.mark.parametrize(
    ("later", "kind"),
    [
        ([], "timeout"),
        ([count(300 * MS, "TCPLossUndo")], "spurious timeout"),
        ([count(300 * MS, "TCPSpuriousRTOs")], "spurious timeout"),
        ([event(250 * MS, records.TIMER, value=1), count(300 * MS, "TCPSpuriousRTOs")], "timeout"),
    ],
)
def test_a_timeout_is_spurious_where_the_kernel_says_so(
    said: Any, later: list[Row], kind: str
) -> None:
    began = [
        event(200 * MS, records.TIMER, value=1, before=204_000, seq=100, end_seq=3100,
              cwnd_segments=10),
        count(200 * MS, "TCPTimeouts"),
    ]  # fmt: skip
    first = said(events=[*began, *later])[0]
    assert first.kind == kind
    assert first.numbers == {
        "rto_ms": 204.0, "in_flight_bytes": 3000, "cwnd_before_segments": 10,
        "cwnd_after_segments": 0,
    }  # fmt: skip


def test_a_timer_that_did_nothing_is_not_told(said: Any) -> None:
    assert said(events=[event(MS, records.TIMER, value=1), event(MS, records.TIMER, value=5)]) == []


@pytest.mark.parametrize("end", [SENDER, RECEIVER])
def test_counts_name_the_end_and_are_added(said: Any, end: int) -> None:
    (moment,) = said(events=[count(n * MS, "PAWSEstab", end, 2) for n in range(3)])
    who = "sender" if end == SENDER else "receiver"
    assert f"the {who} of " in moment.text
    assert "6 segments" in moment.text
    assert moment.numbers == {"counter": "PAWSEstab", "by": 6}


def test_a_window_that_grows_by_itself_is_no_restart(said: Any) -> None:
    assert said(events=[event(MS, records.CWND, value=12, before=10)]) == []
    (moment,) = said(events=[event(MS, records.CWND, value=10, before=12)])
    assert moment.kind == "idle restart"


@pytest.mark.parametrize("in_flight", [0, 1])
def test_a_sender_with_data_in_flight_does_not_restart(said: Any, in_flight: int) -> None:
    before = {"time_ns": MS, "end": SENDER, "by": records.BY_SEGMENT, "cwnd_segments": 12,
              "packets_out_segments": in_flight}  # fmt: skip
    found = said(acks=[before], events=[event(9 * MS, records.CWND, value=10, before=12)])
    assert [moment.kind for moment in found] == ([] if in_flight else ["idle restart"])


def test_a_window_that_begins_with_its_connection_is_no_restart(said: Any) -> None:
    assert said(events=[
        event(40 * MS, records.TCP_STATE, value=1, before=2, cwnd_segments=11),
        event(40 * MS, records.CWND, value=10, before=11),
    ]) == []  # fmt: skip


def test_marks_are_found_on_arrival_and_while_packets_wait(said: Any) -> None:
    def step(time_ns: int, step: int, ip_id: int, ecn: int) -> Row:
        return {"time_ns": time_ns, "channel": 0, "step": step, "ip_id": ip_id, "ecn": ecn}

    (moment,) = said(links=[
        step(0, records.ENQUEUED, 1, 3), step(0, records.MARKED, 1, 3),
        step(1, records.ENQUEUED, 2, 2), step(2, records.BEGUN, 1, 3),
        step(3, records.BEGUN, 2, 3), step(4, records.ENQUEUED, 3, 2),
        step(5, records.BEGUN, 3, 2),
    ])  # fmt: skip
    assert (moment.kind, moment.numbers["packets"]) == ("mark", 2)


def test_columns_have_names(tmp_path: Path) -> None:
    path = made.store(tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        run = store.load(made.ids_of(path)[0])
        whole = store.trace(run.id, 1)
        events = columns(run, whole, "events")
        links = columns(run, whole, "links")
        drops = columns(run, whole, "drops")
        acks = columns(run, whole, "acks")
    assert events["event"].tolist() == ["counter", "timer"]
    assert events["name"].tolist() == ["TCPLossUndo", ""]
    assert events["is_sender"].tolist() == [1, 0]
    assert links["step_name"].tolist() == ["enqueued", "transmitted"]
    assert links["flow_name"].tolist() == [run.flows[0].name, ""]
    assert links["channel_name"].tolist() == ["bottleneck:forward", "bottleneck:reverse"]
    assert drops["name"].tolist() == ["TCP_OFOMERGE", "UNKNOWN"]
    assert acks["ca_state_name"].tolist() == ["Open", "Loss"]
    assert acks["flow"].tolist() == [0, -1]


def test_marks_are_found_in_a_trace_of_drops(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TraceView, "kinds", frozenset({"drops"}))

    def step(time_ns: int, step: int, ip_id: int) -> Row:
        return {"time_ns": time_ns, "channel": 0, "step": step, "ip_id": ip_id, "ecn": 3}

    (moment,) = said(links=[
        step(0, records.ENQUEUED, 1), step(0, records.MARKED, 1), step(2, records.BEGUN, 1),
        step(3, records.BEGUN, 2),  # marked while it waited
        step(4, records.ENQUEUED, 3), step(5, records.BEGUN, 3),  # came with CE
    ])  # fmt: skip
    assert moment.numbers["packets"] == 2


def test_the_window_of_a_subflow_is_that_of_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made.store(tmp_path / "runs.db")
    names = ("TCPToZeroWindowAdv", "TCPFromZeroWindowAdv", "TCPRcvQDrop")
    rows = trace(events=[count(n * MS, name, end=RECEIVER) for n, name in enumerate(names)])
    with Store.open_read_only(path) as store:
        run = store.load(made.ids_of(path)[0])
        kinds = [moment.kind for moment in what_happened(TraceView(run, rows), 0)]
        assert kinds == ["receive window", "receive window", "receive buffer"]
        name = run.flows[0].name
        connection = Connection((name,), (), (), ())
        monkeypatch.setattr(run, "_connections", {name: connection})
        kinds = [moment.kind for moment in what_happened(TraceView(run, rows), 0)]
        assert kinds == ["receive buffer"]
