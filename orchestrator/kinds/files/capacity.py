"""A link's capacity as a recorded trace, in the format of mahimahi.

A line is a whole number of milliseconds. It is the time of an opportunity to send 1504 bytes.
mahimahi counts 4 bytes in front of each IP packet, those of a TUN device, and none of Ethernet.

Lines do not decrease; equal lines are several opportunities. The last time is the length of the
trace, which then repeats. R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP",
USENIX ATC 2015; mm-link(1), and LinkQueue::rationalize of its src/frontend/link_queue.cc.
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from orchestrator.files.user_files import named
from orchestrator.files.user_files import read as read_file
from orchestrator.kinds.fields import Directional, Rate, Strict, ValidationContext
from orchestrator.network import Trace
from orchestrator.units import shown

MAX_BYTES = 64_000_000
MAX_MS = 30 * 24 * 3600 * 1000
MAX_DIGITS = 12
_HARMLESS = re.compile(rb"[-+.0-9]{1,20}")
"""Form of a line that an error may quote.

A scenario may name any file as its trace, for example a
private key, and errors end up in the logs of CI servers."""
MOST_IN_A_MS = 8_000
"""Most opportunities per millisecond: 97 Gbit/s, about the largest rate of a link."""


class Capacity(Strict):
    """The capacity of one direction of a link: a trace or a constant rate."""

    rate: Rate | None = Field(default=None, description="bit/s of a direction without a trace")
    trace: str | None = Field(
        default=None,
        description="file in mahimahi's format, relative to the scenario's folder. Each line is "
        "the millisecond of an opportunity to send 1504 bytes: IP packets, each with the 4 bytes "
        "of a TUN device's header. It repeats. It has 64 MB, 30 days and 8000 lines of one "
        "millisecond at most",
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the trace must have; not checked when not given",
    )

    _read: Trace | None = PrivateAttr(default=None)

    @field_validator("trace")
    @classmethod
    def _place(cls, trace: str | None, info: ValidationInfo) -> str | None:
        return None if trace is None else _trace(trace, info).file

    @field_validator("sha256")
    @classmethod
    def _of_the_trace(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        trace = info.data.get("trace")
        if trace is None:
            if sha256 is not None and "trace" in info.data:
                raise ValueError("needs `trace`, which is not given")
            return sha256
        has = _trace(trace, info).sha256
        if sha256 not in (None, has):
            raise ValueError(f"`{trace}` has the SHA-256 {has}, not {shown(sha256)}")
        return has

    @model_validator(mode="after")
    def _one_of_them(self) -> Capacity:
        if (self.rate is None) == (self.trace is None):
            raise ValueError("give one of `trace` and `rate`")
        return self

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Capacity:
        if self.trace is not None:
            self._read = _trace(self.trace, info)
        return self

    @property
    def read(self) -> Trace | None:
        """The trace, None when a rate is given."""
        return self._read


class CapacityBothWays(Directional[Capacity]):
    """The capacity of each direction."""


def read_trace(path: Path) -> Trace:
    """Return the trace in that file.

    Raises:
        ValueError: it cannot be read or is not a trace. The message names the line, and quotes it
            only if it is a number.
    """
    return _parsed(str(path), str(path), read_file(path, MAX_BYTES))


def _trace(given: str, info: ValidationInfo) -> Trace:
    """Return the trace at a path or place; ValueError as :func:`read_trace`."""
    if not isinstance(info.context, ValidationContext):
        return read_trace(Path(given).resolve())
    files = info.context.modules.files
    file = files.file(given, MAX_BYTES)
    return _parsed(given, file.place, file.content)


@functools.lru_cache(maxsize=64)
def _parsed(path: str, place: str, content: bytes) -> Trace:
    """Return the trace with that content; errors name its ``path``."""
    frames: dict[int, int] = {}
    last_ms = 0
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text.isdigit():
            harmless = _HARMLESS.fullmatch(text)
            shown = f"not `{text.decode()}`" if harmless else "digits and nothing else"
            raise ValueError(f"{path}:{number}: must be whole milliseconds, {shown}")
        time_ms = int(text) if len(text) <= MAX_DIGITS else MAX_MS + 1
        if time_ms > MAX_MS:
            raise ValueError(f"{path}:{number}: must be {MAX_MS} ms at most")
        if time_ms < last_ms:
            raise ValueError(f"{path}:{number}: {time_ms} is before {last_ms} of the line above")
        frames[time_ms] = frames.get(time_ms, 0) + 1
        if frames[time_ms] > MOST_IN_A_MS:
            raise ValueError(f"{path}:{number}: more than {MOST_IN_A_MS} in one millisecond")
        last_ms = time_ms
    if not last_ms:
        raise ValueError(
            f"{named(path)} lasts 0 ms: its last line, which is its length, must be above 0"
        )
    sha256 = hashlib.sha256(content).hexdigest()
    return Trace(place, sha256, last_ms, tuple(frames.items()))
