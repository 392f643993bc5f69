"""UDP sources and their sinks: packets at exact times, however many flows there are.

One thread sends for all flows of the bed, in the order of time. Nothing receives while traffic
runs: the kernel stamps what arrives, and it is taken when a sample is due.
"""

import collections
import functools
import heapq
import itertools
import os
import random
import socket
import threading

from orchestrator.protocol.frames import ETHERNET_BYTES, IPV4_BYTES, UDP_BYTES
from orchestrator.protocol.random_quantities import on_periods
from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.inbox import Inbox, overflows
from orchestrator.testbed.traffic.timed_send import BATCH, TimedSender

_HEADERS_BYTES = IPV4_BYTES + UDP_BYTES
_SO_SNDBUFFORCE = 32
_LARGEST_BUFFER_BYTES = 1 << 30
_BEFORE_ORIGIN_NS = 1_000_000


def packet_times(start_ns, end_ns, periods, frame_bits, rate_bps):
    """Yield when packets are due, from ``start_ns`` to before ``end_ns``, to the nanosecond.

    Packet k is due once the source has been on for k frame_bits / rate_bps: over periods of
    whatever lengths, as many packets are sent as the rate allows in the time that was on.
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


class UdpFlow:
    """Datagrams from ``source`` to ``sink``, evenly spaced while the source is on.

    Parameters: "rate_bps" on the link layer while on; "packet_bytes" of IP; "bytes" of payload in
    all, sent in whole packets, or None; "on" and "off", the lengths of such periods in ns (see
    random_quantities.py), of which the first is on, or None for always on. A payload begins with
    timedsend.HEADER.
    """

    def __init__(self, bed, spec, services):
        self.spec = spec
        self._bed, self._services, self._parameters = bed, services, spec["parameters"]
        self._payload_bytes = self._parameters["packet_bytes"] - _HEADERS_BYTES
        self._duration_ns = bed.spec["duration_ns"]
        self._may_be_late_ns = bed.spec.get("late_datagrams_ns", 0)
        sink = (bed.address(spec["sink"]), spec["port"])
        self._receiver = self._sender = None
        if bed.holds(spec["sink"]):
            with bed.enter(spec["sink"]):
                self._overflows = overflows()
                self._receiver = _pacer().inbox.open(sink)
        if bed.holds(spec["source"]):
            with bed.enter(spec["source"]):
                self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                self._sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _LARGEST_BUFFER_BYTES)
                self._sender.bind((bed.address(spec["source"]), spec["client_port"]))
                self._sender.connect(sink)
        self._origin_ns = self._sent = 0
        self._ahead = collections.deque()
        self._arrived = Arrived()

    def start(self, origin_ns):
        """Hand the flow to the common thread, which sends from its start time on."""
        self._origin_ns = origin_ns
        self._arrived.due_ahead_ns = self._bed.clock_ahead_ns(self.spec["source"])
        if self._sender is not None:
            _pacer().add(origin_ns, self._packets(self._sender.fileno()))

    def stop(self):
        """Do nothing: when the last packet is due was known from the beginning."""

    def _packets(self, descriptor):
        """Yield of each packet what TimedSender takes, with this flow."""
        spec, parameters = self.spec, self._parameters
        end_ns = self._duration_ns if spec["stop_ns"] is None else spec["stop_ns"]
        periods = on_periods(random.Random(spec["seed"]), parameters)
        frame_bits = 8 * (parameters["packet_bytes"] + ETHERNET_BYTES)
        times = packet_times(spec["start_ns"], end_ns, periods, frame_bits, parameters["rate_bps"])
        if parameters["bytes"] is not None:
            times = itertools.islice(times, -(-parameters["bytes"] // self._payload_bytes))
        for sequence, time_ns in enumerate(times):
            self._ahead.append(time_ns)
            yield self._origin_ns + time_ns, descriptor, sequence, self._payload_bytes, self

    def failed(self, code):
        """Say that the kernel did not take a packet."""
        self._services.problem(f"sender: {os.strerror(code)}")

    def counters(self, time_ns):
        """Return records.DATAGRAM_COUNTERS at ``time_ns``: packets due then are not counted yet."""
        while self._ahead and self._ahead[0] < time_ns:
            self._ahead.popleft()
            self._sent += 1
        if _pacer().is_late(self._origin_ns + time_ns - self._may_be_late_ns):
            self._services.problem("sender: datagrams leave later than they are due")
        if self._receiver is not None:
            self._arrived.take(_pacer().inbox.take(self._receiver, time_ns))
            if time_ns >= self._duration_ns:
                self._check_room()
        return (
            self._sent,
            self._sent * self._payload_bytes,
            self._arrived.packets,
            self._arrived.packets * self._payload_bytes,
            *self._arrived.counters(),
        )

    def _check_room(self):
        with self._bed.enter(self.spec["sink"]):
            lacking = overflows() - self._overflows
        if lacking:
            self._services.problem(
                f"receiver: no room for {lacking} datagrams of the time between two samples; "
                "sample TCP more often"
            )


class Arrived:
    """What came to one sink; delays are from when a packet was due to the kernel's stamp.

    ``due_ahead_ns`` is how far the sink's clock is ahead of that by which packets are due.
    """

    def __init__(self):
        self.packets = self.due_ahead_ns = 0
        self._seen = bytearray()
        self._reordered = self._duplicates = 0
        self._sum_ns = self._squares_ns2 = self._changes_ns = 0
        self._last_ns = None
        self._least_ns = self._most_ns = -1

    def take(self, datagrams):
        """Count datagrams given as (sequence number, due ns, arrived ns), in order of arrival."""
        for sequence, due_ns, arrived_ns in datagrams:
            if self._is_new(sequence):
                self.packets += 1
                self._note_delay(arrived_ns - due_ns - self.due_ahead_ns)

    def _is_new(self, sequence):
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

    def _note_delay(self, delay_ns):
        self._sum_ns += delay_ns
        self._squares_ns2 += delay_ns * delay_ns
        if self._last_ns is not None:
            self._changes_ns += abs(delay_ns - self._last_ns)
        self._last_ns = delay_ns
        if delay_ns > self._most_ns:
            self._most_ns = delay_ns
        if self._least_ns < 0 or delay_ns < self._least_ns:
            self._least_ns = delay_ns

    def counters(self):
        """Return the counters behind the bytes; the extremes begin anew."""
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
    """What the flows of a bed have in common: the thread that sends, and the inbox."""

    def __init__(self):
        self.inbox = Inbox()
        self._sender = TimedSender()
        self._flows = []
        self._batch = []

    def add(self, origin_ns, packets):
        """Take one flow's packets; all flows come before ``origin_ns``, when sending begins."""
        if not self._flows:
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()
        self._flows.append(packets)

    def is_late(self, now_ns):
        """Tell whether a packet that was due before ``now_ns`` has not been sent."""
        waiting = self._batch[self._sender.gone() :]
        return bool(waiting) and waiting[0][0] < now_ns

    def _run(self, origin_ns):
        system.Timer().sleep_until(origin_ns - _BEFORE_ORIGIN_NS)
        packets = heapq.merge(*self._flows)
        while True:
            self._batch = list(itertools.islice(packets, BATCH))
            if not self._batch:
                return
            for packet, code in self._sender.send(self._batch):
                packet[-1].failed(code)


@functools.cache
def _pacer():
    """Return the one of this process, which has one bed."""
    return Pacer()


ENGINES = {"udp": UdpFlow}
