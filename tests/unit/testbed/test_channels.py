"""What is set, bypassed, made anew and counted at the exits of links."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.protocol.links.link import Transmitter
from orchestrator.protocol.numbering import LINK_HANDLE, NETEM_HANDLE, QUEUE_HANDLE
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import channels
from orchestrator.testbed.network.queues import packet_counters, qdisc

LINK = Transmitter(10_000_000, 0.01).qdisc().document()
QUEUE: Any = {"kind": "red", "settings": [], "words": []}
FIFO: Any = {"kind": "pfifo", "settings": [], "words": []}
NETEM: Any = {"kind": "netem", "settings": [], "words": []}


class Recorder:
    """Stands in for a netlink socket: keeps what would be sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bytes, str]] = []
        self.flushed = 0

    def queue(self, kind: int, _flags: int, body: bytes, what: str) -> None:
        self.sent.append((kind, body, what))

    def flush(self) -> None:
        self.flushed = len(self.sent)

    @property
    def what(self) -> list[str]:
        return [what for _kind, _body, what in self.sent]


class Link:
    def __init__(self, number: int, forward: Any, reverse: Any) -> None:
        self.spec = {"forward": forward, "reverse": reverse}
        self._number = number

    def device(self, end: str) -> tuple[str, int]:
        return f"w{self._number}{end}", 100 + 2 * self._number + "ab".index(end)


def channel(link: Any = LINK, queue: Any = None, netem: Any = None) -> Any:
    return {"link": link, "queue": queue, "netem": netem, "policer": None}


class Bed:
    """A network of two links, of which one direction is impaired."""

    def __init__(self) -> None:
        self.wires = Recorder()
        self.links = {
            "x": Link(0, channel(queue=QUEUE, netem=NETEM), channel(queue=FIFO)),
            "y": Link(1, channel(), channel(link=None)),
        }


def test_a_channel_gets_its_link_first_and_then_what_is_below_it() -> None:
    route: Any = Recorder()
    channels.shape(route, channel(queue=QUEUE, netem=NETEM), "w0b", 101)
    assert route.what == ["w0b link", "w0b red", "w0b netem"]
    channels.shape(route, channel(link=None), "w0a", 100)
    assert len(route.sent) == 3


@pytest.mark.parametrize("below", [{"queue": FIFO}, {"netem": NETEM}])
def test_what_needs_a_link_is_refused_without_one(below: dict[str, Any]) -> None:
    route: Any = Recorder()
    with pytest.raises(BuildError, match="w0b has a queue or impairments, and no link"):
        channels.shape(route, channel(link=None, **below), "w0b", 101)


@pytest.mark.parametrize("on", [True, False])
def test_packets_bypass_netems_where_there_are_some(on: bool) -> None:
    bed: Any = Bed()
    channels.bypass_netems(bed, on)
    ((kind, body, what),) = bed.wires.sent
    assert bed.wires.flushed == 1
    assert (kind, what) == (qdisc.RTM_NEWQDISC, "w0b")
    _family, index, handle, parent, _info = qdisc.TCMSG.unpack_from(body)
    assert (index, handle, parent) == (101, LINK_HANDLE, qdisc.TC_H_ROOT)
    options = netlink.parse_attributes(netlink.parse_attributes(body, 20)[qdisc.TCA_OPTIONS])
    assert {number: bytes(data) for number, data in options.items()} == {6: bytes([on])}


def test_queues_that_remember_are_made_anew() -> None:
    bed: Any = Bed()
    channels.reset_queues(bed)
    assert bed.wires.what == ["w0b without queue", "w0b red"]
    assert [kind for kind, _body, _what in bed.wires.sent] == [
        qdisc.RTM_DELQDISC, qdisc.RTM_NEWQDISC,
    ]  # fmt: skip
    assert bed.wires.flushed == 2


def words(packets: int = 0, drops: int = 0, waiting: int = 0) -> tuple[int, ...]:
    """The eight words of a qdisc as qdisc_counters.NamespaceCounters packs them."""
    return (0, 0, packets, drops, 0, 0, 0, waiting)


def counted(exited: int, **qdiscs: tuple[int, ...]) -> dict[str, Any]:
    handles = {"link": LINK_HANDLE, "queue": QUEUE_HANDLE, "netem": NETEM_HANDLE}
    found = {(101, handles[name]): row for name, row in qdiscs.items()}
    entry: Any = {"sent": 0, "entered": 0, "exited": exited, "received": 0}
    packet_counters._add_link(entry, found, 101)
    return {"queue": entry["queue"], "delay": entry["delay"]}


def test_packets_of_a_link_wait_are_on_their_way_or_have_left() -> None:
    # 100 came: 6 were dropped and 5 wait. 89 were transmitted, of which 20 are on their way.
    found = counted(69, link=words(89, drops=6, waiting=25), queue=words(90, drops=6, waiting=5))
    assert found == {"queue": (89, 6, 5), "delay": (69, 0, 20)}


def test_frames_in_a_receive_ring_are_not_on_their_way_and_count_by_themselves() -> None:
    ring = {"ring_delivered": 60, "ring_drops": 4, "ring_frames": 7, "ring_interrupts": 9}
    rows = {"link": words(91, waiting=27), "queue": words(91, waiting=0)}
    found = {(101, {"link": LINK_HANDLE, "queue": QUEUE_HANDLE}[name]): rows[name] for name in rows}
    entry: Any = {"sent": 0, "entered": 0, "exited": 60, "received": 0}
    packet_counters._add_link(entry, found, 101, ring)
    assert (entry["delay"], entry["ring"], entry["interrupts"]) == ((71, 0, 20), (60, 4, 7), 9)


def test_packets_that_netem_drops_were_transmitted() -> None:
    found = counted(
        60,
        link=words(89, waiting=20),
        queue=words(89),
        netem=words(66, drops=3, waiting=20),
    )
    assert found == {"queue": (89, 0, 0), "delay": (66, 3, 20)}


def test_a_link_without_a_rate_holds_no_packet_back() -> None:
    assert counted(7, link=words(9, waiting=2)) == {"queue": (9, 0, 0), "delay": (7, 0, 2)}
