"""Text as nstat prints it: what counters of a host gained in the window of a trace.

They are those of the kernel's counters that traces have (kmods/run_trace_counters.c), as far as the
connections of flows moved them. A line has the form of iproute2's misc/nstat.c.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orchestrator import plaintext
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace
from results.export.base import trace_format
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice, trace_with
from results.traces.hosts import ends_at
from results.traces.view import counter

_GROUP = "TcpExt"
"""The line of /proc/net/netstat on which all these counters are; nstat puts it before each name."""
_RATE = 0.0
"""nstat prints a rate only while its daemon runs, and else this."""

ORDER = (
    "PAWSEstab", "TCPRenoRecovery", "TCPSackRecovery", "TCPSACKReneging", "TCPSACKReorder",
    "TCPRenoReorder", "TCPTSReorder", "TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo",
    "TCPLossUndo", "TCPLostRetransmit", "TCPLossFailures", "TCPFastRetrans",
    "TCPSlowStartRetrans", "TCPTimeouts", "TCPLossProbes", "TCPLossProbeRecovery",
    "TCPRenoRecoveryFail", "TCPSackRecoveryFail", "TCPDSACKOldSent", "TCPDSACKOfoSent",
    "TCPDSACKRecv", "TCPDSACKOfoRecv", "TCPAbortOnTimeout", "TCPSpuriousRTOs", "TCPBacklogDrop",
    "TCPRetransFail", "TCPOFODrop", "TCPSpuriousRtxHostQueues", "TCPFromZeroWindowAdv",
    "TCPToZeroWindowAdv", "TCPSynRetrans", "TCPHystartTrainDetect", "TCPHystartTrainCwnd",
    "TCPHystartDelayDetect", "TCPHystartDelayCwnd", "TCPKeepAlive", "TCPDeliveredCE",
    "TCPZeroWindowDrop", "TCPRcvQDrop",
)  # fmt: skip
"""The counters in the order of the kernel, which nstat keeps."""


@trace_format("nstat", at_places=True)
def write(run: StoredRun, paths: Sequence[Path], choice: TraceChoice) -> None:
    """FILE.nstat: what the counters of the host ``--at HOST`` gained in the trace's window.

    It has those counters that traces have, as nstat prints them when it is called before and after.
    """
    head = trace_with(run, choice.number, "events")
    trace = run.trace(head.number, ("ends", "events"))
    ends = ends_at(run, trace, choice.place)
    with paths[0].open("x", encoding="ascii", errors="backslashreplace") as file:
        file.writelines(f"{line}\n" for line in _lines(trace, ends))


def _lines(trace: Trace, ends: Sequence[int]) -> Iterator[str]:
    events = trace.tables["events"]
    gained: Counter[str] = Counter()
    for event in events[np.isin(events["end"], ends) & (events["what"] == records.COUNTER)]:
        gained[counter(event)] += int(event["value"])
    yield "#kernel"
    known = [name for name in ORDER if name in gained]
    for name in [*known, *sorted(gained.keys() - set(known))]:
        shown = plaintext.one_line(_GROUP + name)
        yield f"{shown:<32}{gained[name]:<16}{_RATE:6.1f}"
