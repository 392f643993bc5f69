"""Expands a scenario's flow entries to flows with hosts, ports, paths and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds import tcp
from orchestrator.kinds.distributions import fixed
from orchestrator.kinds.fields import MAX_FLOWS, Path
from orchestrator.kinds.traffic import (
    LEAST_JUMBO_SEGMENTS,
    LEAST_WINDOW_BYTES,
    Demand,
    Load,
    NamedHost,
    TcpSegment,
    TrafficPart,
)
from orchestrator.network import Hop, Network, crossing_ns, mtu_bytes, path_delay_s
from orchestrator.planning.flows import multipath
from orchestrator.planning.runspec import Pair, PlannedFlow, Subflow
from orchestrator.protocol.engines import SUBFLOW
from orchestrator.protocol.links.frames import (
    ACK_FRAME_BYTES,
    DEFAULT_MTU_BYTES,
    ECHO_FRAME_BYTES,
    ETHERNET_BYTES,
    IPV4_BYTES,
    TCP_BYTES,
)
from orchestrator.protocol.specification import QuantitySpec
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.scenario import LoadedVariant
from orchestrator.scenario.model import KEYS_OF_GROUPS
from orchestrator.suggestions import suggest
from orchestrator.units import RATE_MIN_BPS, Limit, LinkRate, format_time, listed, shown

FIRST_PORT = 5001
MOST_LISTED = 12
"""The most hosts that a message names."""
_TIMESTAMP_BYTES = 12
_ETHERNET_MSS_BYTES = DEFAULT_MTU_BYTES - IPV4_BYTES - TCP_BYTES
_HEADERS_BYTES = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES
"""Ethernet as qdiscs count it, IPv4, and TCP without options."""

Hops = tuple[Hop, ...]
Shares = Sequence[tuple[Hop, Fraction]]
"""The hops that data may take, and the mean share of the packets that takes each."""
Rtts = dict[str, set[int]]
"""Propagation RTTs (ns) of the flows whose data or ACKs cross each channel."""


def expand(variant: LoadedVariant, network: Network) -> tuple[list[list[PlannedFlow]], Rtts]:
    """Return the flows of each flow entry, and the propagation RTTs at each channel.

    The flows' start times do not include their random parts.

    Raises:
        ScenarioError: an entry cannot be expanded; at its line and column.
    """
    entries: list[list[PlannedFlow]] = []
    rtts_ns: Rtts = {}
    for index in range(len(variant.scenario.flows)):
        entry = _FlowEntry(variant, network, index, sum(map(len, entries)))
        entries.append(entry.flows(rtts_ns))
    return entries, rtts_ns


class _FlowEntry:
    """One flow entry of the scenario; the entries before it have ``before`` flows."""

    def __init__(self, variant: LoadedVariant, network: Network, index: int, before: int) -> None:
        self._variant, self._network = variant, network
        self._index, self._before = index, before
        self._flow = variant.scenario.flows[index]
        self._options = tcp.options_of(variant.scenario.tcp, self._flow.tcp)
        faults = multipath.entry_faults(self._flow, network)
        if problems := [self._marked(path, message) for path, message in faults]:
            raise ScenarioError(problems)
        self._parts = self._parts_of_entry()
        of_groups = not self._flow.traffic.names_hosts
        self._number = len(self._pairs(self._parts[0])) * self._flow.count if of_groups else 0

    def _pairs(self, part: TrafficPart) -> list[Pair]:
        """Return the sender and the receiver of each flow of a part."""
        if part.hosts is not None:
            return [self._named(part.hosts)]
        group = self._network.group(part.group or self._flow.group or "")
        pairs = list(zip(group.sources, group.sinks, strict=True))
        return [(b, a) for a, b in pairs] if self._flow.direction == "reverse" else pairs

    def _parts_of_entry(self) -> list[TrafficPart]:
        """Return the parts of the traffic; of a Multipath TCP connection each subflow is one."""
        parts, mptcp = self._flow.traffic.parts(), self._flow.mptcp
        if mptcp is None:
            return parts
        demands = [parts[0].demand, *[Demand(SUBFLOW)] * (len(mptcp.paths) - 1)]
        return [
            replace(parts[0], name=path, group=path, demand=demand)
            for path, demand in zip(mptcp.paths, demands, strict=True)
        ]

    def _subflow(self, part: TrafficPart, index: int) -> Subflow | None:
        """Return what the flow of that index of a part is of its Multipath TCP connection."""
        name, mptcp = self._flow.name, self._flow.mptcp
        if mptcp is None:
            return None
        return Subflow(
            name if self._number == 1 else f"{name}[{index}]",
            self._parts.index(part),
            FIRST_PORT + self._before + index,
            part.group in mptcp.backup,
            mptcp.sysctls(),
        )

    def flows(self, rtts_ns: Rtts) -> list[PlannedFlow]:
        """Return the flows, part by part and host by host, and extend ``rtts_ns``."""
        flow, parts = self._flow, self._parts
        if flow.traffic.names_hosts:
            self._require_nothing_of_groups()
        number = len(parts) if flow.traffic.names_hosts else self._number
        total = self._before + (number if flow.traffic.names_hosts else len(parts) * number)
        if total > MAX_FLOWS:
            raise self._fault((), f"{total} flows; {MAX_FLOWS} are allowed")
        flows: list[PlannedFlow] = []
        for part in parts:
            name = f"{flow.name}-{part.name}" if part.name else flow.name
            first = 0 if part.hosts is None else len(flows)
            names = [name] if number == 1 else [f"{name}[{index}]" for index in range(number)]
            control = self._control(part)
            for pair_index, (source, sink) in enumerate(self._pairs(part), start=first):
                hops = self._paths(source, sink)
                common = {**control, **self._shared(part, source, sink, hops)}
                on_paths = [hop.name for hop in (*hops[0], *hops[1])]
                for channel in (*on_paths, *common["sprayed"], *common["ack_sprayed"]):
                    rtts_ns.setdefault(channel, set()).add(_rtt_ns(hops))
                for index in range(pair_index * flow.count, (pair_index + 1) * flow.count):
                    own = {
                        "name": names[index],
                        "port": FIRST_PORT + self._before + len(flows),
                        "subflow": self._subflow(part, index),
                        **self._start(part, index),
                    }
                    flows.append(PlannedFlow(**own, **common))
        return flows

    def _require_nothing_of_groups(self) -> None:
        """Raise ScenarioError if the entry has a key that is about pairs of a group."""
        for key in KEYS_OF_GROUPS:
            if key in self._flow.model_fields_set:
                text = f"traffic of kind {self._flow.traffic.kind} names its own hosts"
                raise self._fault((key,), f"{text}: leave `{key}` out")

    def _named(self, hosts: tuple[NamedHost, NamedHost]) -> Pair:
        """Return the names of two hosts; ScenarioError when no group has one of them."""
        for host in hosts:
            if self._network.group_of(host.name) is None:
                valid = list(self._network.hosts_of_groups)
                raise self._fault(
                    ("traffic", "file"),
                    f"{host.place}: there is no host {shown(host.name)}"
                    f"{suggest(host.name, valid)}; hosts: {listed(valid[:MOST_LISTED])}"
                    + (f" and {more} more" if (more := len(valid) - MOST_LISTED) > 0 else ""),
                )
        return hosts[0].name, hosts[1].name

    def _shared(
        self, part: TrafficPart, source: str, sink: str, hops: tuple[Hops, Hops]
    ) -> dict[str, Any]:
        """Return the fields of a planned flow that all flows between two hosts share."""
        demand, (there, back) = part.demand, hops
        mtu = mtu_bytes((*there, *back))
        self._require_fit(demand, mtu)
        segment = self._segment(mtu)
        return {
            "group": part.group or self._flow.group or self._network.group_of(source),
            "source": source,
            "sink": sink,
            "traffic": self._flow.traffic.kind,
            "engine": demand.engine,
            "stop_s": self._flow.stop,
            "bytes": demand.size_bytes,
            "transport": demand.transport,
            "connections": demand.connections,
            "segment": segment,
            "mtu_bytes": mtu,
            "server": demand.server,
            "traffic_parameters": self._parameters(
                demand, self._network.shares(source, sink), segment
            ),
            "propagation_rtt_s": _rtt_ns(hops) / NS_PER_S,
            "base_rtt_s": crossing_ns((*there, *back), ECHO_FRAME_BYTES) / NS_PER_S,
            "segment_rtt_s": self._segment_rtt_ns(demand, mtu, there, back) / NS_PER_S,
            "path": tuple(hop.name for hop in there),
            "ack_path": tuple(hop.name for hop in back),
            "sprayed": self._sprayed(source, sink),
            "ack_sprayed": self._sprayed(sink, source),
        }

    def _segment_rtt_ns(self, demand: Demand, mtu: int, there: Hops, back: Hops) -> int:
        """Return the RTT of a full packet of the flow: a segment and its ACK, or two datagrams."""
        frame_bytes = mtu + ETHERNET_BYTES
        answer = ACK_FRAME_BYTES if demand.transport == "tcp" else frame_bytes
        return crossing_ns(there, frame_bytes) + crossing_ns(back, answer)

    def _require_fit(self, demand: Demand, mtu: int) -> None:
        """Raise ScenarioError if packets of the flow do not fit into its path's smallest MTU.

        Linux would send a larger datagram in fragments, and switches drop a larger frame.
        """
        packet_bytes: Any = demand.parameters.get("packet_bytes", 0)
        if packet_bytes > mtu:
            text = f"packets of {packet_bytes}B on a path with an MTU of {mtu}: at most {mtu}B"
            key = "file" if "packets" in demand.parameters else "packet_size"
            raise self._fault(("traffic", key), text)
        mss_bytes, most_bytes = self._options.get("mss", 0), mtu - IPV4_BYTES - TCP_BYTES
        if mss_bytes > most_bytes:
            text = f"an MSS of {mss_bytes} on a path with an MTU of {mtu}: at most {most_bytes}"
            raise self._fault(("tcp", "mss"), text)

    def _start(self, part: TrafficPart, number: int) -> dict[str, Any]:
        """Return when the flow of that number starts; ScenarioError when that is too late."""
        scenario, flow = self._variant.scenario, self._flow
        start_ns = (
            nanoseconds(flow.start)
            + number * nanoseconds(flow.stagger)
            + nanoseconds(part.offset_s)
        )
        latest_ns = start_ns + nanoseconds(flow.start_window) + nanoseconds(scenario.start_jitter)
        end_s = scenario.duration if flow.stop is None else flow.stop
        if latest_ns >= nanoseconds(end_s):
            key = (
                "stagger" if flow.stagger else "start_window" if flow.start_window else "traffic",
            )
            when = format_time(latest_ns / NS_PER_S)
            text = f"a flow of this entry may start as late as {when}, which is not before its end"
            raise self._fault(key, f"{text} at {format_time(end_s)}")
        return {"start_s": start_ns / NS_PER_S, "start_window_s": flow.start_window}

    def _control(self, part: TrafficPart) -> dict[str, Any]:
        """Return the fields of a planned flow that depend on its congestion control, if any."""
        flow, find = self._flow, self._variant.modules
        own = part.demand.transport != "tcp" or flow.traffic.names_congestion
        if own and "congestion" in flow.model_fields_set:
            transport = part.demand.transport.upper()
            why = f"uses {transport}, which has no"
            why = "names its own" if flow.traffic.names_congestion else why
            message = f"traffic of kind {flow.traffic.kind} {why} congestion control"
            raise self._fault(("congestion",), message)
        control = part.congestion or (None if own else flow.congestion)
        if control is None:
            return {"congestion": None, "parameters": {}, "settings": {}, "module": None,
                    "shown": ()}  # fmt: skip
        module = find.find(control.name, control.module)
        scopes = {} if module is None else {p.name: p.scope for p in module.parameters.values()}

        def parameters_of(scope: str) -> dict[str, int]:
            return {k: value for k, value in control.parameters.items() if scopes[k] == scope}

        return {
            "congestion": control.name,
            "parameters": parameters_of("kernel"),
            "settings": parameters_of("namespace"),
            "module": find.folder(control.module) if control.module else None,
            "shown": () if module is None else module.shown,
        }

    def _parameters(self, demand: Demand, shares: Shares, segment: TcpSegment) -> dict[str, Any]:
        """Return the engine's parameters, with those that depend on the path and the segments."""
        path = tuple(hop for hop, _share in shares)
        parameters: dict[str, Any] = dict(demand.parameters)
        if demand.path_rate:
            parameters["path_rate_bps"] = min(_rates_bps(path), default=None)
        if demand.rate is not None:
            parameters["rate_bps"] = self._rate_bps("rate", demand.rate, _rates_bps(path))
        if demand.load is not None:
            load_bps = self._load_bps(demand.load, shares)
            parameters["rate_bps"] = load_bps // self._number
            if parameters["rate_bps"] < RATE_MIN_BPS:
                message = f"{load_bps} bit/s for {self._number} flows is below {RATE_MIN_BPS} bit/s"
                raise self._fault(("traffic", "load"), f"{message} each")
            wire_bytes = demand.load.wire_bytes(segment)
            parameters["arrivals_per_s"] = parameters["rate_bps"] / (8 * wire_bytes)
        if "rounds" in parameters:
            parameters["rounds"] = {**parameters["rounds"], "entry": self._index}
        if demand.round_bytes is not None:
            parameters["response"] = self._part_of_round(demand.round_bytes)
        if demand.window is not None:
            parameters |= self._window(demand.window, segment)
        return parameters

    def _part_of_round(self, size_bytes: int) -> QuantitySpec:
        """Return the size of each flow's part of a round of that many bytes."""
        if size_bytes < self._number:
            message = f"{size_bytes} bytes for {self._number} flows are less than a byte each"
            raise self._fault(("traffic", "bytes"), message)
        return fixed(size_bytes // self._number)

    def _window(self, window: Limit, segment: TcpSegment) -> dict[str, int]:
        """Return the parameters of a limited receive window.

        Raises:
            ScenarioError: the kernel cannot keep so small a limit.
        """
        segment_bytes = segment.payload_bytes
        size_bytes = window.size_bytes or (window.packets or 0) * segment_bytes
        if size_bytes < LEAST_WINDOW_BYTES:
            least = -(-LEAST_WINDOW_BYTES // segment_bytes)
            raise self._fault(
                ("traffic", "window"),
                f"{window} is {size_bytes} bytes, as a segment has {segment_bytes}, and Linux has "
                f"no limit below {LEAST_WINDOW_BYTES} bytes: at least {least}p",
            )
        mss_bytes = segment_bytes + segment.headers_bytes - _HEADERS_BYTES
        if size_bytes < LEAST_JUMBO_SEGMENTS * segment_bytes and mss_bytes > _ETHERNET_MSS_BYTES:
            raise self._fault(
                ("traffic", "window"),
                f"{window} is less than {LEAST_JUMBO_SEGMENTS} segments of {segment_bytes} bytes: "
                "so small a window is exact only where the path's MTU or `tcp: {mss: ...}` "
                f"makes the MSS {_ETHERNET_MSS_BYTES} or less",
            )
        return {
            "window_bytes": size_bytes,
            "mss_bytes": mss_bytes,
            "segment_bytes": segment_bytes,
        }

    def _segment(self, mtu: int) -> TcpSegment:
        mss_bytes: int = self._options.get("mss", mtu - IPV4_BYTES - TCP_BYTES)
        options_bytes = _TIMESTAMP_BYTES if self._options.get("timestamps", True) else 0
        return TcpSegment(mss_bytes - options_bytes, _HEADERS_BYTES + options_bytes)

    def _load_bps(self, load: Load, shares: Shares) -> int:
        """Return bits per second that load the narrowest link, or the named one, as asked.

        A link that gets a part of the sprayed packets is loaded by that part of the rate.
        """
        path = tuple(hop for hop, _share in shares)
        on = {hop.name for hop in (path if load.link is None else self._hops_of(load.link, path))}
        rates = [
            int(hop.channel.rate_bps / share)
            for hop, share in shares
            if hop.name in on and hop.channel.rate_bps
        ]
        return self._rate_bps("load", load.rate, rates)

    def _rate_bps(self, key: str, rate: LinkRate, rates: Sequence[int]) -> int:
        """Return bits per second of a rate that may be a share of the narrowest link's."""
        if rate.percent is not None and not rates:
            message = f"{rate} is a share of a link's rate, and no link on the flow's path has one"
            raise self._fault(("traffic", key), message)
        rate_bps = rate.of(min(rates, default=0))
        if rate_bps < RATE_MIN_BPS:
            message = f"{rate} of {min(rates)} bit/s is below {RATE_MIN_BPS} bit/s"
            raise self._fault(("traffic", key), message)
        return rate_bps

    def _hops_of(self, link: str, path: Hops) -> Hops:
        """Return where a path crosses a link; ScenarioError when it does not, or has no rate."""
        on = tuple(hop for hop in path if hop.link.name == link)
        if on and _rates_bps(on):
            return on
        valid = [hop.link.name for hop in path if hop.channel.rate_bps is not None]
        why = "has no rate" if on else "is not on the flow's path"
        names = listed(valid) or "none"
        text = f"link {shown(link)} {why}{suggest(link, valid)}; with a rate there: {names}"
        raise self._fault(("traffic", "load", "link"), text)

    def _paths(self, source: str, sink: str) -> tuple[Hops, Hops]:
        try:
            return self._network.path(source, sink), self._network.path(sink, source)
        except LookupError as error:
            raise self._fault(("group",), str(error)) from None

    def _sprayed(self, source: str, sink: str) -> tuple[str, ...]:
        """Return the channels that packets may cross besides those of the path."""
        if not self._network.spray:
            return ()
        first = {hop.name for hop in self._network.path(source, sink)}
        hops = self._network.spread(source, sink)
        return tuple(hop.name for hop in hops if hop.name not in first)

    def _fault(self, path: Path, message: str) -> ScenarioError:
        return ScenarioError([self._marked(path, message)])

    def _marked(self, path: Path, message: str) -> Fault:
        return self._variant.mark(("flows", self._index, *path)).fault(message)


def _rates_bps(path: Hops) -> list[int]:
    return [hop.channel.rate_bps for hop in path if hop.channel.rate_bps is not None]


def _rtt_ns(hops: tuple[Hops, Hops]) -> int:
    return nanoseconds(path_delay_s((*hops[0], *hops[1])))
