"""Receive window: the largest window that receivers with a limit advertised."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check

_COLUMNS = ("snd_wnd_bytes", "bytes_acked")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each limit, of the flow whose receiver advertised the largest window.

    If no window is too large, it is of the flow whose window is the farthest below its least one.
    """
    least = _least(evidence)
    by_limit: dict[int, list[tuple[int, str]]] = {}
    for flow, (requested, advertised) in evidence.windows.items():
        by_limit.setdefault(requested, []).append((advertised, flow))
    for requested, windows in by_limit.items():
        advertised, flow = max(windows)
        small = min(
            windows,
            key=lambda reading: reading[0] - least.get(reading[1], 0),
        )
        if advertised <= requested and small[0] < least.get(small[1], 0):
            advertised, flow = small
        yield Check(
            f"receive_window {requested}",
            "bytes",
            requested,
            advertised,
            0.0,
            least.get(flow, 0) <= advertised <= requested,
            f"flow {flow}; {len(windows)} flows have the limit",
        )


def _least(evidence: Evidence) -> dict[str, int]:
    """Return the least that the largest window of a flow must be, by the flow's name.

    It has the bulk flows for which the receive buffer was filled at least once. Others may end
    before their windows have grown to the limit.
    """
    if evidence.plan is None:
        return {}
    least: dict[str, int] = {}
    plans = zip(evidence.flows, evidence.plan["flows"], strict=True)
    for number, (flow, plan) in enumerate(plans):
        bytes_least = plan.get("window_least_bytes")
        if bytes_least is not None and flow.name in evidence.windows:
            samples = evidence.senders(number, _COLUMNS)
            filled = 4 * evidence.windows[flow.name][0]
            if (samples["bytes_acked"] > filled).any():
                least[flow.name] = bytes_least
    return least
