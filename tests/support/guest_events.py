"""Runs of scenarios with events in the guest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from results.samples.sample_tables import Array
from results.store.store import Store
from results.store.stored import StoredRun

FRAME_BYTES, FRAME_BITS = 1514, 1514 * 8


MS = 1_000_000


LINE = """\
version: 1
name: line
seed: 1
duration: 3s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 100p}}
  access: {delay: 5ms}
  groups:
    - {name: a}
    - {name: b}
flows:
  - {name: flood, group: a, traffic: {kind: cbr, rate: 20mbit}}
sample: {queue: 1ms}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def opened(store: Store) -> StoredRun:
    return store.load(store.resolve("last"))


def faithful(document: dict[str, Any]) -> None:
    assert document["status"] == "ok", document["error"]
    wrong = [check for check in document["fidelity"]["checks"] if check["ok"] is not True]
    assert document["fidelity"]["verdict"] == "faithful", wrong


def check(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in document["fidelity"]["checks"] if each["name"] == name]
    assert isinstance(found, dict)
    return found


def at(columns: dict[str, Array], name: str, time_ms: int) -> int:
    """Return a column's value in the sample at that millisecond."""
    return int(columns[name][np.searchsorted(columns["time_ns"], time_ms * MS)])
