"""Text in the forms of tcpdump, ss and nstat: as the programs themselves print it."""

from __future__ import annotations

import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.model import TCP_INFO_FIELDS
from results.export import export, nstat, ss
from results.store.store import Store
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice
from tests.support.traced_frames import Seen, run_with, trace
from tests.support.traced_senders import RECEIVER, acked, counted, happened, sender_trace

ROOT = Path(__file__).parents[4]
S, D = (bytes((10, 0, 0, 1)), 40000), (bytes((10, 0, 0, 2)), 5001)
"""Addresses and ports of s and d."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def text(run: StoredRun, form: str, place: str | None) -> str:
    path = Path(str(run._path.parent / "out.txt"))
    export(run, form, path, True, TraceChoice(place=place))
    return path.read_text()


def ethernet_and_ip(source: bytes, sink: bytes, protocol: int, size: int, fragment: int) -> bytes:
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + size, 7, fragment, 64, protocol, 0, source, sink
    )
    return bytes(12) + b"\x08\x00" + ip


def segment(
    flags: int, seq: int, ack: int, payload: int = 0, options: bytes = b"", turned: bool = False,
    urgent: int = 0,
) -> bytes:  # fmt: skip
    """The headers of a segment from s to d, or turned."""
    (source, port), (sink, sink_port) = (D, S) if turned else (S, D)
    words = (5 + len(options) // 4) << 4
    tcp = struct.pack(">HHIIBBHHH", port, sink_port, seq, ack, words, flags, 502, 0, urgent)
    size = len(tcp) + len(options) + payload
    return ethernet_and_ip(source, sink, 6, size, 0x4000) + tcp + options


def datagram(payload: int, fragment: int = 0, protocol: int = 17) -> bytes:
    udp = struct.pack(">HHHH", 25003, 5003, 8 + payload, 0)
    return ethernet_and_ip(S[0], D[0], protocol, 8 + payload, fragment) + udp


SYN, FIN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in (1, 0, 2, 3, 4, 5, 6, 7))
STAMPS = bytes((1, 1, 8, 10)) + struct.pack(">II", 11, 12)
SYN_OPTIONS = (
    struct.pack(">BBH", 2, 4, 1460) + bytes((4, 2, 8, 10)) + struct.pack(">II", 11, 0)
    + bytes((1, 3, 3, 7))
)  # fmt: skip
SACKS = bytes((1, 1, 5, 18)) + struct.pack(">IIII", 2001, 3449, 0xFFFFFFF0, 100)

PRINTED = [
    (segment(SYN | ECE | CWR, 2**32 - 1, 0, options=SYN_OPTIONS),
     "Flags [SEW], seq 4294967295, win 502, options [mss 1460,sackOK,TS val 11 ecr 0,nop,wscale 7],"
     " length 0"),
    (segment(SYN | ACK | ECE, 553, 0, turned=True),
     "Flags [S.E], seq 553, ack 0, win 502, length 0"),
    (segment(ACK, 0, 554, options=STAMPS),
     "Flags [.], ack 1, win 502, options [nop,nop,TS val 11 ecr 12], length 0"),
    (segment(ACK | PSH, 0, 554, payload=1448, options=STAMPS),
     "Flags [P.], seq 1:1449, ack 1, win 502, options [nop,nop,TS val 11 ecr 12], length 1448"),
    (segment(ACK, 554, 0, options=SACKS, turned=True),
     "Flags [.], ack 1, win 502, options [nop,nop,sack 2 {2002:3450}{4294967281:101}], length 0"),
    (segment(ACK | CWR | URG, 1448, 554, payload=10, urgent=3),
     "Flags [.UW], seq 1449:1459, ack 1, win 502, urg 3, length 10"),
    (segment(FIN | ACK, 1458, 554), "Flags [F.], seq 1459, ack 1, win 502, length 0"),
    (segment(RST, 1458, 0), "Flags [R], seq 1458, win 502, length 0"),
    (segment(0, 1458, 0, payload=1), "Flags [none], seq 1458:1459, win 502, length 1"),
    (segment(ACK, 1459, 554, options=bytes((1, 0, 0, 0))),
     "Flags [.], ack 1, win 502, options [nop,eol], length 0"),
    (datagram(1472), "UDP, length 1472"),
]  # fmt: skip
"""Frames, and what tcpdump 4.99.3 prints of them, one after the other."""


def size_of_ip(frame: bytes) -> int:
    """The packet's length, which its first bytes tell."""
    return int.from_bytes(frame[16:18], "big") or len(frame) - 14


