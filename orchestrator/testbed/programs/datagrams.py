"""Counts UDP datagrams between the hosts of programs, by our module run_counts.

Each flow of programs has a file at both of its hosts, which counts while it is open.
"""

from __future__ import annotations

import os

from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.kernel_modules import COUNTS
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.reports.counter_facts import (
    DATAGRAMS_FILE,
    DATAGRAMS_LINE,
    datagrams_line,
)
from orchestrator.testbed.kernel import snmp

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed

_LINE = f"{DATAGRAMS_LINE}:".encode()


def opened(bed: Bed, hosts: Sequence[str]) -> list[int]:
    """Return a file for each flow of programs with an end at these hosts, which share a namespace.

    The calling thread has to be in that namespace.

    Raises:
        RuntimeError: our module is not there, or it is that of an earlier version.
    """
    flows = bed.spec["flows"]
    here = [
        flow
        for flow in flows
        if flow["engine"] == PROGRAM and {flow["source"], flow["sink"]} & {*hosts}
    ]
    if here and not os.path.exists(snmp.path(DATAGRAMS_FILE)):
        raise RuntimeError(
            f"there is no /proc/net/{DATAGRAMS_FILE}: the module {COUNTS} is not loaded, or was "
            "installed by an earlier version; install the modules of this version"
        )
    return [_opened(bed, flow, hosts) for flow in here]


def _opened(bed: Bed, flow: FlowSpec, hosts: Sequence[str]) -> int:
    file = os.open(snmp.path(DATAGRAMS_FILE), os.O_RDWR | os.O_CLOEXEC)
    port = _port(flow, bed.spec["flows"])
    if port is not None:
        peer = flow["sink"] if flow["source"] in hosts else flow["source"]
        os.write(file, f"{bed.address(peer)} {port}".encode())
    return file


def _port(flow: FlowSpec, flows: Sequence[FlowSpec]) -> int | None:
    """Return the port that a flow's datagrams have, 0 for any, None where none tells them apart."""
    ends = {flow["source"], flow["sink"]}
    if not any(
        other is not flow
        and {other["source"], other["sink"]} == ends
        and ENGINES[other["engine"]].may_use_udp
        for other in flows
    ):
        return 0
    ready = flow["parameters"]["ready"]
    return None if ready is None else int(ready["port"])


def text(files: Sequence[int]) -> bytes:
    """Return the lines of these files as they are now, by the names of the fact "counters"."""
    return b"".join(
        [
            snmp.text(file).replace(_LINE, f"{datagrams_line(place)}:".encode())
            for place, file in enumerate(files)
        ]
    )
