"""Lets the kernel record what happens to packets and connections, and writes that when all is over.

The module run_trace takes it from tracepoints and keeps it in the kernel's memory, so a trace makes
no system call while traffic runs.
"""

from __future__ import annotations

import os

from orchestrator.protocol.reports.trace_records import DEVICE, SETUP, VERSION
from orchestrator.testbed.errors import BuildError

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

    from orchestrator.protocol.specification import CaptureSpec
    from orchestrator.testbed.sampling.records import Records

_READ_BYTES = 1 << 20


class CapturedHost:
    """A host whose frames are captured.

    Args:
        name: its name.
        address: the bytes of its IPv4 address in the run's network.
        namespace_fd: its namespace.
        interface: its interface.
        program: instructions of a filter for its frames; all are its own without any.
    """

    def __init__(
        self,
        name: str,
        address: bytes,
        namespace_fd: int,
        interface: str,
        program: Sequence[bytes] = (),
    ) -> None:
        self.name, self.address = name, address
        self.namespace_fd, self.interface = namespace_fd, interface
        self.program = program


class Trace:
    """The trace of one run; None of its methods does anything without a capture."""

    def __init__(self, capture: CaptureSpec | None) -> None:
        self._capture = capture
        self._device = -1

    def begin(self, origin_ns: int) -> None:
        """Begin to record; the window of the capture counts from ``origin_ns``.

        Raises:
            BuildError: the kernel cannot do it.
        """
        capture = self._capture
        if capture is None:
            return
        setup = SETUP.pack(
            VERSION,
            capture["wanted"],
            origin_ns + capture["from_ns"],
            origin_ns + capture["to_ns"],
            capture["limit_bytes"],
            capture["snap_bytes"],
            0,
        )
        try:
            self._device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
            os.write(self._device, setup)
        except OSError as error:
            raise BuildError(f"the kernel cannot trace: {DEVICE}: {error.strerror}") from error

    def end(self, records: Records) -> None:
        """End the recording, and write the trace."""
        if self._capture is None:
            return
        more = True
        while more:
            chunk = os.read(self._device, _READ_BYTES)
            records.trace(chunk)  # an empty one, too: a trace of nothing has a file
            more = bool(chunk)
        os.close(self._device)