def seen(frames: Sequence[bytes]) -> list[Seen]:
    """Frames at the host s, one each 1.0005 ms."""
    return [
        Seen(
            1_000_500 * number, records.SENT, content, host=0, frame_bytes=14 + size_of_ip(content)
        )
        for number, content in enumerate(frames)
    ]


def test_frames_are_as_tcpdump_prints_them(store: Store) -> None:
    run = run_with(store, trace(seen([frame for frame, _text in PRINTED])))
    lines = text(run, "tcpdump", "s").splitlines()
    assert lines[1] == f"0.001000 IP 10.0.0.2.5001 > 10.0.0.1.40000: {PRINTED[1][1]}"
    assert [line.partition(": ")[2] for line in lines] == [printed for _frame, printed in PRINTED]


def test_a_conversation_without_its_begin_counts_from_its_first_segment(store: Store) -> None:
    middle = [segment(ACK, 9000, 700, 1448), segment(ACK, 700, 10448, turned=True),
              segment(ACK, 10448, 700, 1448)]  # fmt: skip
    run = run_with(store, trace(seen(middle)))
    assert [line.partition(": ")[2] for line in text(run, "tcpdump", "s").splitlines()] == [
        "Flags [.], seq 9000:10448, ack 700, win 502, length 1448",
        "Flags [.], ack 1448, win 502, length 0",
        "Flags [.], seq 1448:2896, ack 1, win 502, length 1448",
    ]


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (segment(ACK, 1, 1, options=STAMPS)[:60], "cut within its headers: .* --snap 134"),
        (segment(ACK, 1, 1)[:30], "cut within its headers"),
        (datagram(1472, fragment=185), "is a fragment; --format pcapng has it"),
        (datagram(10, protocol=1), "has protocol 1, neither TCP nor UDP"),
        (bytes(12) + b"\x08\x06" + bytes(40), "is not of IPv4"),
        (segment(ACK, 1, 1, options=bytes((77, 4, 0, 0))), "has an option of TCP of kind 77"),
        (segment(ACK, 1, 1, options=bytes((8, 9, 0, 0))), "has options of TCP that are malformed"),
    ],
)
def test_a_frame_without_a_text_is_an_error(store: Store, frame: bytes, error: str) -> None:
    run = run_with(store, trace(seen([datagram(3), frame])))
    with pytest.raises(UsageError, match=rf"the frame at 0\.001000500 s (was )?{error}"):
        text(run, "tcpdump", "s")


@pytest.mark.long
def test_tcpdump_prints_the_same(store: Store, tmp_path: Path) -> None:
    run = run_with(store, trace(seen([frame for frame, _text in PRINTED])))
    ours = text(run, "tcpdump", "all")
    (file,) = export(run, "pcapng", tmp_path / "out.pcapng", choice=TraceChoice(place="all"))
    shown = subprocess.run(
        ["tcpdump", "-nn", "-tt", "-r", file], capture_output=True, text=True, check=True
    )
    assert ours == shown.stdout


def test_states_are_as_ss_prints_them(store: Store) -> None:
    full = acked(
        1_000_000_005, rto_us=204_500, backoff=1, srtt_us=40_183, rttvar_us=15_233, mss_bytes=1448,
        cwnd_segments=11, ssthresh_segments=7, pacing_rate_bytes_per_s=1_032_247,
        delivered_segments=2, delivered_ce_segments=1, packets_out_segments=9,
        retrans_out_segments=1, total_retrans_segments=2, lost_out_segments=3, sacked_segments=4,
        reordering_segments=5, min_rtt_us=40_083, snd_wnd_bytes=67_072,
    )  # fmt: skip
    bare = acked(2, end=RECEIVER, reordering_segments=3, ssthresh_segments=2**31 - 1,
                 pacing_rate_bytes_per_s=2**64 - 1, min_rtt_us=2**32 - 1)  # fmt: skip
    run = run_with(store, sender_trace([bare, full]))
    assert text(run, "ss", "s") == (
        "1.000000005\nESTAB - - 10.0.0.1:40000 10.0.0.2:5001\n"
        "\t cubic rto:204.5 backoff:1 rtt:40.183/15.233 mss:1448 cwnd:11 ssthresh:7 "
        "send 3171092bps pacing_rate 8257976bps delivered:2 delivered_ce:1 unacked:9 retrans:1/2 "
        "lost:3 sacked:4 reordering:5 minrtt:40.083 snd_wnd:67072\n"
    )
    assert text(run, "ss", "d") == (
        "0.000000002\nESTAB - - 10.0.0.2:5001 10.0.0.1:40000\n\t cubic\n"
    )


