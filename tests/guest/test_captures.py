"""Exported packets of real runs: tshark, tcptrace, tcpdump and the queues' counters agree."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from orchestrator.protocol.reports.trace_records import BY_SEGMENT, RETRANSMIT
from results.store.store import Store
from results.traces.places import SIDES
from tests.support.run import orchestrator

pytestmark = [pytest.mark.guest, pytest.mark.long]

QUEUES = {
    "droptail": "kind: droptail, limit: 50p",
    "fq_codel": "kind: fq_codel, limit: 50p",
    "red": "kind: red, limit: 200p, min: 20p, max: 60p, ecn: true",
}
SCENARIO = """\
version: 1
name: captured
description: A flow with ECN and one without.
duration: 4s
warmup: 1s
topology:
  kind: dumbbell
  bottleneck: {{rate: 20mbit, delay: 10ms, queue: {{{queue}}}}}
  groups:
    - {{name: a, access: {{rate: 100mbit, delay: 5ms}}}}
    - {{name: b, access: {{rate: 100mbit, delay: 5ms}}}}
flows:
  - {{name: marked, group: a, congestion: cubic, traffic: {{kind: bulk}}, tcp: {{ecn: true}}}}
  - {{name: dropped, group: b, congestion: cubic, traffic: {{kind: bulk}}}}
"""
SENDERS = {"a_src0": 0, "b_src0": 1}
"""The flow that each sends."""

ON_ARRIVAL = "dropped when it came to the queue"
IN_FAVOUR = "in favour of another packet"
WHEN_ASKED = "when the queue was asked for a packet"
MARKED = "marked with CE by the queue of bottleneck:forward"

Exported = Callable[..., Path]
Read = Callable[..., list[list[str]]]


@pytest.fixture(scope="module", params=QUEUES)
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run with that queue, and a trace of all of it."""
    folder = tmp_path_factory.mktemp(request.param)
    file, db = folder / f"{request.param}.yaml", folder / "runs.db"
    file.write_text(SCENARIO.format(queue=QUEUES[request.param]))
    for words in (["run", str(file)], ["zoom", "last", "--window", "0s..4s"]):
        made = orchestrator(*words, "--db", str(db))
        assert made.exit_code == 0, made.stderr
    return db


@pytest.fixture
def exported(db: Path, tmp_path: Path) -> Exported:
    """Export the frames of a place, as pcapng or another format, and return the file."""

    def exported(place: str, form: str = "pcapng") -> Path:
        path = tmp_path / f"{place}.{form}"
        made = orchestrator("export", "last", "--db", str(db), "--at", place, "--force",
                            "-o", str(path))  # fmt: skip
        assert made.exit_code == 0, made.stderr
        return path

    return exported


