"""Reads what the test bed wrote (see testbed/records.py) into arrays and facts."""

from __future__ import annotations

import functools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import GuestError
from orchestrator.recording import (
    CONGESTION_SLOTS,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SKMEM_FIELDS,
    TCP_DTYPE,
    TCP_INFO_FIELDS,
)

_HEAD = struct.Struct("<qI")
_MESSAGE_HEAD = struct.Struct("<IH")  # nlmsg_len, nlmsg_type of struct nlmsghdr
_SOCK_DIAG_BY_FAMILY = 20
_DIAG, _DIAG_BYTES = 16, 72  # struct inet_diag_msg behind the netlink header
_LEAST_BYTES = _DIAG + _DIAG_BYTES + 128  # time-wait and request sockets have no tcp_info
_STATE, _PORTS, _QUEUES = _DIAG + 1, _DIAG + 4, _DIAG + 56
_LISTEN = 10
_INFO, _NAME, _MEMORY = 2, 4, 7  # INET_DIAG_INFO, _CONG, _SKMEMINFO

# An algorithm's own info attribute: the kind's number (include/uapi/linux/inet_diag.h), the
# layout of its structure, and what the integers mean.
_CONGESTION_KINDS: dict[int, tuple[np.dtype[np.void], tuple[tuple[str, str], ...]]] = {
    3: (
        np.dtype([(name, "<u4") for name in ("enabled", "rttcnt", "rtt", "minrtt")]),
        (("enabled", ""), ("rtt_count", ""), ("rtt", "us"), ("min_rtt", "us")),
    ),
    9: (
        np.dtype(
            [
                ("enabled", "<u2"),
                ("ce_state", "<u2"),
                ("alpha", "<u4"),
                ("ecn", "<u4"),
                ("tot", "<u4"),
            ]
        ),
        (
            ("enabled", ""),
            ("ce_state", ""),
            ("alpha", "1/1024"),
            ("marked", "bytes"),
            ("acked", "bytes"),
        ),
    ),
    16: (
        np.dtype([("bw", "<u8"), ("min_rtt", "<u4"), ("pacing_gain", "<u4"), ("cwnd_gain", "<u4")]),
        (
            ("bandwidth", "bytes/s"),
            ("min_rtt", "us"),
            ("pacing_gain", "1/256"),
            ("cwnd_gain", "1/256"),
        ),
    ),
}