@pytest.mark.parametrize(
    ("kind", "info", "shown"),
    [
        (9, struct.pack("=HHIII", 1, 1, 512, 3, 4),
         "dctcp:(ce_state:1,alpha:512,ab_ecn:3,ab_tot:4)"),
        (9, struct.pack("=HHIII", 0, 1, 512, 3, 4), "dctcp:fallback_mode"),
        (16, struct.pack("=QIII", 35386, 40083, 739, 0),
         "bbr:(bw:283088bps,mrtt:40.083,pacing_gain:2.88672)"),
    ],
)  # fmt: skip
def test_an_algorithms_own_values_are_as_ss_prints_them(
    store: Store, kind: int, info: bytes, shown: str
) -> None:
    state = acked(1, info_kind=kind, info_bytes=len(info), info=np.void(info.ljust(24, b"\0")),
                  reordering_segments=3)  # fmt: skip
    run = run_with(store, sender_trace([state], congestion="own"))
    assert text(run, "ss", "s").endswith(f"\t own {shown}\n")


def test_the_rate_of_vegas_is_by_its_own_rtt(store: Store) -> None:
    info = np.void(struct.pack("=IIII", 1, 5, 20_000, 10_000).ljust(24, b"\0"))
    state = acked(1, info_kind=3, info_bytes=16, info=info, srtt_us=40_000, mss_bytes=1000,
                  cwnd_segments=10)  # fmt: skip
    run = run_with(store, sender_trace([state]))
    assert " send 4000000bps" in text(run, "ss", "s")


def test_states_of_tcp_are_those_that_were_traced(store: Store) -> None:
    acks = [acked(1, by=records.BY_TIMER), acked(2), acked(4), acked(6, by=records.BY_TIMER)]
    changes = [
        happened(4, records.TCP_STATE, value=8, before=1),
        happened(5, records.TCP_STATE, value=9, before=8),
    ]
    run = run_with(store, sender_trace(acks, changes))
    states = [line.split()[0] for line in text(run, "ss", "s").splitlines()[1::3]]
    assert states == ["ESTAB", "ESTAB", "CLOSE-WAIT", "LAST-ACK"]
    alone = run_with(store, sender_trace([acked(1, by=records.BY_TIMER)]))
    assert text(alone, "ss", "s").splitlines()[1].startswith("ESTAB - - 10.0.0.1:40000")


