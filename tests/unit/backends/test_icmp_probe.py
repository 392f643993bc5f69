"""What a lab's echoes are timed by."""

from __future__ import annotations

import socket
import time

from orchestrator.testbed.kernel import arrivals, system

_LATE_S = 0.1
_RETRY_TIME_S = 20.0


def test_a_packet_has_come_when_the_kernel_got_it_however_late_it_is_read() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        arrivals.timestamp_arrivals(receiver)
        until = time.monotonic() + _RETRY_TIME_S
        late_ns, number = 0, 0
        # The kernel begins to note arrivals in its own time; until then it says when one is read.
        while late_ns < 0.9 * _LATE_S * 1e9 and time.monotonic() < until:
            number += 1
            sent_ns = system.monotonic_ns()
            sender.sendto(b"%d" % number, receiver.getsockname())
            time.sleep(_LATE_S)
            packet, came_ns = arrivals.receive(receiver)
            late_ns = system.monotonic_ns() - came_ns
            assert packet == b"%d" % number
            assert sent_ns <= came_ns
    assert late_ns >= 0.9 * _LATE_S * 1e9  # clocks may be slewed
