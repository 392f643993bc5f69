"""What the limit of a receive window sets at a socket, and when."""

from __future__ import annotations

import socket

import pytest

from orchestrator.testbed.traffic.sockets import ReceiveWindow

BUFFER, CLAMP = 33, 10


class Options(socket.socket):
    """A socket that notes the options that are set."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[int, int]] = []

    def setsockopt(self, _level: int, option: int, value: int) -> None:  # type: ignore[override]
        self.noted.append((option, value))


@pytest.mark.parametrize(
    ("size_bytes", "buffer_bytes", "first_bytes", "held_bytes"),
    [
        (1152, 2304, 1152, 1152),
        (1448, 2896, 1448, 1448),
        (2800, 2896, 1448, 1448),
        (2 * 1448, 4 * 1448, 2 * 1448, 2 * 1448),
        (3 * 1448, 6 * 1448, 2 * 1460, 3 * 1448),
        (5 * 1448, 10 * 1448, 5 * 1448 - 2 * 1460, 5 * 1448),
        (1 << 16, 2 << 16, 1 << 16, 1 << 16),
        (1_000_001, 2_000_000, 1_000_000 - 2 * 1460, 1_000_000),
    ],
)
def test_a_window_is_limited_before_and_after_the_first_segment(
    size_bytes: int, buffer_bytes: int, first_bytes: int, held_bytes: int
) -> None:
    window, receiver = ReceiveWindow(size_bytes, 1460, 1448), Options()
    window.prepare(receiver)
    window.hold(receiver)
    assert receiver.noted == [(BUFFER, buffer_bytes), (CLAMP, first_bytes), (CLAMP, held_bytes)]
    receiver.close()


@pytest.mark.parametrize("segments", [1, 2, 3, 4, 5])
def test_only_windows_of_two_to_four_segments_get_a_smaller_buffer(segments: int) -> None:
    window, receiver = ReceiveWindow(segments * 1448, 1460, 1448), Options()
    window.connected(receiver)
    assert receiver.noted == ([(BUFFER, segments * 1750)] if 2 <= segments < 5 else [])
    receiver.close()