def test_ss_prints_the_same_of_a_live_connection() -> None:
    """The kernel of this machine tells both: ss, and a program that owns the socket."""
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
        accepted, _address = server.accept()
        with accepted:
            client.sendall(bytes(100_000))
            left = 100_000
            while left:
                left -= len(accepted.recv(left))
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
            port = client.getsockname()[1]
            shown = subprocess.run(
                ["ss", "-tinH", "sport", "=", f":{port}"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            name = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    own = ("srtt_us", "mss_bytes", "cwnd_segments", "ssthresh_segments", "packets_out_segments",
           "lost_out_segments", "retrans_out_segments")  # fmt: skip
    kernels = ("rtt_us", "snd_mss_bytes", "snd_cwnd_segments", "snd_ssthresh_segments",
               "unacked_segments", "lost_segments", "retrans_segments")  # fmt: skip
    known = np.frombuffer(info.ljust(512, b"\0"), list(TCP_INFO_FIELDS), 1)[0]
    row = {key: int(known[key]) for key in known.dtype.names or ()}
    row |= {mine: row[theirs] for mine, theirs in zip(own, kernels, strict=True)}
    printed = list(
        ss.fields(
            name.rstrip(b"\0").decode(), {**row, "info_kind": 0, "info_bytes": 0, "info": b""}
        )
    )
    fields = [field for field in printed if not field.startswith("send ")]
    assert len(fields) >= 8
    theirs = shown.split("\n\t")[1]
    at = -1
    for field in fields:
        found = theirs.find(f" {field}", at + 1)
        assert found > at, (field, theirs)
        at = found


def test_all_fields_are_those_of_ss() -> None:
    """The program has the forms of its fields as texts."""
    content = Path(shutil.which("ss") or "").resolve().read_bytes()
    for form in ("backoff:%u", "retrans:%u/%u", "lost:%u", "sacked:%u", "reordering:%d",
                 "delivered_ce:%u", "unacked:%u", "ssthresh:%d", "minrtt:%g", "rtt:%g/%g",
                 "rto:%g", "send %sbps", "pacing_rate %sbps", "dctcp:fallback_mode",
                 "dctcp:(ce_state:%u,alpha:%u,ab_ecn:%u,ab_tot:%u)", "bbr:(bw:%sbps,mrtt:%g",
                 ",pacing_gain:%g", ",cwnd_gain:%g"):  # fmt: skip
        assert f"{form}\0".encode() in content, form


def test_counters_are_as_nstat_prints_them(store: Store) -> None:
    run = run_with(
        store,
        sender_trace(
            [],
            [
                counted(1, "TCPFullUndo", 2), counted(2, "TCPSackRecovery"), counted(3, "New"),
                counted(4, "TCPFullUndo", 10), counted(5, "TCPRcvQDrop", end=RECEIVER),
                happened(6, records.RETRANSMIT, value=3),
            ],
        ),
    )  # fmt: skip
    assert text(run, "nstat", "s") == (
        "#kernel\n"
        "TcpExtTCPSackRecovery           1                  0.0\n"
        "TcpExtTCPFullUndo               12                 0.0\n"
        "TcpExtNew                       1                  0.0\n"
    )
    assert "TCPRcvQDrop" in text(run, "nstat", "d")


def test_the_form_of_nstat_is_its_own() -> None:
    """Absolute values of this machine, with those that are zero."""
    printed = subprocess.run(["nstat", "-asz"], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("#kernel\n")
    values = dict(re.findall(r"^TcpExt(\S+) +(\d+)", printed, re.M))
    for name in nstat.ORDER:
        assert f"{'TcpExt' + name:<32}{values[name]:<16}{0.0:6.1f}\n" in printed
    assert [name for name in values if name in nstat.ORDER] == list(nstat.ORDER)


def test_all_counters_of_traces_have_a_place() -> None:
    source = (ROOT / "kmods/run_trace_counters.c").read_text()
    assert sorted(re.findall(r'\{ "(\w+)", LINUX_MIB', source)) == sorted(nstat.ORDER)


def test_names_of_a_strangers_trace_cannot_control_a_terminal(store: Store) -> None:
    hostile = sender_trace([acked(1)], [counted(2, "\x1b[2J")], congestion="\x1b[31m\n")
    run = run_with(store, hostile)
    assert "\\x1b[31m\\n" in text(run, "ss", "s")
    assert "TcpExt\\x1b[2J" in text(run, "nstat", "s")
    assert "\x1b" not in text(run, "ss", "s") + text(run, "nstat", "s")


def test_a_trace_in_which_nothing_was_counted_has_no_counter(store: Store) -> None:
    assert text(run_with(store, sender_trace([])), "nstat", "s") == "#kernel\n"


@pytest.mark.parametrize("form", ["ss", "nstat"])
@pytest.mark.parametrize(
    ("place", "error"),
    [
        (None, "--at: name the host whose connections are meant\n  hosts: s, d"),
        ("bottleneck", "--at `bottleneck`: no end of a connection was seen there\n  hosts: s, d"),
    ],
)
def test_a_host_must_be_named(store: Store, form: str, place: str | None, error: str) -> None:
    run = run_with(store, sender_trace([acked(1)]))
    with pytest.raises(UsageError) as refused:
        text(run, form, place)
    assert str(refused.value) == error


@pytest.mark.parametrize("form", ["ss", "nstat"])
@pytest.mark.parametrize(("place", "named"), [(None, "--at"), ("s", "--at `s`")])
def test_a_trace_of_udp_alone_has_no_connection(
    store: Store, form: str, place: str | None, named: str
) -> None:
    traced = sender_trace([])
    without = {**traced.tables, "ends": traced.tables["ends"][:0]}
    run = run_with(store, replace(traced, tables=without))
    with pytest.raises(UsageError) as refused:
        text(run, form, place)
    assert str(refused.value) == f"{named}: the trace has no TCP connection"


@pytest.mark.parametrize(
    ("form", "words", "kind"),
    [("ss", "states after ACKs", "acks"), ("nstat", "events of connections", "tcp")],
)
def test_a_trace_without_what_is_needed_says_how_to_get_it(
    store: Store, form: str, words: str, kind: str
) -> None:
    run = run_with(store, trace(seen([datagram(1)])))
    with pytest.raises(UsageError) as refused:
        text(run, form, "s")
    fix = f"make one: orchestrator zoom {run.id} --window FROM..TO --trace {kind}"
    assert str(refused.value) == f"no trace of run {run.id} has {words}\n  fix: {fix}"
