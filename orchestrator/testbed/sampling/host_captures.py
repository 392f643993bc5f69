"""Captures frames at hosts of a real machine, without work for each frame while traffic runs.

The kernel puts frames into a ring buffer for each host, which is read when traffic has ended. What
a full buffer loses is counted. A filter keeps frames out that come outside the window.
"""

from __future__ import annotations

import threading

from orchestrator.protocol.reports.trace_records import (
    FRAME,
    FRAME_BODY,
    HEAD,
    RECEIVED,
    SENT,
)
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import system
from orchestrator.testbed.sampling.packet_capture import PacketCapture, place_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Sequence

    from orchestrator.protocol.specification import CaptureSpec
    from orchestrator.testbed.sampling.records import Records
    from orchestrator.testbed.sampling.trace import CapturedHost

_BLOCK_BYTES = 1 << 16
_EARLY_NS = 20_000_000
"""The filters are opened so much before the window, and closed so much after it."""
_MOST_STEP_NS = 1_000_000
"""A wall clock that differs from the monotonic one by so much more at the end was set meanwhile."""
_ALIGNED = 8
_MANY = 1 << 12


class HostCaptures:
    """The captures of one run.

    Args:
        capture: what is asked for. Its limit is shared evenly by the hosts.
        hosts: those whose frames are captured.
        home_fd: the namespace of the calling thread.

    Raises:
        BuildError: the kernel has no memory for it, or cannot capture.
    """

    def __init__(self, capture: CaptureSpec, hosts: Sequence[CapturedHost], home_fd: int) -> None:
        self._capture, self._hosts = capture, hosts
        self._origin_ns = 0
        self._opened_ns = 0
        self._failure: OSError | None = None
        snap_bytes = capture["snap_bytes"]
        share_bytes = capture["limit_bytes"] // len(hosts)
        if share_bytes < _BLOCK_BYTES:
            raise BuildError(
                f"{capture['limit_bytes']} bytes are too few to capture the frames of {len(hosts)} "
                f"hosts, each of which needs {_BLOCK_BYTES}: raise `capture.limit`"
            )
        # Whole blocks, so that the buffers take no more than the limit.
        frames = share_bytes // _BLOCK_BYTES * (_BLOCK_BYTES // place_bytes(snap_bytes))
        self._captures: list[PacketCapture] = []
        try:
            for host in hosts:
                self._captures.append(_capture_of(host, frames, snap_bytes, home_fd))
        except BaseException:
            for each in self._captures:
                each.close()
            raise
        self._ahead_ns = _wall_clock_ahead_ns()
        self._thread = threading.Thread(target=self._open_and_close, daemon=True)

    def begin(self, origin_ns: int) -> None:
        """Let the window of the capture count from ``origin_ns``."""
        self._origin_ns = origin_ns
        self._thread.start()

    def end(self, records: Records) -> None:
        """Write the frames of the window, and what was lost; traffic has ended.

        Raises:
            BuildError: the kernel refused a filter, or the times of frames are not known.
        """
        self._thread.join()
        if self._failure is not None:
            raise BuildError(f"frames cannot be captured: {self._failure.strerror}")
        if abs(_wall_clock_ahead_ns() - self._ahead_ns) > _MOST_STEP_NS:
            raise BuildError(
                "the wall clock was set while traffic ran: the times of captured frames are unknown"
            )
        to_ns = self._capture["to_ns"]
        from_ns = min(max(self._capture["from_ns"], self._opened_ns - self._origin_ns), to_ns)
        found = []
        for host, one in zip(self._hosts, self._captures, strict=True):
            seen, lost = one.counts()
            window = (self._origin_ns + from_ns, self._origin_ns + to_ns)
            for chunk in _chunks(self._frames(one, host, *window)):
                records.trace(chunk)
            one.close()
            found.append(
                {"host": host.name, "from_ns": from_ns, "to_ns": to_ns, "seen": seen, "lost": lost}
            )
        records.trace(b"")  # a trace of nothing has a file, too
        records.fact("captures", hosts=found)

    def _open_and_close(self) -> None:
        """Open the filters before the window and close them after it; a thread of its own."""
        try:
            timer = system.Timer()
            timer.sleep_until(self._origin_ns + self._capture["from_ns"] - _EARLY_NS)
            for each in self._captures:
                each.pass_frames(True)
            self._opened_ns = system.monotonic_ns()
            timer.sleep_until(self._origin_ns + self._capture["to_ns"] + _EARLY_NS)
            for each in self._captures:
                each.pass_frames(False)
        except OSError as error:
            self._failure = error

    def _frames(
        self, capture: PacketCapture, host: CapturedHost, from_ns: int, to_ns: int
    ) -> Iterator[bytes]:
        """Yield a record of each frame from a time on, and before another one."""
        for frame in capture.frames():
            time_ns = frame.time_ns - self._ahead_ns
            if not from_ns <= time_ns < to_ns:
                continue
            content = frame.content
            length = HEAD.size + FRAME_BODY.size + len(content)
            padding = -length % _ALIGNED
            step = SENT if frame.is_sent else RECEIVED
            yield (
                HEAD.pack(time_ns, length + padding, FRAME, step, 0)
                + FRAME_BODY.pack(host.address, frame.size, len(content), 0)
                + content
                + bytes(padding)
            )


def _capture_of(host: CapturedHost, frames: int, snap_bytes: int, home_fd: int) -> PacketCapture:
    """Return the capture of a host, which lets nothing through yet."""
    failed = f"{host.name}: its frames cannot be captured: "
    try:
        with system.inside(host.namespace_fd, home_fd):
            made = PacketCapture(
                host.interface, frames, snap_bytes, _BLOCK_BYTES, False, host.program
            )
    except OSError as error:
        raise BuildError(f"{failed}{error.strerror}") from error
    if not made.has_ethernet:
        made.close()
        raise BuildError(f"{failed}{host.interface} has no headers of Ethernet")
    return made


def _chunks(rows: Iterator[bytes]) -> Iterator[bytes]:
    """Yield rows together, many at a time."""
    together: list[bytes] = []
    for row in rows:
        together.append(row)
        if len(together) == _MANY:
            yield b"".join(together)
            together = []
    yield b"".join(together)


def _wall_clock_ahead_ns() -> int:
    """Return how far the wall clock, which stamps frames, is ahead of the monotonic clock.

    The closest of several readings counts: this thread may lose its CPU between two.
    """
    readings = []
    for _ in range(16):
        before, wall, after = system.monotonic_ns(), system.realtime_ns(), system.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]
