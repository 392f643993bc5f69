"""UDP sources and their sinks: packets leave at exact times, with any number of flows.

One thread sends the packets of all flows of the bed, in the order of their times. No thread
receives while traffic runs. The kernel gives each arriving packet a timestamp, and the sampler
reads them when a sample is due.
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import os
import random
import socket
import threading

from orchestrator.protocol.links.frames import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES
from orchestrator.protocol.links.random_quantities import on_periods, poisson_times
from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.timed_send import BATCH, TimedSender
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.inbox import Inbox, overflows
from orchestrator.testbed.traffic.outcomes import ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator

    from orchestrator.protocol.engine_parameters import UdpParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.kernel.timed_send import Packet
    from orchestrator.testbed.traffic import EngineClass, Services

_HEADERS_BYTES = IPV4_BYTES + UDP_BYTES
_SO_SNDBUFFORCE = 32
_LARGEST_BUFFER_BYTES = 1 << 30
_BEFORE_ORIGIN_NS = 1_000_000


def packet_times(
    start_ns: int, end_ns: int, periods: Iterable[tuple[int, int]], frame_bits: int, rate_bps: int
) -> Iterator[int]:
    """Yield the times when packets are due, from ``start_ns`` until before ``end_ns``.

    ``periods`` are (nanoseconds on, nanoseconds off). Packet k is due when the source has been on
    for k frame_bits / rate_bps. So the number of packets depends only on the total time on, and not
    on the lengths of the periods.
    """
    number = on_before_ns = 0
    for on_ns, off_ns in periods:
        while (offset := number * frame_bits * 10**9 // rate_bps - on_before_ns) < on_ns:
            if start_ns + offset >= end_ns:
                return
            yield start_ns + offset
            number += 1
        on_before_ns += on_ns
        start_ns += on_ns + off_ns
        if start_ns >= end_ns:
            return


def random_packet_times(
    generator: random.Random, start_ns: int, end_ns: int, frame_bits: int, rate_bps: int
) -> Iterator[int]:
    """Yield the times of a Poisson process of that mean rate from ``start_ns`` to ``end_ns``."""
    times = poisson_times(generator, frame_bits * 10**9 / rate_bps)
    due = (start_ns + offset_ns for offset_ns in times)
    return itertools.takewhile(lambda time_ns: time_ns < end_ns, due)


class UdpFlow(FlowEngine):
    """Datagrams from ``source`` to ``sink``, evenly spaced while the source is on.

    With exponential gaps the source is always on, and its packets leave at random times. Listed
    packets leave at their own times with their own sizes.

    The source begins with a period that is on. Its last packet is whole, even if that exceeds the
    flow's number of bytes. A payload begins with timed_send.HEADER.
    """

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        self._bed = bed
        self._parameters: UdpParameters = spec["parameters"]
        self._payload_bytes = self._parameters["packet_bytes"] - _HEADERS_BYTES
        self._duration_ns = bed.spec["duration_ns"]
        self._may_be_late_ns = bed.spec.get("late_datagrams_ns", 0)
        sink = (bed.address(spec["sink"]), spec["port"])
        self._receiver: socket.socket | None = None
        self._sender: socket.socket | None = None
        if bed.holds(spec["sink"]):
            with bed.enter(spec["sink"]):
                self._overflows = overflows()
                self._receiver = _pacer().inbox.open(sink)
        if bed.holds(spec["source"]):
            with bed.enter(spec["source"]):
                self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                self._sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _LARGEST_BUFFER_BYTES)
                if ecn_field := self._parameters.get("ecn_field"):
                    self._sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn_field)
                self._sender.bind((bed.address(spec["source"]), spec["client_port"]))
                self._sender.connect(sink)
        self._origin_ns = self._sent = self._last_ns = 0
        self._uncounted_ns: collections.deque[int] = collections.deque()  # due times
        # Payloads of listed packets, and their sums.
        self._sizes = [size - _HEADERS_BYTES for _time_ns, size in self._listed()]
        self._sums = list(itertools.accumulate(self._sizes, initial=0))
        self._arrived = ArrivalCounter(self._sizes)

    def start(self, origin_ns: int) -> None:
        """Add the flow's packets to those of the common thread, which sends all of them."""
        self._origin_ns = origin_ns
        self._arrived.due_ahead_ns = self._bed.clock_ahead_ns(self.spec["source"])
        if self._sender is not None:
            self.outcomes.begins(ONLY, self.spec["start_ns"])
            self.outcomes.connected(ONLY)  # there is no handshake
            _pacer().add(origin_ns, self._packets(self._sender.fileno()))

    def _listed(self) -> list[list[int]]:
        """Return the packets of a source that sends listed ones; of any other, none."""
        return self._parameters.get("packets", [])

    def _packets(self, descriptor: int) -> Iterator[Packet[UdpFlow]]:
        """Yield the flow's packets for TimedSender."""
        times = self._times()
        if self._parameters["bytes"] is not None:
            times = itertools.islice(times, -(-self._parameters["bytes"] // self._payload_bytes))
        sizes = iter(self._sizes) if self._sizes else itertools.repeat(self._payload_bytes)
        for sequence, (time_ns, size_bytes) in enumerate(zip(times, sizes, strict=False)):
            self._uncounted_ns.append(time_ns)
            yield self._origin_ns + time_ns, descriptor, sequence, size_bytes, self

    def finish(self) -> None:
        """Record that the flow ended, if it did not go on until the end of the run."""
        size_bytes = self._parameters["bytes"]
        whole = bool(self._sizes) and self._sent == len(self._sizes)
        if size_bytes is not None:
            whole = self._sent * self._payload_bytes >= size_bytes
        if whole:
            self.outcomes.ended(ONLY, self._last_ns)
        elif self.spec["stop_ns"] is not None:
            self.outcomes.ended(ONLY, self.spec["stop_ns"])
        super().finish()

    def _times(self) -> Iterator[int]:
        """Yield the times when packets are due, as if the number of bytes were unlimited."""
        spec, parameters = self.spec, self._parameters
        start_ns = spec["start_ns"]
        end_ns = self._duration_ns if spec["stop_ns"] is None else spec["stop_ns"]
        if self._sizes:
            due = (start_ns + offset_ns for offset_ns, _size in self._listed())
            return itertools.takewhile(lambda time_ns: time_ns < end_ns, due)
        generator = random.Random(spec["seed"])
        frame_bits = 8 * (parameters["packet_bytes"] + ETHERNET_BYTES)
        rate_bps = parameters["rate_bps"]
        if parameters.get("exponential_gaps"):
            return random_packet_times(generator, start_ns, end_ns, frame_bits, rate_bps)
        periods = on_periods(generator, parameters)
        return packet_times(start_ns, end_ns, periods, frame_bits, rate_bps)

    def failed(self, code: int) -> None:
        """Note that the kernel refused a packet with that errno; the next one is sent anyway.

        The kernel also reports what routers and the sink say of earlier packets. The first such
        error is the flow's outcome, and any other one is a fault of the bed.
        """
        if code in NETWORK_ERRORS:
            now_ns = system.monotonic_ns() - self._origin_ns
            self.outcomes.failed(ONLY, now_ns, code)
        else:
            self.services.problem(f"sender: {os.strerror(code)}")

    def counters(self, time_ns: int) -> tuple[int, ...]:
        """Return records.DATAGRAM_COUNTERS just before ``time_ns`` since the start of traffic."""
        while self._uncounted_ns and self._uncounted_ns[0] < time_ns:
            self._last_ns = self._uncounted_ns.popleft()
            self._sent += 1
        if _pacer().is_late(self._origin_ns + time_ns - self._may_be_late_ns):
            self.services.problem("sender: datagrams leave later than they are due")
        if self._receiver is not None:
            self._arrived.count(_pacer().inbox.read(self._receiver, time_ns))
            if time_ns >= self._duration_ns:
                self._check_overflows()
        sent_bytes = self._sent * self._payload_bytes
        arrived_bytes = self._arrived.packets * self._payload_bytes
        if self._sizes:
            sent_bytes, arrived_bytes = self._sums[self._sent], self._arrived.listed_bytes
        return (
            self._sent,
            sent_bytes,
            self._arrived.packets,
            arrived_bytes,
            *self._arrived.counters(),
        )

    def _check_overflows(self) -> None:
        with self._bed.enter(self.spec["sink"]):
            lost = overflows() - self._overflows
        if lost:
            self.services.problem(
                f"receiver: no room for {lost} datagrams of the time between two samples; "
                "sample TCP more often"
            )


class ArrivalCounter:
    """Counts the packets that arrived at one sink, and their delays.

    A delay lasts from a packet's due time to the kernel's timestamp at its arrival.
    ``due_ahead_ns`` is how far the sink's clock is ahead of the source's clock. ``listed_bytes``
    are those that arrived of packets with the given ``sizes`` by sequence number.
    """

    def __init__(self, sizes: list[int] | None = None) -> None:
        self.packets = self.due_ahead_ns = self.listed_bytes = 0
        self._sizes = sizes or []
        self._seen = bytearray()
        self._reordered = self._duplicates = 0
        self._sum_ns = self._squares_ns2 = self._changes_ns = 0
        self._last_ns: int | None = None
        self._least_ns = self._most_ns = -1

    def count(self, datagrams: Iterable[tuple[int, int, int]]) -> None:
        """Count datagrams given as (sequence number, due ns, arrival ns), in order of arrival."""
        for sequence, due_ns, arrival_ns in datagrams:
            if self._is_new(sequence):
                self.packets += 1
                if self._sizes:
                    self.listed_bytes += self._sizes[sequence]
                self._note_delay(arrival_ns - due_ns - self.due_ahead_ns)

    def _is_new(self, sequence: int) -> bool:
        seen = self._seen
        if sequence >= len(seen):
            seen.extend(bytes(sequence - len(seen)))
            seen.append(1)
            return True
        if seen[sequence]:
            self._duplicates += 1
            return False
        seen[sequence] = 1
        self._reordered += 1
        return True

    def _note_delay(self, delay_ns: int) -> None:
        self._sum_ns += delay_ns
        self._squares_ns2 += delay_ns * delay_ns
        if self._last_ns is not None:
            self._changes_ns += abs(delay_ns - self._last_ns)
        self._last_ns = delay_ns
        if delay_ns > self._most_ns:
            self._most_ns = delay_ns
        if self._least_ns < 0 or delay_ns < self._least_ns:
            self._least_ns = delay_ns

    def counters(self) -> tuple[int, ...]:
        """Return the last eight of DATAGRAM_COUNTERS; extremes are those since the last call."""
        least_ns, most_ns = self._least_ns, self._most_ns
        self._least_ns = self._most_ns = -1
        return (
            len(self._seen),
            self._reordered,
            self._duplicates,
            self._sum_ns,
            self._squares_ns2 // 10**6,
            self._changes_ns,
            least_ns,
            most_ns,
        )


class Pacer:
    """What all UDP flows of a bed share: the thread that sends, and the inbox."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._sender = TimedSender()
        self._flows: list[Iterator[Packet[UdpFlow]]] = []
        self._batch: list[Packet[UdpFlow]] = []

    def add(self, origin_ns: int, packets: Iterator[Packet[UdpFlow]]) -> None:
        """Add one flow's packets; every flow has to be added before sending begins."""
        if not self._flows:
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()
        self._flows.append(packets)

    def is_late(self, now_ns: int) -> bool:
        """Tell whether a packet that was due before ``now_ns`` has not been sent."""
        waiting = self._batch[self._sender.sent_packets() :]
        return bool(waiting) and waiting[0][0] < now_ns

    def _run(self, origin_ns: int) -> None:
        system.Timer().sleep_until(origin_ns - _BEFORE_ORIGIN_NS)
        packets = heapq.merge(*self._flows)
        while True:
            self._batch = list(itertools.islice(packets, BATCH))
            if not self._batch:
                return
            for packet, code in self._sender.send(self._batch):
                packet[4].failed(code)


@functools.cache
def _pacer() -> Pacer:
    """Return the process's only pacer, because a process has only one bed."""
    return Pacer()


ENGINES: dict[str, EngineClass] = {"udp": UdpFlow}
