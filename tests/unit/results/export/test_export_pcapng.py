"""Packet captures: what an independent reader finds in their blocks, and what tshark does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from orchestrator import __version__
from orchestrator.cli import commands
from orchestrator.errors import StoreError, UsageError
from orchestrator.protocol.reports.trace_records import BEGUN, ENQUEUED, REFUSED
from orchestrator.recording.trace import HOSTS_DTYPE
from results.export import export
from results.records.links import LinkSummary
from results.store.store import Store
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice
from tests.support.pcapng import Capture, read
from tests.support.recordings import CHANNEL
from tests.support.traced_frames import (
    CE,
    DROPS,
    ECT,
    HEADER_BYTES,
    Seen,
    at_queue,
    frame,
    received,
    run_with,
    sent,
    trace,
)

OUT, IN = 2, 1
RESOLUTION_NS = b"\x09"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def exported(run: StoredRun, place: str | None, number: int | None = None) -> Capture:
    path = Path(str(run._path.parent / "out.pcapng"))
    assert export(run, "pcapng", path, True, TraceChoice(number, place)) == [path]
    return read(path)


def test_a_host_sees_what_it_sends_and_receives(store: Store) -> None:
    late_ns = 5 * 2**32 + 7
    answer = Seen(late_ns, 17, frame(9), host=0, frame_bytes=54)
    run = run_with(store, trace([sent(1000, 1), received(8000, 1), answer], to_ns=2**40))
    capture = exported(run, "s")
    assert [
        (packet.interface, packet.time_ns, packet.number, packet.original_bytes, packet.direction)
        for packet in capture.packets
    ] == [(0, 1000, 1, 1514, OUT), (0, late_ns, 9, 54, IN)]
    assert [packet.captured for packet in capture.packets] == [frame(1), frame(9)]
    assert len(frame(1)) == HEADER_BYTES
    assert capture.section[4].decode() == f"orchestrator {__version__}"
    assert capture.section[1].decode() == (
        f"run {run.id}, digest d1, trace 1 of 0s..1099511627776ns; "
        "times are since the start of traffic"
    )
    assert capture.interfaces == [
        {2: b"s", 3: b"frames that the host sent and received", 9: RESOLUTION_NS}
    ]
    assert [packet.number for packet in exported(run, "d").packets] == [1]


def test_comments_tell_what_a_queue_dropped(store: Store) -> None:
    run = run_with(store, trace(DROPS))
    assert exported(run, "bottleneck:forward:in").seen() == [
        (1, ""),
        (2, "dropped 2 us later, in favour of another packet"),
        (3, "dropped when it came to the queue"),
        (4, "dropped 5 us later, when the queue was asked for a packet"),
    ]
    out = exported(run, "bottleneck:forward:out")
    assert out.seen() == [(1, "")]
    assert out.packets[0].direction == 0


def test_a_frame_that_came_again_is_another_one(store: Store) -> None:
    """What has left the queue is not what it refuses later, though their bytes are the same."""
    steps = [at_queue(1, ENQUEUED, 1), at_queue(1, BEGUN, 1), at_queue(2, REFUSED, 1)]
    capture = exported(run_with(store, trace(steps)), "bottleneck:forward:in")
    assert capture.seen() == [(1, ""), (1, "dropped when it came to the queue")]


def test_a_frame_that_waited_before_the_window_is_seen_where_it_was_dropped(store: Store) -> None:
    run = run_with(store, trace([at_queue(5, BEGUN, 1), at_queue(6, 5, 2), at_queue(7, BEGUN, 3)]))
    assert exported(run, "bottleneck:forward:out").seen() == [(1, ""), (3, "")]
    with pytest.raises(UsageError, match="--at `bottleneck:forward:in`: no frames were seen there"):
        exported(run, "bottleneck:forward:in")


def test_comments_tell_which_queue_marked_with_ce(store: Store) -> None:
    marked = [
        sent(1, 1, ECT), at_queue(2, ENQUEUED, 1, ECT), at_queue(3, BEGUN, 1, CE),
        received(4, 1, CE),
        sent(5, 2, ECT), at_queue(6, ENQUEUED, 2, CE), at_queue(7, BEGUN, 2, CE),
        at_queue(8, BEGUN, 3, CE),
        sent(9, 4, CE), at_queue(10, ENQUEUED, 4, CE),
    ]  # fmt: skip
    run = run_with(store, trace(marked))
    by = "marked with CE by the queue of bottleneck:forward"
    assert exported(run, "s").seen() == [(1, ""), (2, ""), (4, "")]
    # The queue marked frame 1 when it was asked for it, and frame 2 when it came. Where frames 3
    # and 4 were marked is not known.
    assert exported(run, "bottleneck:forward:in").seen() == [(1, ""), (2, by), (4, "")]
    assert exported(run, "bottleneck:forward:out").seen() == [(1, by), (2, by), (3, "")]
    assert exported(run, "d").seen() == [(1, by)]


def test_a_marked_frame_can_be_dropped(store: Store) -> None:
    steps = [sent(1, 1, ECT), at_queue(2, ENQUEUED, 1, CE), at_queue(3_000_002, 5, 1, CE)]
    assert exported(run_with(store, trace(steps)), "bottleneck:forward:in").seen() == [
        (
            1,
            "dropped 3 ms later, when the queue was asked for a packet; "
            "marked with CE by the queue of bottleneck:forward",
        )
    ]


def test_all_places_are_interfaces_of_one_file(store: Store) -> None:
    capture = exported(run_with(store, trace(DROPS)), "all")
    names = [one[2].decode() for one in capture.interfaces]
    assert names == ["s", "d", "bottleneck:forward:in", "bottleneck:forward:out"]
    assert [
        (packet.time_ns, names[packet.interface], packet.number) for packet in capture.packets
    ] == [
        (1000, "s", 1),
        (1500, "bottleneck:forward:in", 1),
        (1500, "bottleneck:forward:out", 1),
        (2000, "s", 2),
        (2500, "bottleneck:forward:in", 2),
        (3000, "s", 3),
        (3500, "bottleneck:forward:in", 3),
        (4000, "s", 4),
        (4500, "bottleneck:forward:in", 4),
        (8000, "d", 1),
    ]
    assert [one[3].decode() for one in capture.interfaces[2:]] == [
        "frames as they come to the queue, with those that it drops",
        "frames as their transmission begins",
    ]


def test_frames_may_be_cut_before_their_headers(store: Store) -> None:
    """``zoom --snap 0`` keeps lengths and times alone."""
    cut = [Seen(1, ENQUEUED, b"", channel=0), Seen(1, BEGUN, frame(1)[:33], channel=0),
           Seen(2, REFUSED, b"", channel=0)]  # fmt: skip
    capture = exported(run_with(store, trace(cut)), "all")
    assert [
        (packet.captured, packet.original_bytes, packet.comments) for packet in capture.packets
    ] == [
        (b"", 1514, []),
        (frame(1)[:33], 1514, []),
        (b"", 1514, ["dropped when it came to the queue"]),
    ]


def test_equal_traces_give_equal_files(store: Store, tmp_path: Path) -> None:
    run = run_with(store, trace(DROPS))
    choice = TraceChoice(place="all")
    first, again = (export(run, "pcapng", tmp_path / name, choice=choice)[0] for name in ("a", "b"))
    assert first.read_bytes() == again.read_bytes()


def test_a_run_that_was_made_again_elsewhere_has_the_name_of_the_stored_one(
    store: Store, tmp_path: Path
) -> None:
    run = run_with(store, trace(DROPS, to_ns=10**9))
    choice = TraceChoice(place="s", of_run="20260101-000000-abcd")
    (path,) = export(run, "pcapng", tmp_path / "again", choice=choice)
    assert read(path).section[1].decode() == (
        "run 20260101-000000-abcd, digest d1, made again with a trace of 0s..1s; "
        "times are since the start of traffic"
    )
    assert run.id.encode() not in path.read_bytes()


def test_the_newest_trace_with_frames_is_taken_unless_one_is_named(store: Store) -> None:
    run = run_with(
        store, trace([sent(1, 1)]), trace([sent(2, 2)]), trace([], kinds=("queue", "tcp"))
    )
    assert exported(run, "s").seen() == [(2, "")]
    assert exported(run, "s", 1).seen() == [(1, "")]


FIX = "  fix: make one: orchestrator zoom {} --window FROM..TO --trace packets"


@pytest.mark.parametrize(
    ("traces", "number", "message"),
    [
        ([], None, "run {} has no trace\n" + FIX),
        ([], 2, "--trace 2: run {} has no such trace; it has none\n" + FIX),
        ([False], None, "no trace of run {} has frames\n" + FIX),
        ([True, False], 3, "--trace 3: run {} has no such trace; it has 1, 2"),
        (
            [True, False], 2,
            "--trace 2: trace 2 of run {} has no frames: it is of queue, tcp\n" + FIX,
        ),
    ],
)  # fmt: skip
def test_a_trace_that_is_not_there_is_named(
    store: Store, traces: list[bool], number: int | None, message: str
) -> None:
    made = [trace(DROPS) if full else trace([], kinds=("queue", "tcp")) for full in traces]
    run = run_with(store, *made)
    with pytest.raises(UsageError) as refused:
        exported(run, "s", number)
    assert str(refused.value) == message.replace("{}", run.id)


@pytest.mark.parametrize(
    ("place", "first"),
    [
        (None, "--at: name the place where the frames were seen"),
        ("bottleneck:reverse:in", "--at `bottleneck:reverse:in`: no frames were seen there"),
        (
            "botleneck:forward:in",
            "--at `botleneck:forward:in`: there is no such place "
            "(did you mean `bottleneck:forward:in`?)",
        ),
        ("", "--at ``: there is no such place"),
    ],
)
def test_a_place_that_is_not_there_is_named_with_those_that_are(
    store: Store, place: str | None, first: str
) -> None:
    run = run_with(store, trace(DROPS))
    with pytest.raises(UsageError) as refused:
        exported(run, place)
    assert str(refused.value).splitlines() == [
        first,
        f"  trace 1 of run {run.id} has frames of",
        "  hosts: s, d",
        "  queues, each with :in or :out: bottleneck:forward",
        "  all: an interface for each of them",
    ]


def test_a_message_names_some_of_many_places(store: Store) -> None:
    hosts = [f"h{number}" for number in range(45)]
    run = run_with(store, trace([Seen(1, 16, frame(1), host=n) for n in range(45)]), hosts=hosts)
    with pytest.raises(UsageError, match=r"h38, h39 and 5 more\n.*: none\n"):
        exported(run, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": 2}, {"host": -2}, {"channel": 0}, {"step": 1}, {"step": 99}, {"offset": -1},
        {"offset": 1}, {"captured_bytes": 2**32 - 1}, {"frame_bytes": 1}, {"time_ns": -1},
    ],
    ids=str,
)  # fmt: skip
def test_rows_that_no_trace_has_are_damage(store: Store, wrong: dict[str, int]) -> None:
    made = trace([sent(1, 1)])
    for name, value in wrong.items():
        made.tables["frames"][name] = value
    with pytest.raises(StoreError, match="a frame is not what a trace has"):
        exported(run_with(store, made), "s")


def test_a_run_whose_hosts_are_not_stored_is_an_error(store: Store) -> None:
    for hosts in (None, ["s", 1]):
        run = run_with(store, trace([sent(1, 1)]), hosts=hosts)
        with pytest.raises(StoreError, match="the names of its hosts are not stored"):
            exported(run, "s")


def test_a_strangers_names_are_made_visible(store: Store) -> None:
    name = "x\x1b]0;title\x07\n" + "y" * 70_000
    link = LinkSummary(name, "a", "b", CHANNEL, CHANNEL)
    run = run_with(store, trace([at_queue(1, ENQUEUED, 1)]), links=(link,))
    (interface,) = exported(run, f"{name}:forward:in").interfaces
    assert interface[2].startswith(rb"x\x1b]0;title\x07\nyyy")
    assert len(interface[2]) < 1100


def orchestrator(tmp_path: Path, *words: str) -> Result:
    return CliRunner().invoke(
        commands, ["export", "last", "--db", str(tmp_path / "runs.db"), *words]
    )


def test_the_command_writes_it(store: Store, tmp_path: Path) -> None:
    run_with(store, trace(DROPS))
    path = tmp_path / "out.pcapng"
    done = orchestrator(tmp_path, "--at", "d", "--trace", "1", "-o", str(path))
    assert (done.exit_code, done.stdout) == (0, f"{path}\n")
    assert read(path).seen() == [(1, "")]
    asked = orchestrator(tmp_path, "-o", str(path), "--force")
    assert asked.exit_code == 2
    assert asked.stderr.startswith("error: --at: name the place where the frames were seen\n")
    assert read(path).seen() == [(1, "")]


LOSSY = np.array([(0, 0, 10**10, 100, 7), (1, 5, 10**10, 50, 0)], HOSTS_DTYPE)
"""s lost some frames, and the capture of d began too late."""


def test_what_captures_lost_is_in_the_file_and_told(store: Store, tmp_path: Path) -> None:
    captured = trace([sent(1000, 1), received(8000, 1)])
    captured.tables["hosts"] = LOSSY
    run = run_with(store, captured)
    assert exported(run, "all").statistics == [(0, 10**10, 100, 7), (1, 10**10, 50, 0)]
    assert exported(run, "d").statistics == [(0, 10**10, 50, 0)]
    said = orchestrator(tmp_path, "--at", "s", "-o", str(tmp_path / "out2.pcapng")).stderr
    lost = "s lost 7 of 100 frames, for which its buffer had no room"
    late = "d was captured in 0.000000005s..10s only"
    assert said == f"incomplete: {lost}\nincomplete: {late}\n"
    shown = CliRunner().invoke(commands, ["show", "last", "--db", str(tmp_path / "runs.db")])
    assert (
        f"trace 1 of 0s..10s: packets\n  incomplete: {lost}\n  incomplete: {late}\n"
    ) in shown.stdout
    told = CliRunner().invoke(
        commands, ["show", "last", "--json", "--db", str(tmp_path / "runs.db")]
    )
    (document,) = json.loads(told.stdout)["runs"][0]["traces"]
    assert document["captured_hosts"] == [
        {"host": "s", "from_ns": 0, "to_ns": 10**10, "frames": 100, "lost_frames": 7},
        {"host": "d", "from_ns": 5, "to_ns": 10**10, "frames": 50, "lost_frames": 0},
    ]


FOR_FORMATS = {
    "--at": "nstat, pcapng, ss, tcpdump",
    "--trace": "nstat, parquet, pcapng, ss, tcpdump",
}


@pytest.mark.parametrize("option", FOR_FORMATS)
def test_other_formats_have_no_places(store: Store, tmp_path: Path, option: str) -> None:
    run_with(store, trace(DROPS))
    done = orchestrator(tmp_path, option, "1", "-o", str(tmp_path / "out.csv"))
    assert done.exit_code == 2
    assert done.stderr == f"error: {option}: it is for --format {FOR_FORMATS[option]}\n"
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.long
def test_tshark_reads_the_same_frames_and_comments(store: Store, tmp_path: Path) -> None:
    run = run_with(store, trace(DROPS))
    (path,) = export(run, "pcapng", tmp_path / "out.pcapng", choice=TraceChoice(place="all"))
    fields = ["frame.time_epoch", "frame.interface_name", "frame.len", "ip.id", "frame.comment"]
    shown = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", *(f"-e{name}" for name in fields)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    names = ["s", "d", "bottleneck:forward:in", "bottleneck:forward:out"]
    assert [line.split("\t") for line in shown.splitlines()] == [
        [f"{packet.time_ns / 1e9:.9f}", names[packet.interface], str(packet.original_bytes),
         f"0x{packet.number:04x}", ",".join(packet.comments)]
        for packet in read(path).packets
    ]  # fmt: skip
