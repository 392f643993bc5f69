"""What a lab's echoes are timed by."""

from __future__ import annotations

import socket
import time

from orchestrator.testbed import system
from orchestrator.testbed.lab import trip


def test_a_packet_has_come_when_the_kernel_got_it_however_late_it_is_read() -> None:
    late_s = 0.2
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        trip.ask_for_arrivals(receiver)
        # Until the first few have come, the kernel may take the time when one is read.
        for number in range(20):
            sent_ns = system.monotonic_ns()
            sender.sendto(bytes([number]), receiver.getsockname())
            if number == 19:
                time.sleep(late_s)
            packet, came_ns = trip.receive(receiver)
            read_ns = system.monotonic_ns()
            assert packet == bytes([number])
            assert sent_ns <= came_ns <= read_ns
    assert read_ns - came_ns > 0.9 * late_s * 1e9  # clocks may be slewed
