"""Reads the SNMP counters of hosts; the test bed's side is testbed/sampling/counters.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orchestrator.decode.decode import table
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.records import COUNTER_FIELDS
from orchestrator.recording.counters import KEPT, CounterNames
from orchestrator.recording.model import COUNTER_DTYPE

_ROW = np.dtype([(name, f"<{form}") for name, form in COUNTER_FIELDS])


def counters(
    output: OutputFolder, listed: protocol.Counters, run: RunSpec
) -> tuple[CounterNames, npt.NDArray[np.void]]:
    """Return the names of what the run counted, and an array of COUNTER_DTYPE.

    Names of counters that did not grow are left out, but for those in KEPT.

    Raises:
        BedError: hosts are not those with an end of a flow, or a row is not of what is listed.
    """
    hosts = _hosts(listed, run)
    names = listed["names"]
    if len(set(names)) < len(names):
        raise malformed("the fact counters has a name twice")
    rows = table(output, "counters.bin", _ROW)
    _require_of(rows, len(hosts), len(names))
    grown = set(np.unique(rows["counter"]).tolist())
    kept = [number for number, name in enumerate(names) if number in grown or name in KEPT]
    number_of = np.zeros(len(names), np.int64)
    number_of[kept] = np.arange(len(kept))
    found = rows.astype(COUNTER_DTYPE)
    found["counter"] = number_of[rows["counter"]]
    return CounterNames(hosts, tuple(names[number] for number in kept)), found


def _hosts(listed: protocol.Counters, run: RunSpec) -> tuple[tuple[str, ...], ...]:
    hosts = tuple(tuple(shared) for shared in listed["hosts"])
    expected = {host for flow in run.flows for host in (flow.source, flow.sink)}
    there = [host for shared in hosts for host in shared]
    if len(there) > len(expected) or set(there) != expected:
        raise malformed("the fact counters has not each host with an end of a flow once")
    return hosts


def _require_of(rows: npt.NDArray[np.void], hosts: int, names: int) -> None:
    """Raise BedError unless rows are of those hosts and counters, each once at a time, in order."""
    if not len(rows):
        return
    for field, most in (("host", hosts), ("counter", names)):
        if (largest := int(rows[field].max())) >= most:
            raise malformed(f"counters.bin has a row of {field} {largest}; there are {most}")
    order = np.lexsort((rows["counter"], rows["host"], rows["time_ns"]))
    if (np.diff(rows["time_ns"]) < 0).any():
        raise malformed("counters.bin is not in the order of time")
    keys = rows[["time_ns", "host", "counter"]][order]
    if (keys[1:] == keys[:-1]).any():
        raise malformed("counters.bin has a counter twice at one time")