@pytest.fixture
def read(exported: Exported) -> Read:
    """Return fields of those frames of a place that a filter of tshark takes."""

    def read(place: str, fields: Sequence[str], display: str = "frame") -> list[list[str]]:
        path = exported(place)
        # By default tshark counts sequence numbers of a connection from 0 on.
        options = ["-o", "tcp.relative_sequence_numbers:FALSE", "-Y", display, "-T", "fields"]
        shown = subprocess.run(
            ["tshark", "-r", path, *options, *(f"-e{name}" for name in fields)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        return [line.split("\t") for line in shown.splitlines()]

    return read


@pytest.mark.parametrize("host", SENDERS)
def test_tshark_finds_the_retransmissions_that_the_sender_makes(
    db: Path, read: Read, host: str
) -> None:
    """What tshark calls out of order counts, too.

    It calls a segment so that comes again within the RTT of the handshake after a later one. But
    nothing comes out of order at the sender's own interface. An event can be of several segments.
    """
    found = read(
        host, ["frame.time_epoch", "tcp.seq"],
        "tcp.analysis.retransmission || tcp.analysis.out_of_order",
    )  # fmt: skip
    with Store.open_read_only(db) as store:
        trace = store.trace(store.resolve("last"), 1)
    ends, events = trace.tables["ends"], trace.tables["events"]
    (end,) = ends["end"][(ends["flow"] == SENDERS[host]) & (ends["is_sender"] == 1)]
    made = events[(events["end"] == end) & (events["what"] == RETRANSMIT)]
    (mss_bytes,) = {int(mss) for mss in trace.tables["acks"]["mss_bytes"] if mss}
    expected = [
        (time_ns, seq)
        for time_ns, first, last in made[["time_ns", "seq", "end_seq"]].tolist()
        for seq in range(first, last, mss_bytes)
    ]
    assert [(int(time.replace(".", "")), int(seq)) for time, seq in found] == expected
    assert expected or host == "a_src0", "nothing was lost"


@pytest.mark.parametrize("host", SENDERS)
def test_tcptrace_agrees_with_the_kernel(db: Path, exported: Exported, host: str) -> None:
    """docs/traces.md explains where both count something else."""
    shown = subprocess.run(
        ["tcptrace", "-nrl", exported(host)], capture_output=True, text=True, check=True
    ).stdout

    def said(name: str) -> float:
        """What it says of the sender, whose column is the first one."""
        found = re.search(rf"^ +{re.escape(name)}: +([\d.]+) ", shown, re.M)
        # Without ambiguous ACKs it has no line of them.
        assert found or name == "ambiguous acks", name
        return float(found[1]) if found else 0.0

    with Store.open_read_only(db) as store:
        trace = store.trace(store.resolve("last"), 1)
    ends, states = trace.tables["ends"], trace.tables["acks"]
    (end,) = ends["end"][(ends["flow"] == SENDERS[host]) & (ends["is_sender"] == 1)]
    after = states[states["end"] == end]
    assert said("rexmt data pkts") == after["total_retrans_segments"].max()
    acks = after[after["by"] == BY_SEGMENT]
    stays = np.diff(acks["ack_seq"].astype(np.int64)) == 0
    same_window = np.diff(acks["snd_wnd_bytes"].astype(np.int64)) == 0
    # The kernel takes those for duplicates, too, that change the window.
    assert said("duplicate acks") == np.sum(stays & same_window)
    # Its samples are of ACKs that advance and acknowledge no retransmission, and of the SYN.
    advancing = len(acks) - np.sum(stays)
    names = ("RTT samples", "post-loss acks", "ambiguous acks")
    samples, post_loss, ambiguous = (said(name) for name in names)
    assert samples + post_loss + ambiguous == advancing + 1
    # The kernel takes RTTs from SACKs and retransmissions, too. Those of retransmissions are by
    # time stamps, in whole milliseconds.
    rounding_ms, tick_ms = 0.05, 1.0
    least_ms, most_ms = acks["min_rtt_us"].min() / 1000, acks["rtt_us"].max() / 1000
    assert least_ms - rounding_ms <= said("RTT min") <= least_ms + tick_ms + rounding_ms
    assert said("RTT max") <= most_ms + rounding_ms


@pytest.mark.parametrize("host", SENDERS)
def test_tshark_finds_the_duplicate_acks(db: Path, read: Read, host: str) -> None:
    found = read(host, ["tcp.ack"], "tcp.analysis.duplicate_ack")
    with Store.open_read_only(db) as store:
        trace = store.trace(store.resolve("last"), 1)
    ends, states = trace.tables["ends"], trace.tables["acks"]
    (end,) = ends["end"][(ends["flow"] == SENDERS[host]) & (ends["is_sender"] == 1)]
    acks = states[(states["end"] == end) & (states["by"] == BY_SEGMENT)]
    same = [np.diff(acks[name].astype(np.int64)) == 0 for name in ("ack_seq", "snd_wnd_bytes")]
    assert [int(seq) for (seq,) in found] == acks["ack_seq"][1:][same[0] & same[1]].tolist()


@pytest.mark.parametrize("place", [*SENDERS, *(f"bottleneck:forward:{side}" for side in SIDES)])
def test_tcpdump_prints_what_the_text_has(db: Path, exported: Exported, place: str) -> None:
    shown = subprocess.run(
        ["tcpdump", "-nn", "-tt", "-r", exported(place)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    ours = exported(place, "tcpdump").read_text().splitlines()
    assert len(shown) == len(ours) > 1000
    assert [pair for pair in zip(shown, ours, strict=True) if pair[0] != pair[1]] == []


def test_comments_count_what_the_queue_counts(db: Path, read: Read) -> None:
    came, left = (
        read(f"bottleneck:forward:{side}", ["frame.comment", "ip.dsfield.ecn"]) for side in SIDES
    )
    with Store.open_read_only(db) as store:
        run = store.load("last")
        (queue,) = [
            index for index, one in enumerate(run.queues) if one.name == "bottleneck:forward:queue"
        ]
        # What the queue has counted before traffic is of probes of the network.
        columns = run.queue_samples(queue)
        counters = {name: int(column[-1] - column[0]) for name, column in columns.items()}
        names = [name for name, _unit in run.queues[queue].statistics]
        own = {name: counters[f"statistic_{index}"] for index, name in enumerate(names)}
        kind = run.queues[queue].kind
    # "dropped 3 us later, when ..." ends with what is the same for all.
    drops = Counter(text.rpartition(" later, ")[2] for text, _ecn in came if "dropped" in text)
    assert drops.total() == counters["drops"] > 0
    assert len(left) == counters["packets"]
    assert len(came) == len(left) + drops.total() + counters["backlog_packets"]
    marked = [text for text, ecn in left if ecn == "3"]
    assert marked == [MARKED] * own.get("marks", 0)
    if kind == "fq_codel":
        assert drops[IN_FAVOUR] == own["overflow_drops"] > 0
        assert drops[WHEN_ASKED] == drops.total() - drops[IN_FAVOUR] > 0
    else:
        assert set(drops) == {ON_ARRIVAL}
    assert marked or kind == "droptail"


def test_a_receiver_sees_what_has_arrived(read: Read) -> None:
    sent, received = (
        Counter(tuple(line) for line in read(host, ["ip.id", "tcp.seq"], "tcp.dstport == 5002"))
        for host in ("b_src0", "b_dst0")
    )
    assert received <= sent
    assert received.total() > 1000
