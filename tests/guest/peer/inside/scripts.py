"""What the peer does in each case. The assertions are in tests/guest/test_tcp_states.py."""

from __future__ import annotations

import mmap
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from .connection import Connection

MSS = 1460

START_US = 1_000_000
"""When the application begins to write."""

# ACKs as (time since the last, segments). Seven segments arrive in 17.5 ms, 40 in a base round
# trip, as unevenly as delayed and compressed ACKs come. Later the path is slower by a fifth.
_ACKS = ((1_500, 1), (6_000, 2), (5_000, 3), (5_000, 1))
_SLOWER = tuple((gap_us * 6 // 5, count) for gap_us, count in _ACKS)
_EVEN_US = 3_000
_DELAYED_ACK_US = 40_000  # a receiver that waits for a second segment (TCP_DELACK_MIN)
_WARM_UP_ACKS = 44
_FEW = 200  # segments: little more than a warm-up takes
_TIMEOUT_US = 10_000_000


def _warm_up(c: Connection, segments: int = 1200) -> None:
    """Bring TCP into congestion avoidance at some 40 segments, with something to estimate."""
    c.until(START_US)
    c.write(bytes(segments * MSS))
    for acks in (_ACKS, _SLOWER):
        for gap_us, count in islice(cycle(acks), _WARM_UP_ACKS):
            c.deliver(count, gap_us)
    c.mark("warm")


def first_window(c: Connection) -> None:
    """A window is sent; then its segments are acknowledged one by one."""
    c.until(START_US)
    c.write(bytes(1200 * MSS))
    c.until(START_US + c.rtt_us - 1)
    c.state()
    c.mark("sent")
    for _ in range(400):
        c.deliver(1, _EVEN_US)


def _three_duplicates(c: Connection, name: str, gap_us: int = _EVEN_US) -> int:
    """Let three segments arrive behind a hole; return the recovery point."""
    for number in (1, 2, 3):
        point = c.sent
        c.deliver(1, gap_us)
        c.mark(f"{name} {number}")
    return point


def _until_acked(c: Connection, point: int) -> None:
    while c.acked < point:
        c.deliver(1, _EVEN_US)


def loss(c: Connection) -> None:
    """A real loss and its recovery; then one that was none, shown by a DSACK."""
    _warm_up(c)
    c.lose()
    _until_acked(c, _three_duplicates(c, "duplicate"))
    c.mark("recovered")
    _until_acked(c, c.sent)
    c.mark("before")
    late = c.lose()
    _three_duplicates(c, "spurious")
    c.arrive_late(late)
    while not c.duplicates:
        c.deliver(1, _EVEN_US)
    c.mark("undone")


def losses(c: Connection) -> None:
    """Two of three segments of a window are lost, so that little is in flight; then recovery."""
    _warm_up(c)
    for _ in range(len(c.on_the_way) // 3):
        c.lose()
        c.lose()
        c.deliver(1, _EVEN_US)
    _until_acked(c, c.sent)
    c.mark("recovered")


def quiet_loss(c: Connection) -> None:
    """One ACK shows losses and no more follows, so that RACK's timer finds them."""
    _warm_up(c)
    for _ in range(4):
        c.lose()
    c.deliver(1)
    c.until(c.now_us + c.rtt_us // 2)
    c.mark("found")
    _until_acked(c, c.sent)
    c.mark("recovered")


def short_recovery(c: Connection) -> None:
    """One ACK ends a recovery that had sent little yet."""
    _warm_up(c)
    c.lose()
    _three_duplicates(c, "duplicate")
    c.deliver(len(c.on_the_way))
    c.mark("recovered")


def plain_loss(c: Connection) -> None:
    """A real loss and its recovery."""
    _warm_up(c)
    c.lose()
    _until_acked(c, _three_duplicates(c, "duplicate"))
    c.mark("recovered")


def responses(c: Connection) -> None:
    """Three responses of three segments, whose last is acknowledged late; then much data."""
    c.until(START_US // 4)
    for _ in range(3):
        c.write(bytes(3 * MSS))
        c.deliver(2)
        c.deliver(1, _DELAYED_ACK_US)
        c.until(c.now_us + 100_000)
    c.mark("responded")
    _warm_up(c)


def requests(c: Connection) -> None:
    """Responses in a single flight each; then the peer asks for the next when all has arrived."""
    c.until(START_US // 4)
    for _ in range(2):
        c.write(bytes(12 * MSS))
        c.deliver(6)
        c.deliver(6, _EVEN_US)
        c.until(c.now_us + 2 * c.rtt_us)
        c.ack(c.acked)
    c.mark("asked")
    _warm_up(c)


def short_segments(c: Connection) -> None:
    """Each write is a segment of a quarter of the MSS."""
    c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.until(START_US)
    for _ in range(_FEW):
        c.write(bytes(MSS // 4), socket.MSG_EOR)
    for gap_us, count in islice(cycle(_ACKS), 24):
        c.deliver(count, gap_us)
    c.mark("short")


def eifel(c: Connection) -> None:
    """A loss that was none, shown by the timestamp of the first transmission."""
    _warm_up(c)
    c.mark("before")
    late = c.lose()
    _three_duplicates(c, "spurious")
    c.arrive_late(late)
    c.mark("undone")


def timeout(c: Connection) -> None:
    """Everything in flight is lost: retransmission timeout and slow start."""
    _warm_up(c)
    c.on_the_way.clear()
    point = c.sent
    c.wait_for_timeout(_TIMEOUT_US)
    c.mark("timeout")
    _until_acked(c, point)
    c.mark("recovered")


def spurious_timeout(c: Connection) -> None:
    """Silence until the timeout, then everything arrives after all (F-RTO, RFC 5682)."""
    _warm_up(c)
    c.mark("before")
    c.wait_for_timeout(_TIMEOUT_US)
    c.mark("timeout")
    c.deliver(1)
    c.deliver(1)
    c.mark("undone")


def _small_window(c: Connection) -> None:
    """Come to a window far below what the path could carry, by a timeout before."""
    _warm_up(c, _FEW)
    while len(c.on_the_way) > 4 or c.sent < _FEW * MSS:
        c.deliver(1, _EVEN_US)
    c.on_the_way.clear()
    point = c.sent
    c.wait_for_timeout(_TIMEOUT_US)
    _until_acked(c, point)
    c.write(bytes(_FEW * MSS))
    c.mark("small")
    while len(c.on_the_way) < 8:
        c.deliver(1, _EVEN_US)


def small_window(c: Connection) -> None:
    """A loss at a small window; the retransmission overtakes what was in flight.

    So recovery has several ACKs that advance. They make PRR grow the window towards ssthresh.
    """
    _small_window(c)
    hole = c.lose()
    point = _three_duplicates(c, "duplicate")
    again = c.hold_again(hole)
    c.until(max(c.now_us, again.time_us + c.rtt_us))
    c.arrive_late(again)
    _until_acked(c, point)
    c.mark("recovered")


def small_window_mark(c: Connection) -> None:
    """A router marks a packet at a small window: every ACK of the reduction advances."""
    _small_window(c)
    point = c.sent
    c.deliver(1, _EVEN_US, marked=True)
    c.mark("mark")
    _until_acked(c, point + MSS)
    c.mark("recovered")


def timeout_in_recovery(c: Connection) -> None:
    """A loss at a small window, and then everything is lost."""
    _small_window(c)
    c.lose()
    point = _three_duplicates(c, "duplicate")
    c.on_the_way.clear()
    c.wait_for_timeout(_TIMEOUT_US)
    c.mark("timeout")
    _until_acked(c, point)
    c.mark("recovered")


def climbs(c: Connection) -> None:
    """Two losses at the same whole segments, the second before the first's fraction; a third later.

    The first comes half a round trip after the window grew by a segment, the second at once.
    """
    _warm_up(c)
    _climb_to(c, c.window + 1)
    for _ in range(c.window // 2):
        c.deliver(1, _EVEN_US)
    first = c.window
    c.lose()
    _until_acked(c, _three_duplicates(c, "first"))
    _climb_to(c, first)
    c.lose()
    _until_acked(c, _three_duplicates(c, "second"))
    c.mark("begun")
    _until_acked(c, c.sent + MSS)
    c.mark("a round trip later")
    _climb_to(c, first + 2)
    c.mark("climbed")
    c.lose()
    _three_duplicates(c, "third")


def _climb_to(c: Connection, window: int) -> None:
    while c.window < window:
        c.deliver(1, _EVEN_US)


def ecn(c: Connection) -> None:
    """Routers mark twice, a window apart; nothing is lost."""
    _warm_up(c)
    for name in ("first", "second"):
        point = c.sent
        c.deliver(1, _EVEN_US, marked=True)
        c.mark(f"{name} mark")
        # CWR is held until something above the recovery point is acknowledged.
        _until_acked(c, point + MSS)
        c.mark(f"{name} reduced")
        _until_acked(c, c.sent)


def idle(c: Connection) -> None:
    """A single segment; after a pause much data; after a longer one one segment every 20 ms."""
    c.until(START_US // 4)
    c.write(bytes(MSS))
    c.deliver(1)
    _warm_up(c, _FEW)
    _until_acked(c, (1 + _FEW) * MSS)
    c.mark("before")
    c.until(c.now_us + 2_000_000)
    c.write(bytes(_FEW * MSS))
    c.mark("restarted")
    _until_acked(c, (1 + 2 * _FEW) * MSS)
    c.mark("trickle")
    for _ in range(25):
        c.until(c.now_us + 20_000)
        c.write(bytes(MSS))
        if c.on_the_way[0].time_us + c.rtt_us <= c.now_us:
            c.deliver(1)
    c.mark("trickled")


def long_pause(c: Connection) -> None:
    """The window grows far beyond the first one; then comes a pause of several timeouts."""
    c.until(START_US)
    for _ in range(2):
        c.write(bytes(3 * _FEW * MSS))
        while c.on_the_way:
            c.deliver(1, _EVEN_US // 10)
        c.mark("all arrived")
        c.until(c.now_us + 3_000_000)


def whole_windows(c: Connection) -> None:
    """Each ACK acknowledges all that is in flight, as a receiver that aggregates does."""
    c.until(START_US)
    c.write(bytes(1200 * MSS))
    for _ in range(8):
        c.deliver(len(c.on_the_way))
    c.mark("aggregated")


_LARGE = 518_000
_STRETCH, _STRETCH_US = 5_000, 7_200  # a window takes 748 ms, a fourth more than the base RTT
_AREA = mmap.mmap(-1, 2**26)
_MSG_ZEROCOPY, _SO_ZEROCOPY = 0x4000000, 60


def _supply(c: Connection, windows: int) -> None:
    """Let the application hand over so many windows of data, by reference."""
    left = windows * _LARGE * c.mss
    while left:
        now = min(left, len(_AREA))
        c.write(memoryview(_AREA)[:now], _MSG_ZEROCOPY)
        left -= now


def _window_of_acks(c: Connection) -> None:
    """Acknowledge a large window: a hundred ACKs of one segment, the rest by stretch ACKs."""
    for _ in range(100):
        c.deliver(1, 10)
    left = _LARGE - 100
    while left:
        now = min(left, _STRETCH)
        c.deliver(now, _STRETCH_US)
        left -= now


def large_window(c: Connection) -> None:
    """Round trips at a window of 518 000 segments and 600 ms, a loss there, round trips after."""
    c.socket.setsockopt(socket.SOL_SOCKET, _SO_ZEROCOPY, 1)
    c.until(START_US)
    _supply(c, 3)
    c.mark("begin")
    for name in ("first", "second"):
        _window_of_acks(c)
        _supply(c, 1)
        c.mark(name)
    c.deliver(_STRETCH)
    hole = c.lose()
    point = _three_duplicates(c, "duplicate", 10)
    again = c.hold_again(hole)
    while c.on_the_way[0].sequence < point:
        c.deliver(min(_STRETCH, (point - c.on_the_way[0].sequence) // c.mss), 1_000)
    c.until(again.time_us + c.rtt_us)
    c.arrive_late(again)
    c.mark("recovered")
    for _ in range(40):
        c.deliver(_STRETCH, _STRETCH_US)
    c.mark("climbed")


def in_use(c: Connection, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Go on while something else happens."""
    _warm_up(c)
    meanwhile()
    _until_acked(c, c.sent)
    c.mark("went on")


@dataclass(frozen=True)
class Case:
    """A script and the connection it drives."""

    script: Callable[[Connection], None]
    options: dict[str, Any] = field(default_factory=dict)
    interface: str = "single"
    peer: str = "10.0.1.1"


_LARGE_OPTIONS = {"mss": 512, "rtt_us": 600_000, "captured": False}

CASES = {
    "first window": Case(first_window),
    "loss": Case(loss),
    "losses": Case(losses),
    "quiet loss": Case(quiet_loss),
    "short recovery": Case(short_recovery),
    "no SACK": Case(plain_loss, {"sack": False}),
    "responses": Case(responses, peer="10.0.1.2"),
    "requests": Case(requests),
    "short segments": Case(short_segments),
    "quick handshake": Case(plain_loss, {"handshake_us": 60_000}),
    "eifel": Case(eifel, {"timestamps": True}),
    "timeout": Case(timeout),
    "spurious timeout": Case(spurious_timeout),
    "small window": Case(small_window),
    "small window mark": Case(small_window_mark, {"ecn": True}),
    "timeout in recovery": Case(timeout_in_recovery),
    "climbs": Case(climbs),
    "ecn": Case(ecn, {"ecn": True}),
    "idle": Case(idle),
    "long pause": Case(long_pause),
    "whole windows": Case(whole_windows),
    "large window": Case(large_window, _LARGE_OPTIONS, "pieces", "10.0.2.1"),
}
