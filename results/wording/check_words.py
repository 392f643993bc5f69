"""Plain words for fidelity checks, whose names in the store are identifiers."""

from __future__ import annotations

import math
from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "backlogged_rate": "rate of a backlogged link",
    "base_rtt": "base RTT before traffic",
    "base_rtt_end": "base RTT after traffic",
    "burst_rate": "rate of a burst before traffic",
    "clock_agreement": "agreement of the hosts' clocks",
    "congestion_control": "congestion control in use",
    "conservation": "conservation of packets",
    "corruption": "share of corrupted packets",
    "drops_outside_bottleneck": "drops outside the bottleneck",
    "duplication": "share of duplicated packets",
    "event_lateness": "lateness of events",
    "events_applied": "events applied",
    "full_queue_delay": "delay of a full queue",
    "host_load": "other load on the host",
    "hosts_as_requested": "interfaces, routes and sysctls as requested",
    "interrupts": "interrupts of network cards",
    "kernel_warnings": "warnings of the kernel",
    "loss": "share of lost packets",
    "loss by number": "losses by number",
    "loss elsewhere": "losses where none were requested",
    "multipath_bytes": "bytes of all subflows of a connection",
    "multipath_fallbacks": "connections that fell back to TCP",
    "multipath_subflows": "subflows that join and are backups as requested",
    "multipath_unnamed_subflows": "subflows without a path of the scenario",
    "offloads_on": "offloads as requested",
    "path": "routers on the path",
    "policed_rate": "rate behind a policer",
    "policer_burst": "bucket of a policer",
    "policer_rate": "rate of a policer",
    "rate_window": "rate in windows of a second",
    "receive_limit": "time limited by the receive window",
    "receive_window": "largest receive window",
    "reordering": "share of reordered packets",
    "reroute_lateness": "lateness of new routes",
    "rtt_floor": "smallest RTT of a flow",
    "run_load": "load of the run on the host",
    "samples_missing": "samples at each planned time",
    "scheduling_delay": "scheduling delay of the host",
    "serialisation": "spacing of small frames",
    "settings_changed": "settings still in place at the end",
    "spraying": "share of sprayed packets",
    "super_packets": "super-packets on a link",
}
"""What each check compares, by its name without what it is of."""


def check_words(name: str) -> str:
    """Return the words for a check, with what it is of: ``base RTT before traffic (a)``.

    A check of an earlier version that is not known any more keeps its name, with spaces.
    """
    known = max(
        (words for words in WORDS if f"{name} ".startswith(f"{words} ")), key=len, default=None
    )
    if known is None:
        return name.replace("_", " ")
    of = name[len(known) :].strip()
    return f"{WORDS[known]} ({of})" if of else WORDS[known]


def outcome_words(ok: bool | None, measured: float | str | None) -> str:
    """Return what became of a check: ``ok``, ``FAILED``, ``in doubt`` or ``not measured``.

    A check that neither passed nor failed is in doubt where something was measured, such as
    warnings of the kernel.
    """
    if ok is not None:
        return "ok" if ok else "FAILED"
    absent = measured is None or (isinstance(measured, float) and math.isnan(measured))
    return "not measured" if absent else "in doubt"
