"""A congestion control's own variables get names and units, and none that are not its own."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from orchestrator.recording.trace import TABLES
from results.traces.own_variables import of_state, own_variables

OURS, BBR, CUBIC, RENO, SHORT = range(5)


def test_each_algorithm_has_its_own_columns() -> None:
    acks = np.zeros(5, TABLES["acks"])
    names = np.array([b"westwoodplus", b"bbr", b"cubic", b"reno", b"bbr"])
    for row, (kind, info) in {
        OURS: (0xC0, struct.pack("=QIII", 2**33, 20_000, 7, 8)),
        BBR: (16, struct.pack("=QIII", 1_250_000, 10_000, 739, 512)),
        CUBIC: (0, struct.pack("=6I", 50, 180, 126, 99, 180, 2048)),
        RENO: (0, bytes(24)),
        SHORT: (16, bytes(4)),
    }.items():
        acks[row]["info_kind"], acks[row]["info_bytes"] = kind, len(info)
        acks[row]["info"] = np.void(info.ljust(24, b"\0"))
    made = {
        key: {row: value for row, value in enumerate(column) if not np.isnan(value)}
        for key, column in own_variables(acks, names).items()
    }
    assert made == {
        "estimate_bytes_per_s": {OURS: 2**33, BBR: 1_250_000},
        "own_min_rtt_us": {OURS: 20_000, BBR: 10_000},
        "own_first": {OURS: 7},
        "own_second": {OURS: 8},
        "bbr_pacing_gain": {BBR: 739 / 256},
        "bbr_cwnd_gain": {BBR: 2},
        "cubic_cnt": {CUBIC: 50},
        "cubic_last_max_cwnd_segments": {CUBIC: 180},
        "cubic_last_cwnd_segments": {CUBIC: 126},
        "cubic_last_time_jiffies": {CUBIC: 99},
        "cubic_bic_origin_point_segments": {CUBIC: 180},
        "cubic_bic_k": {CUBIC: 2048},
    }


def test_a_trace_without_such_states_has_no_such_columns() -> None:
    acks = np.zeros(1, TABLES["acks"])
    assert own_variables(acks, np.array([b"reno"])) == {}


@pytest.mark.parametrize(
    ("kind", "info", "own"),
    [
        (16, struct.pack("=QIII", 1_250_000, 10_000, 739, 512),
         {"estimate_bytes_per_s": 1_250_000, "own_min_rtt_us": 10_000, "bbr_pacing_gain": 739,
          "bbr_cwnd_gain": 512}),
        (9, struct.pack("=HHIII", 1, 0, 1024, 3, 4) + b"\xff" * 8,
         {"dctcp_enabled": 1, "dctcp_ce_state": 0, "dctcp_alpha": 1024, "dctcp_marked_bytes": 3,
          "dctcp_total_bytes": 4}),
        (3, bytes(15), {}),
        (0, bytes(24), {}),
        (77, bytes(24), {}),
    ],
)  # fmt: skip
def test_one_state_has_those_of_its_attribute(kind: int, info: bytes, own: dict[str, int]) -> None:
    assert of_state(kind, info) == own