def facts(folder: Path) -> list[dict[str, Any]]:
    """Return the facts in the order of their writing; an unfinished last line is left."""
    found = []
    for line in (folder / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


Layout = list[tuple[int, int, int]]
"""(attribute type, first byte of its payload, bytes of it), in the order of the message."""


class TcpDecoder:
    """Takes the TCP samples apart while the bed still writes them.

    Args:
        path: the bed's tcp.bin, which need not exist yet.
        ports: (client port, server port) of each flow.

    ``congestion_names`` gives what the kernel reported for each flow's sender, and
    ``congestion_fields`` the (name, unit) of its congestion columns.
    """

    def __init__(self, path: Path, ports: list[tuple[int, int]]) -> None:
        self._path, self._ports = path, ports
        self._read_bytes = 0
        self._parts: list[npt.NDArray[np.void]] = []
        self.congestion_names: dict[int, str] = {}
        self.congestion_fields: dict[int, tuple[tuple[str, str], ...]] = {}

    def advance(self) -> None:
        """Take what has been written since the last call, up to the last whole record."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            data = file.read()
        messages, used = _messages(data)
        self._read_bytes += used
        if len(messages):
            self._take(data, messages)

    def samples(self) -> npt.NDArray[np.void]:
        """Return all samples in the order of time, flow and end, when the bed has ended.

        Raises:
            GuestError: the last record is not whole.
        """
        self.advance()
        if self._path.exists() and self._path.stat().st_size != self._read_bytes:
            raise GuestError("tcp.bin ends in the middle of a record")
        rows = np.concatenate([np.zeros(0, TCP_DTYPE), *self._parts])
        order = np.lexsort((rows["endpoint"], rows["flow"], rows["time_ns"]))
        ordered: npt.NDArray[np.void] = rows[order]
        return ordered

    def _take(self, data: bytes, messages: npt.NDArray[np.int64]) -> None:
        # Answers of one length that begin alike have their attributes at the same places.
        for length in np.unique(messages[:, 2]):
            alike = messages[messages[:, 2] == length]
            answers = b"".join([data[start : start + length] for start in alike[:, 1].tolist()])
            raw = np.frombuffer(answers, np.uint8).reshape(-1, length)
            time_ns = alike[:, 0]
            while len(raw):
                layout = _layout(raw[0].tobytes())
                kept = np.ones(len(raw), np.bool_)
                for place in (start - 4 + byte for _k, start, _s in layout for byte in range(4)):
                    kept &= raw[:, place] == raw[0, place]
                self._parts.append(self._rows(raw[kept], time_ns[kept], layout))
                raw, time_ns = raw[~kept], time_ns[~kept]

    def _rows(
        self, raw: npt.NDArray[np.uint8], time_ns: npt.NDArray[np.int64], layout: Layout
    ) -> npt.NDArray[np.void]:
        """Take apart answers of one layout; those of no flow, or of a listener, are left."""
        flow, endpoint = _ends(raw, self._ports)
        wanted = (flow >= 0) & (raw[:, _STATE] != _LISTEN)
        raw, time_ns, flow, endpoint = raw[wanted], time_ns[wanted], flow[wanted], endpoint[wanted]
        out = np.zeros(len(raw), TCP_DTYPE)
        out["time_ns"], out["flow"], out["endpoint"] = time_ns, flow, endpoint
        queues = _view(raw, _QUEUES, np.dtype([("r", "<u4"), ("w", "<u4")]))
        out["rqueue_bytes"], out["wqueue_bytes"] = queues["r"], queues["w"]
        for kind, start, size in layout:
            if kind in (_INFO, _MEMORY):
                fields = TCP_INFO_FIELDS if kind == _INFO else SKMEM_FIELDS
                values = _view(raw, start, _prefix(fields, size))
                for name in values.dtype.names or ():
                    out[name] = values[name]
            elif kind == _NAME:
                self._note_names(out, raw[:, start : start + size])
            elif kind in _CONGESTION_KINDS:
                congestion, meaning = _CONGESTION_KINDS[kind]
                values = _view(raw, start, congestion)
                for slot, name in enumerate((congestion.names or ())[:CONGESTION_SLOTS]):
                    out[f"congestion_{slot}"] = values[name].astype(np.int64)
                self.congestion_fields.update(dict.fromkeys(np.unique(flow).tolist(), meaning))
        return out

    def _note_names(self, out: npt.NDArray[np.void], names: npt.NDArray[np.uint8]) -> None:
        """Keep the name of the congestion control of each flow's sender, as last reported."""
        senders = np.flatnonzero(out["endpoint"] == SENDER)[::-1]
        flows, last = np.unique(out["flow"][senders], return_index=True)
        for flow, place in zip(flows.tolist(), last.tolist(), strict=True):
            text = names[senders[place]].tobytes().rstrip(b"\0")
            self.congestion_names[flow] = text.decode(errors="replace")


def _messages(data: bytes) -> tuple[npt.NDArray[np.int64], int]:
    """Return (time, place, length) of each netlink message about a whole socket, and the bytes of
    whole records in ``data``."""
    found: list[tuple[int, int, int]] = []
    offset, unpack = 0, _MESSAGE_HEAD.unpack_from
    while offset + _HEAD.size <= len(data):
        time_ns, length = _HEAD.unpack_from(data, offset)
        end = offset + _HEAD.size + length
        if end > len(data):
            break
        offset += _HEAD.size
        while offset < end:
            length, kind = unpack(data, offset)
            if kind == _SOCK_DIAG_BY_FAMILY and length >= _LEAST_BYTES:
                found.append((time_ns, offset, length))
            offset += (length + 3) & ~3
        offset = end
    return np.array(found, np.int64).reshape(-1, 3), offset


def _layout(message: bytes) -> Layout:
    found: Layout = []
    offset = _DIAG + _DIAG_BYTES
    while offset + 4 <= len(message):
        length, kind = struct.unpack_from("<HH", message, offset)
        if length < 4:
            break
        found.append((kind & 0x3FFF, offset + 4, length - 4))
        offset += (length + 3) & ~3
    return found


def _ends(
    raw: npt.NDArray[np.uint8], ports: list[tuple[int, int]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (flow, endpoint) of each answer, flow -1 for a socket of no flow."""
    names = [(client << 16 | server, flow, SENDER) for flow, (client, server) in enumerate(ports)]
    names += [
        (server << 16 | client, flow, RECEIVER) for flow, (client, server) in enumerate(ports)
    ]
    known = np.array(sorted(names), np.int64).reshape(-1, 3)
    asked = _view(raw, _PORTS, np.dtype([("both", ">u4")]))["both"].astype(np.int64)
    place = np.minimum(np.searchsorted(known[:, 0], asked), len(known) - 1)
    found = known[place, 0] == asked
    return np.where(found, known[place, 1], -1), known[place, 2]


@functools.cache
def _prefix(names: tuple[tuple[str, str], ...], size: int) -> np.dtype[np.void]:
    """Return the layout of as many fields as the kernel gave bytes for; kernels differ in that."""
    fitting: list[tuple[str, str]] = []
    for name in names:
        if np.dtype([*fitting, name]).itemsize > size:
            break
        fitting.append(name)
    return np.dtype(fitting)


def _view(
    raw: npt.NDArray[np.uint8], start: int, layout: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    part = np.ascontiguousarray(raw[:, start : start + layout.itemsize])
    return part.view(layout).reshape(-1)


def queue_samples(folder: Path, qdiscs: int) -> npt.NDArray[np.void]:
    """Return an array of QUEUE_DTYPE whose ``queue`` is the place in the bed's list of qdiscs."""
    tick = np.dtype([("time_ns", "<i8"), ("words", "<u4", (qdiscs, 8))])
    rows = _table(folder / "queue.bin", tick)
    out = np.zeros((len(rows), qdiscs), QUEUE_DTYPE)
    out["time_ns"] = rows["time_ns"][:, None]
    out["queue"] = np.arange(qdiscs)[None, :]
    words = rows["words"].astype(np.int64)
    out["bytes"] = words[:, :, 0] | words[:, :, 1] << 32
    names = ("packets", "drops", "overlimits", "requeues", "backlog_bytes", "backlog_packets")
    for place, name in enumerate(names, start=2):
        out[name] = words[:, :, place]
    return out.reshape(-1)


def _table(path: Path, layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
    data = path.read_bytes()
    if len(data) % layout.itemsize:
        raise GuestError(f"{path.name} ends in the middle of a row: the test bed did not finish it")
    return np.frombuffer(data, layout)
