"""How the bed sets lists of packets to lose, and what it reports when lists follow each other."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.protocol.links import chosen
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.links.link import XSTATS, XSTATS_FIELDS, Transmitter
from orchestrator.protocol.numbering import LINK_HANDLE
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network.chosen_losses import ChosenLosses
from orchestrator.testbed.network.queues import qdisc

NAME = "x:forward"
FIRST = ChosenPackets(((3, 3), (5, 6)), "one", True)
SECOND = ChosenPackets(((1, 9),))


def documents(packets: ChosenPackets, port: int = 0) -> list[Any]:
    return [setting.document() for setting in chosen.settings(packets, port)]


class Kernel:
    """Stands in for sch_link at one interface, and for the netlink socket to it."""

    def __init__(self, knows_lists: bool = True) -> None:
        self.knows_lists = knows_lists
        self.options = b""
        self.numbers: list[int] | None = None
        self._queued: list[bytes] = []

    def queue(self, _kind: int, _flags: int, body: bytes, _what: str) -> None:
        index, handle = struct.unpack_from("=iI", body, 4)
        assert (index, handle) == (101, LINK_HANDLE)
        self._queued.append(netlink.parse_attributes(body, 20)[qdisc.TCA_OPTIONS])

    def flush(self) -> None:
        for options in self._queued:
            if self.knows_lists:
                packets, lost, *earlier = self.numbers or [0, 0, 0, 0]
                self.numbers = [0, 0, earlier[0] + packets, earlier[1] + lost]
                self.options = bytes(options)
        self._queued = []

    def ask(self, kind: int, _body: bytes, _flags: int) -> bytes:
        assert kind == qdisc.RTM_GETQDISC
        data = bytes(16 + qdisc.TCMSG.size)
        if self.numbers is not None:
            before = list(XSTATS_FIELDS).index("losses_packets")
            after = len(XSTATS_FIELDS) - before - len(self.numbers)
            counted = XSTATS.pack(*[0] * before, *self.numbers, *[0] * after)
            statistics = netlink.attribute(4, counted)
            data += netlink.attribute(qdisc.TCA_STATS2, statistics)
        return data

    def passed(self, packets: int, lost: int) -> None:
        assert self.numbers is not None
        self.numbers[0] += packets
        self.numbers[1] += lost


class Link:
    def __init__(self, given: list[Any] | None) -> None:
        link: Any = Transmitter(10_000_000, 0.0).qdisc().document()
        forward = {"link": link, **({} if given is None else {"chosen": given})}
        self.spec = {"forward": forward, "reverse": {"link": None}}

    def device(self, end: str) -> tuple[str, int]:
        return f"w0{end}", 100 + "ab".index(end)


class Bed:
    home_fd = wires_fd = 0

    def __init__(self, given: list[Any] | None) -> None:
        self.links = {"x": Link(given)}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    found = Kernel()

    @contextlib.contextmanager
    def inside(_there: int, _home: int) -> Iterator[None]:
        yield

    monkeypatch.setattr(system, "inside", inside)
    monkeypatch.setattr(netlink, "Netlink", lambda: found)
    monkeypatch.setattr(qdisc, "read", lambda _route: {(101, LINK_HANDLE): ("link", found.options)})
    return found


def made(given: list[Any] | None) -> tuple[ChosenLosses, Any]:
    bed: Any = Bed(given)
    return ChosenLosses(bed), bed.links["x"].spec["forward"]["link"]


def test_a_list_is_set_read_back_and_part_of_the_link_from_then_on(kernel: Kernel) -> None:
    given = documents(FIRST, 5001)
    losses, link = made(given)
    losses.begin()
    assert kernel.options == qdisc.pack(given)
    assert link["settings"][-3:] == given
    kernel.passed(100, 3)
    packed = given[0]["value"]
    assert losses.totals() == {NAME: [(packed, 5001, 1, 100, 3)]}
    losses.end()
    assert qdisc.unpack(given, kernel.options)["lost_packets"] == ""


def test_a_module_without_lists_is_refused(kernel: Kernel) -> None:
    kernel.knows_lists = False
    losses, _link = made(documents(FIRST))
    with pytest.raises(BuildError, match="x:forward: this machine's sch_link cannot lose packets"):
        losses.begin()


def test_a_list_that_the_kernel_changed_is_refused(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {(101, LINK_HANDLE): ("link", qdisc.pack(documents(SECOND)))}
    monkeypatch.setattr(qdisc, "read", lambda _route: other)
    losses, _link = made(documents(FIRST))
    with pytest.raises(BuildError, match="lost_packets is 0100000009000000, requested was 03"):
        losses.begin()


def test_lists_that_follow_each_other_are_counted_apart(kernel: Kernel) -> None:
    """What passes between the request and the reading belongs to the new list."""
    first, second, none = documents(FIRST, 5001), documents(SECOND), documents(chosen.NOTHING)
    losses, _link = made(first)
    losses.begin()
    kernel.passed(100, 3)
    for settings, more in ((second, (2, 2)), (none, (0, 0)), (second, (1, 1))):
        kernel.options = qdisc.pack(settings)
        packets, lost, *earlier = kernel.numbers or []
        kernel.numbers = [0, 0, earlier[0] + packets, earlier[1] + lost]
        kernel.passed(*more)
        losses.note(NAME, settings)
    kernel.passed(10, 8)
    assert [one[-2:] for one in losses.totals()[NAME]] == [(100, 3), (2, 2), (0, 0), (11, 9)]


def test_other_changes_of_a_link_are_no_lists(kernel: Kernel) -> None:
    losses, _link = made(None)
    losses.begin()
    rate: Any = [setting.document() for setting in Transmitter(5, 0.0).qdisc().settings[1:2]]
    losses.note(NAME, rate)
    losses.end()
    assert (losses.totals(), kernel.numbers) == ({}, None)
