"""What a trace keeps: names of flows and links as numbers, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from orchestrator.errors import RunError
from orchestrator.kinds.fields import Path
from orchestrator.network import Network
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.reports.trace_records import MOST_LIMIT_BYTES, PORTS_END
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import Capture, Trace, is_of_link, selected
from orchestrator.scenario import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import listed, listed_in_ranges, shown
from orchestrator.windows import seconds_text, window_text
from results.wording import quantities

KEY = "capture"
"""The key of a scenario; it is no part of what makes two runs the same."""

_SPARE = Decimal("0.95")
"""A window that fits is so much of what was traced: records come in bursts."""


def capture_of(scenario: Scenario) -> Capture | None:
    """Return what the runs of a scenario trace."""
    asked = scenario.capture
    if asked is None:
        return None
    from_ns, to_ns = asked.window or (0, nanoseconds(scenario.duration))
    return Capture(
        from_ns,
        to_ns,
        frozenset(asked.trace),
        asked.limit,
        asked.snap,
        tuple(asked.flows),
        tuple(asked.links),
    )


def capture_faults(
    scenario: Scenario, network: Network, flows: Sequence[PlannedFlow]
) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) of what a scenario's capture has that its runs have not."""
    capture = capture_of(scenario)
    if capture is None:
        return
    if problem := window_problem(capture, scenario.duration):
        yield (KEY, "window"), problem
    known = [flow.name for flow in flows if flow.transport != "icmp"]
    pings = {flow.name for flow in flows} - {*known}
    for number, name in enumerate(capture.flows):
        problem = flow_problem(name, known)
        if name in pings:
            problem = "its frames are not known, as ICMP has no ports"
        if problem:
            yield (KEY, "flows", number), f"{shown(name)}: {problem}"
    for number, name in enumerate(capture.links):
        if problem := link_problem(name, network):
            yield (KEY, "links", number), f"{shown(name)}: {problem}"
    if hides_flows(capture):
        yield (
            (KEY, "snap"),
            f"the flow of a frame is known by its first {PORTS_END} bytes: give {PORTS_END}B or "
            "more, or leave out `flows`",
        )


def window_problem(capture: Capture, duration_s: float) -> str | None:
    """Return what is wrong with a window that ends after the run; None for others."""
    end_ns = nanoseconds(duration_s)
    if capture.to_ns <= end_ns:
        return None
    return (
        f"the window ends at {seconds_text(capture.to_ns)}, after the run, which ends at "
        f"{seconds_text(end_ns)}"
    )


def flow_problem(name: str, known: Sequence[str]) -> str | None:
    """Return what is wrong with a name that no flow has; None where one has it."""
    if name in known:
        return None
    return f"the run has no such flow{suggest(name, known)}; it has {listed_in_ranges(known)}"


def link_problem(name: str, network: Network) -> str | None:
    """Return what is wrong with a name that is no link's and no channel's; None for others."""
    if _channels(name, network):
        return None
    links = [link.name for link in network.links]
    known = [*links, *(hop.name for link in network.links for hop in link.hops)]
    return (
        f"the run has no such link{suggest(name, known)}; "
        f"it has {listed(links)}, each also as LINK:forward and LINK:reverse"
    )


def hides_flows(capture: Capture) -> bool:
    """Tell whether frames are cut before what tells their flow, and flows are selected."""
    packets = "packets" in capture.kinds
    return bool(capture.flows) and packets and capture.snap_bytes < PORTS_END


def _channels(name: str, network: Network) -> set[int]:
    """Return the number of a channel such as ``core:forward``, or both of a link."""
    known = [hop.name for link in network.links for hop in link.hops]
    return {number for number, channel in enumerate(known) if is_of_link(channel, name)}


def selection(trace: Trace, spec: RunSpec) -> Trace:
    """Return what a trace has of the flows and links that its capture names."""
    known = [flow.name for flow in spec.flows]
    flows = frozenset(known.index(name) for name in trace.capture.flows)
    channels = (_channels(name, spec.network) for name in trace.capture.links)
    return selected(trace, flows, frozenset[int]().union(*channels))


def kept(trace: Trace, spec: RunSpec) -> Trace:
    """Return what is stored of the trace of a first run.

    Raises:
        RunError: it is larger than its limit.
    """
    keys = ("`capture.window`", "`capture.trace`", "`capture.limit`")
    if problem := limit_problem(trace, *keys):
        raise RunError(f"capture: {problem}")
    return selection(trace, spec)


def limit_problem(trace: Trace, window: str, kinds: str | None, limit: str) -> str | None:
    """Return what to do where the limit was reached, with a window that fits; None for others.

    ``window``, ``kinds`` and ``limit`` are what the user gives for them. ``kinds`` is None where
    the user cannot choose them.
    """
    if trace.full_ns is None:
        return None
    capture = trace.capture
    fixes = [] if kinds is None else [f"trace less ({kinds})"]
    whole_ns = _fitting_ns(trace.full_ns - capture.from_ns)
    if whole_ns > 0:
        fitting = window_text(capture.from_ns, capture.from_ns + whole_ns)
        fixes.insert(0, f"give {window} {fitting}, which fits")
    if capture.limit_bytes < MOST_LIMIT_BYTES:
        fixes.append(f"raise {limit}")
    reached = "before the window"
    if trace.full_ns >= capture.from_ns:
        reached = f"{quantities.time(trace.full_ns - capture.from_ns)} after the window's begin"
    return (
        f"the trace is larger than its limit of {quantities.size(capture.limit_bytes)}, "
        f"which was reached {reached}; nothing is kept\n  fix: {', or '.join(fixes)}"
    )


def _fitting_ns(whole_ns: int) -> int:
    """Return a length of the window, in round numbers, whose records fit; 0 when none is known."""
    length = int(max(whole_ns, 0) * _SPARE)
    coarse: int = 10 ** max(len(str(length)) - 2, 0)
    return length // coarse * coarse
