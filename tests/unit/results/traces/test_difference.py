"""What of two traces is compared, and which event is the first that differs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from results.traces.difference import sentences
from results.traces.difference.comparable import COMPARED, Connections, Rows, comparable
from results.traces.difference.in_kind import Alone, first_alone
from results.traces.difference.parting import Parting, first_parting, following, from_time
from results.traces.difference.traced_events import Names
from tests.support import traces

Row = Mapping[str, Any]
Tables = dict[str, Rows]

END_NS = 1_000_000_000
SOURCE, SINK, PORT = 0x0100000A, 0x0200000A, 5001
NAMES = Names(["mine"], ["core:forward", "core:reverse"])


def tables(
    *, isn: int = 1000, port: int = 40000, end: int = 1, private: bytes = b"", **rows: Sequence[Row]
) -> Tables:
    """Comparable tables of a run whose sender begins at ``isn`` and at ``port``.

    In rows its sequence numbers begin at 0. Packets in the channel 1 are ACKs.
    """
    one, other = (SOURCE, port), (SINK, PORT)
    ends: list[Row] = [{"end": end, "flow": 0, "is_sender": 1, "address": SOURCE, "port": port,
             "peer_address": SINK, "peer_port": PORT}]  # fmt: skip

    def shifted(row: Row, *names: str) -> Row:
        return {**row, **{name: (row[name] + isn) % 2**32 for name in names if name in row}}

    def packet(row: Row) -> Row:
        is_ack = row.get("channel") == 1
        source, sink = (other, one) if is_ack else (one, other)
        from_to = {"source_address": source[0], "source_port": source[1],
                   "sink_address": sink[0], "sink_port": sink[1]}  # fmt: skip
        plain = {**from_to, "to_sink": int(not is_ack), "protocol": 6, "tcp_flags": 16, **row}
        return shifted(plain, "ack_seq" if is_ack else "seq")

    made: dict[str, list[Row]] = {"ends": ends}
    for name in ("links", "drops"):
        made[name] = [packet(row) for row in rows.get(name, [])]
    made["acks"] = [shifted({"end": end, **row}, "snd_una", "snd_nxt", "ack_seq")
                    for row in rows.get("acks", [])]  # fmt: skip
    made["events"] = [
        shifted({"end": end, **row}, "seq", "end_seq") for row in rows.get("events", [])
    ]
    known = Connections({0: private} if private else {})
    return comparable(Trace(Capture(0, END_NS), traces.filled(made)), known)


def link(time_ns: int, step: int = records.ENQUEUED, **values: Any) -> Row:
    return {"time_ns": time_ns, "step": step, "seq": 0, "payload_bytes": 1448, **values}


def state(time_ns: int, **values: Any) -> Row:
    return {"time_ns": time_ns, "by": records.BY_SEGMENT, "snd_una": 0, "snd_nxt": 0, "ack_seq": 0,
            **values}  # fmt: skip


def event(time_ns: int, what: int = records.COUNTER, **values: Any) -> Row:
    return {"time_ns": time_ns, "what": what, **values}


def test_equal_traces_do_not_part() -> None:
    rows: dict[str, Any] = {"links": [link(5), link(9, seq=1448)], "acks": [state(7)]}
    assert first_parting(tables(**rows), tables(**rows), END_NS) is None
    assert first_parting(tables(), tables(), END_NS) is None


def test_what_chance_sets_is_not_compared() -> None:
    def run(isn: int, port: int, end: int, ip_id: int) -> Tables:
        return tables(
            isn=isn, port=port, end=end,
            links=[link(1, ip_id=ip_id), link(2, channel=1, ack_seq=7, payload_bytes=0),
                   link(3, seq=1448)],
            acks=[state(2, snd_nxt=2896, info=bytes([ip_id]) * 24)],
            events=[event(2, records.COUNTER, name=b"TCPTimeouts", value=1)],
        )  # fmt: skip

    one, other = run(1000, 40000, 1, 7), run(2**32 - 1449, 50000, 9, 8)
    assert first_parting(one, other, END_NS) is None
    assert one["links"]["seq"].tolist() == [0, 0, 1448]
    assert other["links"]["seq"].tolist() == [0, 0, 1448], "modulo 2^32"
    assert one["links"]["ack_seq"].tolist() == [0, 7, 0]
    assert other["acks"]["snd_nxt"].tolist() == [2896]


def test_the_state_that_get_info_shows_is_compared() -> None:
    one, other = (
        tables(acks=[state(5, info_kind=1, info=bytes([value]) * 24)]) for value in (1, 2)
    )
    assert first_parting(one, other, END_NS) == Parting(5, "acks", (0, 0))


@pytest.mark.parametrize("column", [name for name in COMPARED["links"].names or ()
                                    if name not in ("time_ns", "flow", "connection", "channel",
                                                    "protocol", "ack_seq", "seq")])  # fmt: skip
def test_each_value_of_a_packet_is_compared(column: str) -> None:
    one = tables(links=[link(5)])
    other = tables(links=[link(5, **{column: 3})])
    assert first_parting(one, other, END_NS) == Parting(5, "links", (0, 0))


def test_other_data_differ_although_sequence_numbers_are_relative() -> None:
    one, other = (tables(links=[link(5), link(6, seq=seq)]) for seq in (1448, 2896))
    assert first_parting(one, other, END_NS) == Parting(6, "links", (1, 1))


def test_the_earliest_table_is_the_first() -> None:
    one = tables(links=[link(9)], acks=[state(8, cwnd_segments=5)], events=[event(7, value=1)])
    other = tables(links=[link(9, ecn=1)], acks=[state(8)], events=[event(7, value=2)])
    assert first_parting(one, other, END_NS) == Parting(7, "events", (0, 0))


def test_an_event_that_one_run_has_is_a_difference_of_both() -> None:
    one, other = tables(links=[link(5), link(9)]), tables(links=[link(5)])
    assert first_parting(one, other, END_NS) == Parting(9, "links", (1, None))
    assert first_parting(other, one, END_NS) == Parting(9, "links", (None, 1))
    later = tables(links=[link(5), link(8)])
    assert first_parting(one, later, END_NS) == Parting(8, "links", (None, 1))


def test_nothing_is_said_of_what_comes_later_than_is_known() -> None:
    one, other = tables(links=[link(5), link(9)]), tables(links=[link(5)])
    assert first_parting(one, other, 9) is None
    assert first_parting(one, other, 10) is not None


@pytest.mark.parametrize(
    ("step", "table"),
    [
        (records.ENQUEUED, "events"), (records.ARRIVED, "links"), (records.BEGUN, "links"),
        (records.REFUSED, "links"),
    ],
)  # fmt: skip
def test_of_one_time_what_arrives_is_first_and_what_is_sent_is_last(step: int, table: str) -> None:
    one = tables(links=[link(5, step)], events=[event(5)], acks=[state(5)])
    found = first_parting(one, tables(), END_NS)
    assert found is not None
    assert found.table == table


def test_another_fate_of_one_packet_is_first_at_its_time() -> None:
    one = tables(links=[link(5)], events=[event(5)])
    other = tables(links=[link(5, records.REFUSED)], events=[event(5, value=1)])
    assert first_parting(one, other, END_NS) == Parting(5, "links", (0, 0))
    sent = tables(links=[link(5, queue_packets=1)], events=[event(5, value=1)])
    assert first_parting(one, sent, END_NS) == Parting(5, "links", (0, 0))


def test_the_next_events_are_in_the_order_of_time_and_without_those_before() -> None:
    same = [link(5, records.ARRIVED), link(5, records.ARRIVED, seq=9)]
    one = tables(
        links=[*same, link(5, records.REFUSED, seq=20), link(8), link(8, records.BEGUN)],
        events=[event(5), event(8)], acks=[state(4), state(8)],
    )  # fmt: skip
    other = tables(links=[*same, link(5, seq=20)], events=[event(5)], acks=[state(4)])
    found = first_parting(one, other, END_NS)
    assert found == Parting(5, "links", (2, 2))
    assert following(one, other, found, 0, 10) == [
        ("events", 1), ("acks", 1), ("links", 3), ("links", 4)
    ]  # fmt: skip
    assert following(one, other, found, 0, 1) == [("events", 1)]
    assert following(other, one, found, 1, 10) == []
    assert from_time(one, 6, 2) == [("events", 1), ("acks", 1)]


def test_a_run_without_the_event_goes_on_with_its_own() -> None:
    one, other = tables(links=[link(5), link(7)]), tables(links=[link(6), link(7)])
    found = first_parting(one, other, END_NS)
    assert found == Parting(5, "links", (0, None))
    assert following(one, other, found, 0, 10) == [("links", 1)]
    assert following(other, one, found, 1, 10) == [("links", 0), ("links", 1)]


def test_connections_of_a_flow_are_told_apart_over_several_windows() -> None:
    known = Connections()
    first, second = (SOURCE << 16 | 1, SINK << 16 | PORT), (SOURCE << 16 | 2, SINK << 16 | PORT)
    assert [known.number(end, 0) for end in (first, second, first, first[::-1])] == [0, 1, 0, 0]
    assert known.number((3, 4), 1) == 0


def said(table: str, **values: Any) -> str:
    """The text of a row of a table. Earlier packets have the first sequence numbers."""
    rows: dict[str, Any] = {"links": [link(1), link(2, channel=1, payload_bytes=0)]}
    made = tables(**{**rows, table: [*rows.get(table, []), values]})
    return NAMES.traced(table, made[table], -1, made[table]).text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (records.ENQUEUED, "the queue of core:forward took {}, and then held 2 packets"),
        (records.BEGUN, "core:forward began to transmit {}, which had waited 1.500 ms"),
        (records.ARRIVED, "{} came out of core:forward"),
        (records.REFUSED, "the queue of core:forward dropped {} as it came, and held 2 packets"),
        (records.DROPPED, "the queue of core:forward dropped {}, which had waited 1.500 ms"),
        (records.LOST_BY_NUMBER, "core:forward lost {} by its number"),
        (records.LOST_BY_LINE, "the line of core:forward lost {}"),
        (records.MARKED, "the queue of core:forward marked {}, and held 2 packets"),
        (records.DUPLICATED, "core:forward duplicated {}"),
    ],
)
def test_each_step_of_a_packet_has_a_sentence(step: int, text: str) -> None:
    row = link(5, step, seq=1448, queue_packets=2, sojourn_ns=1_500_000)
    assert said("links", **row) == text.format("data of mine (bytes 1448 to 2896)")


@pytest.mark.parametrize(
    ("values", "packet"),
    [
        ({"payload_bytes": 0, "channel": 1, "ack_seq": 1448}, "an ACK of mine (up to byte 1448)"),
        ({"payload_bytes": 0, "tcp_flags": 2}, "a SYN of mine"),
        ({"payload_bytes": 0, "tcp_flags": 17}, "a FIN of mine"),
        ({"payload_bytes": 0, "tcp_flags": 20}, "a RST of mine"),
        ({"payload_bytes": 1472, "protocol": 17}, "a packet of mine (1472 bytes)"),
        ({"payload_bytes": 64, "protocol": 1, "flow": -1}, "a packet of no flow (64 bytes)"),
    ],
)
def test_packets_in_words(values: dict[str, Any], packet: str) -> None:
    channel = "core:reverse" if values.get("channel") else "core:forward"
    text = said("links", **link(5, records.ARRIVED, **values))
    assert text == f"{packet} came out of {channel}"


@pytest.mark.parametrize(
    ("what", "values", "text"),
    [
        (records.CA_STATE, {"before": 1, "value": 3}, "the sender of mine went from Disorder to "
         "Recovery"),
        (records.TCP_STATE, {"before": 2, "value": 1}, "the sender of mine went from SYN_SENT to "
         "ESTABLISHED"),
        (records.RETRANSMIT, {"seq": 10, "end_seq": 20}, "the sender of mine retransmitted bytes "
         "10 to 20"),
        (records.COUNTER, {"name": b"TCPTimeouts", "value": 2}, "TCPTimeouts grew by 2 at the "
         "sender of mine"),
        (records.TIMER, {"value": 1}, "the retransmission timer of the sender of mine ran out"),
        (records.TIMER, {"value": 6}, "the reordering timer of RACK of the sender of mine ran out"),
        (records.TIMER, {"value": 9}, "the timer 9 of the sender of mine ran out"),
        (records.CWND, {"before": 40, "value": 10}, "cwnd of the sender of mine changed by itself "
         "from 40 to 10"),
    ],
)  # fmt: skip
def test_each_event_has_a_sentence(what: int, values: dict[str, Any], text: str) -> None:
    row = event(5, what, cwnd_segments=40, ssthresh_segments=2**31 - 1, **values)
    assert said("events", **row) == f"{text} (cwnd 40, no ssthresh yet)"


def test_a_state_and_a_drop_have_sentences() -> None:
    after = state(5, ack_seq=1448, cwnd_segments=9, ssthresh_segments=7, srtt_us=1500,
                  packets_out_segments=9, sacked_segments=3, lost_out_segments=2,
                  retrans_out_segments=1, ca_state=3)  # fmt: skip
    ending = "cwnd 9, ssthresh 7, SRTT 1.500 ms, 5 segments in flight, state Recovery"
    assert (
        said("acks", **after) == f"after an ACK (up to byte 1448), the sender of mine had {ending}"
    )
    timer = said("acks", **{**after, "by": records.BY_TIMER})
    assert timer == f"after a timer, the sender of mine had {ending}"
    dropped = {"time_ns": 5, "seq": 1448, "payload_bytes": 1448, "name": b"TCP_OFOMERGE"}
    assert said("drops", **dropped) == (
        "a kernel dropped data of mine (bytes 1448 to 2896): TCP_OFOMERGE"
    )


def test_own_variables_of_a_congestion_control_have_their_names() -> None:
    """Those of BBR: its estimate, its least RTT and two gains."""
    info = struct.pack("=QIII", 10**6, 2000, 739, 512).ljust(24, b"\0")
    made = tables(acks=[state(5, info_kind=16, info_bytes=20, info=info), state(6, info=info)])
    known, unknown = (NAMES.traced("acks", made["acks"], at, made["acks"]).values for at in (0, 1))
    assert (known["estimate_bytes_per_s"], known["own_min_rtt_us"]) == (1e6, 2000.0)
    assert known["bbr_cwnd_gain"] == 2.0
    assert "info" not in known
    assert unknown["info"] == "00" * 24, "without get_info it is not compared"


@pytest.mark.parametrize(("member", "is_compared"), [(0, True), (1, True), (3, False), (5, True)])
def test_the_private_state_of_cubic_is_compared_but_for_its_clock(
    member: int, is_compared: bool
) -> None:
    def run(value: int) -> Tables:
        info = struct.pack("=6I", *(value if at == member else 7 for at in range(6)))
        return tables(private=b"cubic", acks=[state(5, info_bytes=24, info=info)])

    one, other = run(1), run(2)
    assert (first_parting(one, other, END_NS) is not None) == is_compared
    values = Names(["mine"], [], {0: b"cubic"}).traced("acks", one["acks"], 0, other["acks"]).values
    assert values["cubic_last_max_cwnd_segments"] == (1 if member == 1 else 7)
    assert "cubic_last_time_jiffies" not in values


def test_an_event_that_differs_in_a_value_is_no_event_of_one_run() -> None:
    twice = [link(5, queue_packets=1), link(5, queue_packets=1)]
    one = tables(links=[*twice, link(6, ecn=1), link(6, seq=1448), link(7)])
    other = tables(links=[*twice, link(6), link(6, seq=2896), link(7, records.REFUSED)])
    other["links"]["queue_packets"][1] = 2
    told = [NAMES.traced("links", one["links"], at, other["links"]) for at in range(5)]
    assert [each.other_values for each in told] == [None, None, {"ecn": 0}, None, None]
    assert "".join(sentences.mark(each) or "=" for each in told) == "==~++"
    back = [NAMES.traced("links", other["links"], at, one["links"]) for at in range(5)]
    assert [each.other_values for each in back[:3]] == [None, {"queue_packets": 1}, {"ecn": 1}]
    assert sentences.other_values(back[1], "a") == "queue_packets 2, in a 1"
    assert sentences.other_values(back[0], "a") == ""


def test_of_many_values_some_are_told() -> None:
    values = dict.fromkeys(("ecn", "queue_packets", "queue_bytes", "frame_bytes", "sojourn_ns"), 1)
    one, other = tables(links=[link(5)]), tables(links=[link(5, **values)])
    said = sentences.other_values(NAMES.traced("links", one["links"], 0, other["links"]), "b")
    assert said.count(" 0, in b 1") == 4
    assert said.endswith("; and 1 values more")


KINDS: dict[str, Any] = {
    "a drop": ("links", link(8, records.REFUSED)),
    "a mark": ("links", link(8, records.MARKED)),
    "a retransmission": ("events", event(8, records.RETRANSMIT, seq=0, end_seq=9)),
    "a recovery": ("events", event(8, records.CA_STATE, value=3)),
    "a state": ("acks", state(8)),
    "a drop of a host": ("drops", {"time_ns": 8, "name": b"TCP_OFOMERGE"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_one_run_has_alone_is_a_difference_in_kind(kind: str) -> None:
    table, row = KINDS[kind]
    one = tables(links=[link(5, queue_packets=1)])
    rows: dict[str, Any] = {"links": [link(5)]}
    rows[table] = [*rows.get(table, []), row]
    other = tables(**rows)
    parting = first_parting(one, other, END_NS)
    assert parting == Parting(5, "links", (0, 0))
    at = len(rows[table]) - 1
    assert first_alone(one, other, 5, END_NS, parting) == Alone(8, table, (None, at))
    assert first_alone(other, one, 5, END_NS, parting) == Alone(8, table, (at, None))
    assert first_alone(one, other, 5, 8, parting) is None
    assert first_alone(one, other, 9, END_NS) is None


def test_other_values_other_steps_and_another_order_are_no_difference_in_kind() -> None:
    pair = [state(6, ack_seq=1448, srtt_us=9), state(6, ack_seq=2896)]
    one = tables(
        links=[link(5), link(7, records.BEGUN)], acks=[*pair, state(9, cwnd_segments=4)],
        events=[event(6, records.CA_STATE, value=3, cwnd_segments=4), event(7, value=1)],
    )  # fmt: skip
    other = tables(links=[link(5, ecn=1)], acks=[*pair[::-1], state(9, cwnd_segments=5)],
                   events=[event(6, records.CA_STATE, value=3)])  # fmt: skip
    assert first_alone(one, other, 0, END_NS) is None


def test_both_runs_can_have_an_event_of_their_own_at_one_time() -> None:
    one, other = (
        tables(acks=[state(6, ack_seq=9), state(6, ack_seq=seq), state(7)]) for seq in (1448, 9)
    )
    assert first_alone(one, other, 0, END_NS) == Alone(6, "acks", (1, 1))


def test_where_the_runs_part_is_not_told_again() -> None:
    one = tables(links=[link(5, records.REFUSED)], acks=[state(5)])
    other = tables(links=[link(5)])
    parting = first_parting(one, other, END_NS)
    assert parting == Parting(5, "links", (0, 0))
    assert first_alone(one, other, 5, END_NS, parting) == Alone(5, "acks", (0, None))


def test_an_event_tells_whether_the_other_run_has_it() -> None:
    one, other = tables(links=[link(5), link(6)]), tables(links=[link(5), link(6, ecn=1)])
    told = [NAMES.traced("links", one["links"], at, other["links"]) for at in (0, 1)]
    assert [each.only_here for each in told] == [False, True]
    assert (told[0].kind, told[0].place, told[0].what, told[0].flow) == (
        "packet", "core:forward", "enqueued", "mine"
    )  # fmt: skip
    assert told[0].values["payload_bytes"] == 1448
