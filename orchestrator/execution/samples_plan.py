"""Derives from a planned run what the samples of the run are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.compile.testbed_spec import readings_ns
from orchestrator.network import Channel
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.links.frames import ECHO_FRAME_BYTES, transmission_ns
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.plan import FlowPlan, SamplesPlan

_RECEIVE_BUFFER = "net.ipv4.tcp_rmem"


def samples_plan(spec: RunSpec) -> SamplesPlan:
    """Return what the samples of a run are compared with."""
    edges_s = {spec.warmup_s, *(edge for w in spec.windows for edge in (w.from_s, w.to_s))}
    least_ns = _least_delays_ns(spec)
    return {
        "sampling": {
            "duration_ns": nanoseconds(spec.duration_s),
            "tcp_ns": nanoseconds(spec.sample_tcp_s),
            "queue_ns": nanoseconds(spec.sample_queue_s),
            "readings_ns": readings_ns(spec.network),
            "edges_ns": sorted(nanoseconds(edge) for edge in edges_s),
        },
        "flows": [_flow_plan(spec, flow, least_ns) for flow in spec.flows],
    }


def _flow_plan(spec: RunSpec, flow: PlannedFlow, least_ns: Mapping[str, int]) -> FlowPlan:
    host = spec.hosts.get(flow.sink)
    buffer_limited = host is not None and _RECEIVE_BUFFER in host.sysctls
    window_bytes: int | None = flow.traffic_parameters.get("window_bytes")
    planned: FlowPlan = {
        "one_connection": flow.transport == "tcp" and flow.connections == "one",
        "open_until_ns": _open_until_ns(spec, flow),
        "least_rtt_ns": _least_rtt_ns(spec, flow, least_ns),
        "window_limited": buffer_limited or window_bytes is not None,
    }
    if flow.traffic == "bulk" and window_bytes is not None:
        segment_bytes = flow.segment.payload_bytes
        planned["window_least_bytes"] = _window_least_bytes(window_bytes, segment_bytes)
    if flow.subflow is not None:
        ports = [other.port for other in spec.flows]
        planned["subflow_of"] = ports.index(flow.subflow.port)
        planned["backup"] = flow.subflow.backup
    return planned


def _window_least_bytes(window_bytes: int, segment_bytes: int) -> int:
    """Return the window that is advertised for a limit.

    Below 64 KiB it has whole segments (__tcp_select_window() of net/ipv4/tcp_output.c). Above, it
    is a multiple of the window scale, which leaves 15 bits at least.
    """
    if window_bytes >= 1 << 16:
        return window_bytes - (window_bytes >> 15)
    return window_bytes - window_bytes % segment_bytes or window_bytes


def _open_until_ns(spec: RunSpec, flow: PlannedFlow) -> int | None:
    """Return until when the flow's connection is open; None when it may close at any time."""
    if ENGINES[flow.engine].closes_early or flow.bytes is not None:
        return None
    # Over a path without delay, a stopped connection may be closed before its sample is taken.
    return nanoseconds(spec.duration_s) if flow.stop_s is None else nanoseconds(flow.stop_s) - 1


def _least_rtt_ns(spec: RunSpec, flow: PlannedFlow, least_ns: Mapping[str, int]) -> int:
    """Return the smallest RTT of an idle network, over all paths of the flow and its ACKs."""
    there, back = [flow.path], [flow.ack_path]
    for event in spec.events:
        for pair, path in event.routes.items():
            if pair == (flow.source, flow.sink):
                there.append(path)
            if pair == (flow.sink, flow.source):
                back.append(path)
    return sum(min(sum(least_ns[name] for name in path) for path in way) for way in (there, back))


def _least_delays_ns(spec: RunSpec) -> dict[str, int]:
    """Return the shortest time in which a packet crosses each channel at any time of the run."""
    states: dict[str, list[Channel]] = {}
    for link in spec.network.links:
        states[f"{link.name}:forward"] = [link.forward]
        states[f"{link.name}:reverse"] = [link.reverse]
    for event in spec.events:
        for name, state in event.channels.items():
            states[name].append(state.channel)
    return {name: _least_delay_ns(channels) for name, channels in states.items()}


def _least_delay_ns(channels: Iterable[Channel]) -> int:
    """Return the shortest time in which the smallest packet crosses a channel in any state.

    Jitter and skipped delays make it shorter. A rate of a trace or a model may be arbitrarily high.
    """
    least: list[int] = []
    for channel in channels:
        if channel.reordering is not None:
            return 0
        below_ns = 0 if channel.jitter is None else channel.jitter.reach_ns[0]
        rate_bps = None if channel.rate_varies else channel.rate_bps
        sending_ns = transmission_ns(ECHO_FRAME_BYTES, rate_bps)
        least.append(sending_ns + max(nanoseconds(channel.least_delay_s) - below_ns, 0))
    return min(least)
