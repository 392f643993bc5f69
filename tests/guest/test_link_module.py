"""What sch_link itself promises: attributes, changes during a transmission, statistics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.guest_events import faithful, opened
from tests.support.openloop import Send
from tests.support.openloop import send as send

__all__ = ["send"]

pytestmark = pytest.mark.guest

# A frame of 1250 bytes takes 100 ms at 100 kbit/s.
SLOW = """\
version: 1
name: slow
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 100kbit, delay: 20ms, queue: {limit: 100p}}
  groups: [{name: a, access: {delay: 1ms}}]
flows:
  - {name: one, group: a, stop: 900ms, traffic: {kind: cbr, rate: 10kbit, packet_size: 1236B}}
"""


def delay_of_first_ms(run: Run, db: Path, tmp_path: Path, *events: str) -> float:
    """Return the one-way delay of the datagram that is sent at 0 s."""
    scenario = tmp_path / "slow.yaml"
    text = "".join(f"  - {{link: bottleneck, {event}}}\n" for event in events)
    scenario.write_text(SLOW + (f"events:\n{text}" if text else ""), encoding="utf-8")
    faithful(run(scenario=scenario))
    with Store.open_read_only(db) as store:
        return float(np.nanmax(opened(store).datagrams(0)["delay_max_ns"])) / 1e6


@pytest.mark.parametrize(
    ("events", "expected_ms"),
    [
        ((), 122),
        # Half of the frame is left when the rate doubles: 50 ms become 25 ms.
        (("at: 51ms, rate: 200kbit",), 97),
        # It keeps the delay with which its transmission began,
        (("at: 31ms, delay: 300ms",), 122),
        # also when delay and rate change one after the other, or at once.
        (("at: 31ms, delay: 300ms", "at: 51ms, rate: 200kbit"), 97),
        (("at: 31ms, rate: 200kbit", "at: 51ms, delay: 300ms"), 87),
        (("at: 51ms, delay: 300ms, rate: 200kbit",), 97),
        (("at: 31ms, delay: 2ms", "at: 51ms, rate: 200kbit"), 97),
    ],
)
def test_a_frame_in_transmission_keeps_its_delay(
    run: Run, db: Path, tmp_path: Path, events: tuple[str, ...], expected_ms: float
) -> None:
    assert delay_of_first_ms(run, db, tmp_path, *events) == pytest.approx(expected_ms, abs=0.1)


# The kernel refuses what it does not know or cannot do, and says why.
INVALID = """
import struct
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc

name, index = bed.links["bottleneck"].device("b")

def refused(what, options, nested=True):
    body = qdisc.TCMSG.pack(0, index, qdisc.LINK_HANDLE, qdisc.TC_H_ROOT, 0)
    body += netlink.attribute(qdisc.TCA_KIND, "link")
    flag = netlink.NLA_F_NESTED if nested else 0
    body += netlink.attribute(qdisc.TCA_OPTIONS | flag, options)
    bed.wires.queue(qdisc.RTM_NEWQDISC, netlink.NLM_F_REPLACE, body, what)
    try:
        bed.wires.flush()
    except netlink.NetlinkError as error:
        print("refused", error.errno, error.strerror, flush=True)
    else:
        print("accepted", what, flush=True)

def u64(kind, value):
    return netlink.attribute(kind, struct.pack("=Q", value))

refused("delay", u64(3, 3600 * 10**9))
refused("same delay", u64(3, 20 * 10**6))
refused("long delay", u64(3, 3600 * 10**9 + 1))
refused("endless delay", u64(3, 2**64 - 1))
refused("fast", u64(2, 10**11 + 1))
refused("short", netlink.attribute(2, b"1234"))
refused("unknown", u64(99, 1))
refused("no interval", netlink.attribute(11, bytes([0])))
refused("other model", netlink.attribute(1, struct.pack("=I", 2)))
refused("flat", u64(3, 20 * 10**6), nested=False)
"""


def test_attributes_out_of_range_are_refused(send: Send) -> None:
    passed = send(count=1, before=INVALID)
    lines = [
        line.split(":", 1)[0] if line.startswith("refused") else line
        for line in passed.recording.log.split("\n")
        if line.startswith(("refused ", "accepted "))
    ]
    assert lines == [
        "accepted delay", "accepted same delay",
        "refused 34 long delay", "refused 34 endless delay", "refused 34 fast",
        "refused 22 short", "refused 22 unknown", "refused 34 no interval",
        "refused 93 other model", "refused 22 flat",
    ]  # fmt: skip


# A FIFO is asked for packets late. Nothing arrives for 21 ms, so nothing asks it until then.
LATE = """
import struct, threading
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.machines import GuestMachine
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

