"""Reads what the test bed wrote (see testbed/records.py) into arrays and facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import GuestError
from orchestrator.recording import (
    CONGESTION_SLOTS,
    QUEUE_DTYPE,
    SKMEM_FIELDS,
    TCP_DTYPE,
    TCP_INFO_FIELDS,
)

_INFO = np.dtype(list(TCP_INFO_FIELDS))
_MEMORY = np.dtype(list(SKMEM_FIELDS))
_INFO_BYTES, _CONGESTION_BYTES = 256, 40
_ROW = np.dtype(
    [
        ("time_ns", "<i8"),
        ("flow", "<i4"),
        ("endpoint", "u1"),
        ("pad", "u1"),
        ("kind", "<u2"),
        ("rqueue_bytes", "<u4"),
        ("wqueue_bytes", "<u4"),
        ("info", _INFO),
        ("info_rest", f"V{_INFO_BYTES - _INFO.itemsize}"),
        ("memory", _MEMORY),
        ("congestion", "u1", _CONGESTION_BYTES),
        ("tail", "V4"),
    ]
)

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


def tcp_samples(
    folder: Path,
) -> tuple[npt.NDArray[np.void], dict[int, tuple[tuple[str, str], ...]]]:
    """Return the TCP samples and, for each flow, (name, unit) of its congestion columns."""
    rows = _rows(folder / "tcp.bin", _ROW)
    out = np.zeros(len(rows), TCP_DTYPE)
    for name in ("time_ns", "flow", "endpoint", "rqueue_bytes", "wqueue_bytes"):
        out[name] = rows[name]
    for name, _type in TCP_INFO_FIELDS:
        out[name] = rows["info"][name]
    for name, _type in SKMEM_FIELDS:
        out[name] = rows["memory"][name]
    fields: dict[int, tuple[tuple[str, str], ...]] = {}
    for kind, (layout, meaning) in _CONGESTION_KINDS.items():
        chosen = np.flatnonzero(rows["kind"] == kind)
        if not len(chosen):
            continue
        raw = np.ascontiguousarray(rows["congestion"][chosen][:, : layout.itemsize])
        values = raw.view(layout).reshape(-1)
        for slot, name in enumerate((layout.names or ())[:CONGESTION_SLOTS]):
            out[f"congestion_{slot}"][chosen] = values[name].astype(np.int64)
        for flow in np.unique(rows["flow"][chosen]):
            fields[int(flow)] = meaning
    return out, fields


def queue_samples(folder: Path, qdiscs: int) -> npt.NDArray[np.void]:
    """Return an array of QUEUE_DTYPE whose ``queue`` is the place in the bed's list of qdiscs."""
    tick = np.dtype([("time_ns", "<i8"), ("words", "<u4", (qdiscs, 8))])
    rows = _rows(folder / "queue.bin", tick)
    out = np.zeros((len(rows), qdiscs), QUEUE_DTYPE)
    out["time_ns"] = rows["time_ns"][:, None]
    out["queue"] = np.arange(qdiscs)[None, :]
    words = rows["words"].astype(np.int64)
    out["bytes"] = words[:, :, 0] | words[:, :, 1] << 32
    names = ("packets", "drops", "overlimits", "requeues", "backlog_bytes", "backlog_packets")
    for place, name in enumerate(names, start=2):
        out[name] = words[:, :, place]
    return out.reshape(-1)


def _rows(path: Path, layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
    data = path.read_bytes()
    if len(data) % layout.itemsize:
        raise GuestError(f"{path.name} ends in the middle of a row: the test bed did not finish it")
    return np.frombuffer(data, layout)
