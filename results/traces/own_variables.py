"""A congestion control's own variables in a trace, as columns with names and units.

A state of a connection has up to 24 bytes of them: what the algorithm's get_info() gives, by the
number of its attribute (include/uapi/linux/inet_diag.h; kmods/cc_info.h), or, without one, the
begin of its private data. Of those, only CUBIC's are known here: the first members of struct
bictcp, the same from Linux 2.6.22 on (net/ipv4/tcp_cubic.c). Others stay bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Columns = dict[str, npt.NDArray[Any]]

VEGAS, DCTCP, BBR = 3, 9, 16
"""INET_DIAG_*INFO of include/uapi/linux/inet_diag.h: what ``info_kind`` of a state may be."""
_OURS = 0x3CC0 & 0xFF
"""CC_DIAG_ATTRIBUTE of kmods/cc_info.h; a trace has the lower byte of the number."""
_WITHOUT_INFO = 0
BBR_UNIT = 256
"""Gains of BBR are multiples of its inverse (BBR_UNIT of net/ipv4/tcp_bbr.c)."""

_BY_ATTRIBUTE = {
    VEGAS: [("vegas_enabled", "u4"), ("vegas_rtts", "u4"), ("vegas_rtt_us", "u4"),
             ("own_min_rtt_us", "u4")],
    DCTCP: [("dctcp_enabled", "u2"), ("dctcp_ce_state", "u2"), ("dctcp_alpha", "u4"),
             ("dctcp_marked_bytes", "u4"), ("dctcp_total_bytes", "u4")],
    BBR: [("estimate_bytes_per_s", "u8"), ("own_min_rtt_us", "u4"), ("bbr_pacing_gain", "u4"),
           ("bbr_cwnd_gain", "u4")],
    _OURS: [("estimate_bytes_per_s", "u8"), ("own_min_rtt_us", "u4"), ("own_first", "u4"),
            ("own_second", "u4")],
}  # fmt: skip
"""The values of each attribute, as they lie in its payload. Those of ours are of kmods/cc_info.h;
``modinfo`` of a module says what its ``own_first`` and ``own_second`` mean."""

_BY_ALGORITHM = {
    b"cubic": [("cubic_cnt", "u4"), ("cubic_last_max_cwnd_segments", "u4"),
               ("cubic_last_cwnd_segments", "u4"), ("cubic_last_time_jiffies", "u4"),
               ("cubic_bic_origin_point_segments", "u4"), ("cubic_bic_k", "u4")],
}  # fmt: skip
"""Of algorithms without get_info(): members of their private data, as they lie there."""


WITH_KNOWN_STATE = frozenset(_BY_ALGORITHM)
"""The algorithms of which a trace has private data that are known."""

CLOCK = "_jiffies"
"""The ending of variables that are times since the kernel started."""


def known_state(info: npt.NDArray[np.void], algorithm: bytes) -> npt.NDArray[np.void]:
    """Return private data of an algorithm with zeros for what is not known, and for times.

    Args:
        info: column ``info`` of rows of a trace's table ``acks``, shape (n,).
        algorithm: one of WITH_KNOWN_STATE, which all rows have.
    """
    form = np.dtype(_BY_ALGORITHM[algorithm])
    known = np.frombuffer(info.tobytes(), np.uint8).reshape(len(info), -1).copy()
    known[:, form.itemsize :] = 0
    for name, place in (form.fields or {}).items():
        kind, offset = place[:2]
        if name.endswith(CLOCK):
            known[:, offset : offset + kind.itemsize] = 0
    return known.view(info.dtype)[:, 0]


def of_state(kind: int, info: bytes) -> dict[str, int]:
    """Return the own variables of one state as the kernel has them, gains of BBR in its unit.

    There are none where the attribute ``kind`` is not known, or ``info`` does not have all of it.
    """
    form = np.dtype(_BY_ATTRIBUTE.get(kind, []))
    if not form.names or len(info) < form.itemsize:
        return {}
    return dict(zip(form.names, np.frombuffer(info, form, 1)[0].tolist(), strict=True))


def own_variables(
    acks: npt.NDArray[np.void], algorithms: npt.NDArray[np.bytes_]
) -> Mapping[str, npt.NDArray[np.float64]]:
    """Return the own variables that are known, as columns by their names.

    Args:
        acks: rows of a trace's table ``acks``, shape (n,).
        algorithms: the name of the congestion control of each row's connection, shape (n,).

    Returns:
        Columns of shape (n,). A value is NaN where the row's algorithm has none of that name.
        There are no columns of algorithms that no row has.
    """
    made: dict[str, npt.NDArray[np.float64]] = {}
    for kind, fields in _BY_ATTRIBUTE.items():
        _add(made, acks, acks["info_kind"] == kind, np.dtype(fields))
    for algorithm, fields in _BY_ALGORITHM.items():
        its = (acks["info_kind"] == _WITHOUT_INFO) & (algorithms == algorithm)
        _add(made, acks, its, np.dtype(fields))
    for name in ("bbr_pacing_gain", "bbr_cwnd_gain"):
        if name in made:
            made[name] /= BBR_UNIT
    return made


def _add(
    made: dict[str, npt.NDArray[np.float64]],
    acks: npt.NDArray[np.void],
    its: npt.NDArray[np.bool_],
    form: np.dtype[np.void],
) -> None:
    """Add the values of a form to the columns, of those rows of ``its`` that have all of it."""
    its = its & (acks["info_bytes"] >= form.itemsize)
    if not its.any():
        return
    info = np.frombuffer(acks["info"][its].tobytes(), np.uint8).reshape(int(its.sum()), -1)
    values = np.ascontiguousarray(info[:, : form.itemsize]).view(form)[:, 0]
    for name in form.names or ():
        column = made.setdefault(name, np.full(len(acks), np.nan))
        column[its] = values[name]