name, index = bed.links["bottleneck"].device("b")
with system.inside(bed.wires_fd, bed.home_fd):
    route = netlink.Netlink()

def own_backlog():
    body = qdisc.TCMSG.pack(0, index, qdisc.QUEUE_HANDLE, 0, 0)
    data = route.ask(qdisc.RTM_GETQDISC, body, netlink.NLM_F_ECHO)
    head = 16 + qdisc.TCMSG.size
    places = qdisc_counters.counter_places(data, head, len(data), [qdisc.TCA_STATS2])
    return struct.unpack_from("=I", data, places[7])[0]

def look(origin_ns):
    system.Timer().sleep_until(origin_ns + FIRST_NS + 15_000_000)
    first = own_backlog()
    found = qdisc_counters.link_statistics(route, index)
    now = qdisc_counters.QueueCounters(route, index, qdisc.QUEUE_HANDLE).sample()
    waiting = struct.unpack("<8I", now)[7]
    print("looked", first, found["queue_qlen"], waiting, own_backlog(), flush=True)

before_look = GuestMachine.origin_ns

def origin_with_look(machine):
    origin_ns = before_look(machine)
    threading.Thread(target=look, args=(origin_ns,), daemon=True).start()
    return origin_ns

GuestMachine.origin_ns = origin_with_look
"""


def test_reading_moves_no_packet_and_has_the_numbers_of_now(send: Send) -> None:
    """100 datagrams of 58 bytes come in 10 ms; at 100 kbit/s one takes 4.64 ms."""
    passed = send("rate=100kbit", count=100, before=LATE)
    (line,) = [one for one in passed.recording.log.split("\n") if one.startswith("looked ")]
    first, now, sampled, again = map(int, line.split()[1:])
    # They come from 1 ms to 11 ms; transmissions begin at 1, 5.64, 10.28 and 14.92 ms.
    assert (first, now, sampled, again) == (97, 96, 96, 97)


DROPS = """
import struct, threading
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.machines import GuestMachine
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

name, index = bed.links["bottleneck"].device("b")
with system.inside(bed.wires_fd, bed.home_fd):
    route = netlink.Netlink()

def drops(handle):
    data = route.ask(qdisc.RTM_GETQDISC, qdisc.TCMSG.pack(0, index, handle, 0, 0),
                     netlink.NLM_F_ECHO)
    head = 16 + qdisc.TCMSG.size
    places = qdisc_counters.counter_places(data, head, len(data), [qdisc.TCA_STATS2])
    return struct.unpack_from("=I", data, places[3])[0]

def look(origin_ns):
    system.Timer().sleep_until(origin_ns + 1_000_000_000)
    line = qdisc_counters.link_statistics(route, index)["line_drops"]
    link, queue, netem = map(drops, (qdisc.LINK_HANDLE, qdisc.QUEUE_HANDLE, qdisc.NETEM_HANDLE))
    print("looked", link - queue, netem, line, flush=True)

before_look = GuestMachine.origin_ns

def origin_with_look(machine):
    origin_ns = before_look(machine)
    threading.Thread(target=look, args=(origin_ns,), daemon=True).start()
    return origin_ns

GuestMachine.origin_ns = origin_with_look
"""


def test_packets_lost_by_their_numbers_are_drops_of_the_link(send: Send) -> None:
    loss = "loss={forward: {kind: list, packets: [1, 10, 20-25]}, reverse: 0}"
    passed = send(loss, count=2000, before=DROPS)
    (line,) = [one for one in passed.recording.log.split("\n") if one.startswith("looked ")]
    assert list(map(int, line.split()[1:])) == [8, 0, 8]
    assert passed.recording.verdict == "faithful"
