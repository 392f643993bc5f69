"""A link's capacity as a recorded trace, in the format of mahimahi.

A line is a whole number of milliseconds: the time of an opportunity to send 1500 bytes of IP.
Lines do not decrease; several alike are several opportunities. The file's last time is its
length, after which all begins anew. R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for
HTTP", USENIX ATC 2015; mm-link(1).
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from pydantic import Field, ValidationInfo, field_validator, model_validator

from orchestrator.scenario.base import Context, Directional, Rate, Strict
from orchestrator.units import shortened, shown
from topologies.model import Trace

MAX_BYTES = 64_000_000
MAX_MS = 30 * 24 * 3600 * 1000
MAX_DIGITS = 12
MOST_IN_A_MS = 8_000
"""97 Gbit/s, as fast as links get here."""


class Capacity(Strict):
    """What a link can carry in one direction: as a trace says, or at one rate."""

    rate: Rate | None = Field(default=None, description="bit/s of a direction without a trace")
    trace: str | None = Field(
        default=None,
        description="file in mahimahi's format, from the scenario's folder: each line the "
        "millisecond of an opportunity to send 1500 bytes of IP; it repeats",
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the trace must have; whatever it is when not given",
    )

    @field_validator("trace")
    @classmethod
    def _absolute(cls, trace: str | None, info: ValidationInfo) -> str | None:
        if trace is None:
            return None
        folder = info.context.modules.base if isinstance(info.context, Context) else Path()
        try:
            path = (folder / trace).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a NUL
            raise ValueError(f"{shown(trace)} is no path: {error}") from None
        read_trace(path)
        return str(path)

    @field_validator("sha256")
    @classmethod
    def _of_the_trace(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        trace = info.data.get("trace")
        if trace is None:
            if sha256 is not None and "trace" in info.data:
                raise ValueError("belongs to `trace`, and none is given")
            return sha256
        has = read_trace(Path(trace)).sha256
        if sha256 not in (None, has):
            raise ValueError(f"`{trace}` has the SHA-256 {has}, not {shown(sha256)}")
        return has

    @model_validator(mode="after")
    def _one_of_them(self) -> Capacity:
        if (self.rate is None) == (self.trace is None):
            raise ValueError("give one of `trace` and `rate`")
        return self

    @property
    def read(self) -> Trace | None:
        """The trace, None where there is a rate."""
        return None if self.trace is None else read_trace(Path(self.trace))


class CapacityBothWays(Directional[Capacity]):
    """The capacity of each direction."""


def read_trace(path: Path) -> Trace:
    """Return the trace in that file; ValueError, with the line, when it is none."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(
            f"`{shortened(str(path), 300)}` cannot be read: {error.strerror}"
        ) from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"`{path}` is larger than {MAX_BYTES} bytes")
    return _parsed(str(path), content)


@functools.lru_cache(maxsize=64)
def _parsed(path: str, content: bytes) -> Trace:
    frames: dict[int, int] = {}
    last_ms = 0
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text.isdigit():
            found = shown(line.decode("utf-8", "replace"))
            raise ValueError(f"{path}:{number}: must be whole milliseconds, not {found}")
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
        raise ValueError(f"`{path}` lasts 0 ms: the time in its last line is its length")
    sha256 = hashlib.sha256(content).hexdigest()
    return Trace(path, sha256, last_ms, tuple(frames.items()))
