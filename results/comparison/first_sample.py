"""Finds the first sample that differs between two runs: they have parted by then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from orchestrator.recording.model import RECEIVER, SENDER
from results.samples.sample_tables import Array
from results.store.stored import StoredRun


def first_unequal_sample_ns(one: StoredRun, other: StoredRun) -> int | None:
    """Return when the first stored sample of a flow or queue differs; None where none does.

    It is no later than that: runs may have parted before, between samples and in what these do not
    show. The runs have the same flows and queues. Samples at other times differ, too.
    """
    times = [_first(*columns) for columns in _columns(one, other)]
    return min((time_ns for time_ns in times if time_ns is not None), default=None)


def _columns(
    one: StoredRun, other: StoredRun
) -> Iterator[tuple[Mapping[str, Array], Mapping[str, Array]]]:
    for flow in range(len(one.flows)):
        for end in (SENDER, RECEIVER):
            yield one.tcp(flow, end), other.tcp(flow, end)
        yield one.datagrams(flow), other.datagrams(flow)
    for queue in range(min(len(one.queues), len(other.queues))):
        yield _since_first(one.queue_samples(queue)), _since_first(other.queue_samples(queue))


def _since_first(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return a queue's samples without what it counted before traffic, as by a test of its size."""
    return {
        name: column if name == "time_ns" else column - column[:1]
        for name, column in columns.items()
    }


def _first(one: Mapping[str, Array], other: Mapping[str, Array]) -> int | None:
    """Return the time of the first row at which columns differ."""
    lengths = len(one["time_ns"]), len(other["time_ns"])
    first = length = min(lengths)
    for name, column in one.items():
        a, b = column[:first], other[name][:first]
        unequal = (a != b) & ~((a != a) & (b != b))  # NaN differs from itself
        if unequal.any():
            first = int(np.argmax(unequal))
    if first == length and lengths[0] == lengths[1]:
        return None
    return min(int(each["time_ns"][first]) for each in (one, other) if first < len(each["time_ns"]))
