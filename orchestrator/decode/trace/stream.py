"""Reads the stream of records that a trace is; see protocol/reports/trace_records.py."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import malformed
from orchestrator.protocol.reports import trace_records as records

FRAME_START = records.HEAD.size + records.FRAME_BODY.size
"""Where the bytes of a frame begin in its record."""

_PADDED = 8
"""Records are padded to a multiple of so many bytes."""

_MOST_TIME_NS = 2**62

_HEAD = [("head_time_ns", "u8"), ("head_bytes", "u2"), ("head_kind", "u1"), ("what", "u1"),
         ("of", "u4")]  # fmt: skip
_SOCKET_FIELDS = [("address", "u4"), ("peer_address", "u4"), ("port", "u2"), ("peer_port", "u2"),
                  ("reserved", "u4"), ("congestion", "S16")]  # fmt: skip


class _Form(NamedTuple):
    """The form of the records of a kind whose length is fixed, and what ``what`` may be."""

    dtype: np.dtype[Any]
    what: range


def _form(fields: Sequence[tuple[str, str]], what: range) -> _Form:
    plain = np.dtype([*_HEAD, *fields])
    missing = -plain.itemsize % _PADDED
    padding = [("padding", f"V{missing}")] if missing else []
    return _Form(np.dtype([*_HEAD, *fields, *padding]), what)


FORMS = {
    records.SOCKET: _form(_SOCKET_FIELDS, range(1)),
    records.STATE: _form(records.STATE_FIELDS, range(records.BY_SEGMENT, records.BY_TIMER + 1)),
    records.EVENT: _form(records.EVENT_FIELDS, range(records.CA_STATE, records.CWND + 1)),
    records.LINK: _form(records.LINK_FIELDS, range(records.ENQUEUED, records.LOST_BY_RING + 1)),
    records.DROP: _form(records.DROP_FIELDS, range(1)),
    records.FULL: _form([], range(1)),
}
"""By kind; a FRAME has any length."""


def offsets(data: bytes) -> dict[int, list[int]]:
    """Return where the records of each kind begin; BedError when a record has not its form."""
    of_kind: dict[int, list[int]] = {kind: [] for kind in range(records.SOCKET, records.FULL + 1)}
    offset, size = 0, len(data)
    unpack = records.HEAD.unpack_from
    try:
        while offset < size:
            _time_ns, length, kind, _what, _of = unpack(data, offset)
            of_kind[kind].append(offset)
            form = FORMS.get(kind)
            if length % _PADDED or (
                length != form.dtype.itemsize if form else length < FRAME_START
            ):
                raise malformed(f"{records.FILE}: a record of kind {kind} has {length} bytes")
            offset += length
    except (struct.error, KeyError):
        raise malformed(f"{records.FILE} has no record at {offset}") from None
    if offset != size:
        raise malformed(f"{records.FILE} ends within a record")
    full = of_kind[records.FULL]
    if full and full != [size - FORMS[records.FULL].dtype.itemsize]:
        raise malformed(f"{records.FILE} goes on after its limit")
    return of_kind


def rows_of(data: bytes, kind: int, places: Sequence[int]) -> npt.NDArray[np.void]:
    """Return the records of a kind at these offsets as rows of its form.

    Raises:
        BedError: a time or a sort is none that the kernel writes.
    """
    form = FORMS[kind]
    size = form.dtype.itemsize
    rows = np.frombuffer(b"".join(data[at : at + size] for at in places), form.dtype)
    if not len(rows):
        return rows
    if rows["what"].min() < form.what.start or rows["what"].max() >= form.what.stop:
        raise malformed(f"{records.FILE}: a record of kind {kind} is of an unknown sort")
    if rows["head_time_ns"].max() >= _MOST_TIME_NS:
        raise malformed(f"{records.FILE}: a time is too large")
    return rows


class Frame(NamedTuple):
    """A FRAME; ``address`` is the host's in the order of the network."""

    time_ns: int
    step: int
    interface: int
    address: bytes
    size: int
    start: int
    captured: int


def frame_at(data: bytes, at: int, snap_bytes: int) -> Frame:
    """Return the frame at an offset; BedError when the kernel would not write it."""
    time_ns, length, _kind, step, index = records.HEAD.unpack_from(data, at)
    address, size, captured, _reserved = records.FRAME_BODY.unpack_from(
        data, at + records.HEAD.size
    )
    needed = FRAME_START + captured
    if (
        time_ns >= _MOST_TIME_NS
        or step not in records.FRAME_STEPS
        or captured != min(size, snap_bytes)
        or length != needed + -needed % _PADDED
    ):
        raise malformed(f"{records.FILE}: the frame at {at} is not what the kernel writes")
    return Frame(time_ns, step, index, address, size, at + FRAME_START, captured)
