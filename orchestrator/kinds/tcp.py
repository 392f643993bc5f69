"""TCP options that a flow may request at its ends, besides the congestion control.

Every option is a setting of a network namespace (Documentation/networking/ip-sysctl.rst) or a
metric of its routes (RTAX_* of include/uapi/linux/rtnetlink.h). So all flows of a host must request
the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from orchestrator import units
from orchestrator.kinds.fields import Strict, Time
from orchestrator.kinds.profiles import profiles
from orchestrator.protocol.links.frames import IPV4_BYTES, MOST_MTU_BYTES, TCP_BYTES
from orchestrator.suggestions import suggest
from orchestrator.units import shown

End = Literal["sender", "receiver", "both"]
RTAX_MTU = 2
RTAX_LOCK, RTAX_ADVMSS, RTAX_INITCWND, RTAX_RTO_MIN, RTAX_QUICKACK = 1, 8, 11, 13, 15
RTAX_RTT, RTAX_RTTVAR, RTAX_SSTHRESH = 4, 5, 6
_LEAST_BUFFER_BYTES = 4096
_SEND_START_BYTES, _RECEIVE_START_BYTES = 16_384, 131_072


def _known(name: str) -> str:
    if name not in profiles():
        raise ValueError(
            f"unknown TCP profile {shown(name)}{suggest(name, profiles())}; "
            f"valid: {', '.join(profiles())}"
        )
    return name


KERNELS_OWN = "kernel"
"""A limit, and the value of a sysctl, that stays as the kernel has set it when it booted."""


def _buffer(value: object) -> int | str:
    if value == KERNELS_OWN:
        return KERNELS_OWN
    size_bytes = units.parse_size(value)
    if not _LEAST_BUFFER_BYTES <= size_bytes <= 2**31 - 1:
        raise ValueError(
            f"a socket buffer must be from {_LEAST_BUFFER_BYTES} B to 2^31 - 1 B, or {KERNELS_OWN}"
        )
    return size_bytes


def _rto_min(time_s: float) -> float:
    if not 0.001 <= time_s <= 60 or abs(time_s * 1000 - round(time_s * 1000)) > 1e-6:
        raise ValueError(
            "the least retransmission timeout must be whole milliseconds, from 1ms to 60s"
        )
    return time_s


Buffer = Annotated[
    int | str,
    PlainValidator(_buffer),
    PlainSerializer(
        lambda value: value if isinstance(value, str) else units.format_size(value),
        when_used="json",
    ),
    WithJsonSchema({"type": "string", "examples": ["150kB", KERNELS_OWN]}),
]


_ECN: dict[str, int] = {"accept": 2, "accurate": 3}
"""Values of tcp_ecn by their words (Documentation/networking/ip-sysctl.rst of Linux 7.3)."""
_MOST_ECN = 5


def _ecn(value: object) -> object:
    known = value in _ECN if isinstance(value, str) else type(value) in (bool, int)
    if known and (isinstance(value, str) or 0 <= int(cast(int, value)) <= _MOST_ECN):
        return value
    raise ValueError(f"must be true, false, {', '.join(_ECN)} or 0 to {_MOST_ECN}")


Ecn = Annotated[
    bool | int | str,
    PlainValidator(_ecn),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "boolean"},
                {"type": "string", "enum": [*_ECN]},
                {"type": "integer", "minimum": 0, "maximum": _MOST_ECN},
            ]
        }
    ),
]


class TcpOptions(Strict):
    """Options that are not given stay as in Linux; values given here override the profile's."""

    profile: (
        Annotated[
            str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": [*profiles()]})
        ]
        | None
    ) = Field(default=None, description="named set of the values below")
    sack: bool | None = Field(default=None, description="selective ACKs; Linux: true")
    dsack: bool | None = Field(default=None, description="duplicate SACKs; Linux: true")
    timestamps: bool | None = Field(
        default=None, description="RFC 7323, 12 bytes a segment; Linux: true"
    )
    ecn: Ecn | None = Field(
        default=None,
        description="true: requested and accepted at both ends; accept: accepted only; accurate: "
        "Accurate ECN (RFC 9768) requested and accepted, from Linux 7.0 on; or 0 to 5, a value of "
        "the kernel's tcp_ecn. Linux: false",
    )
    ecn_receiver: Ecn | None = Field(
        default=None, description="`ecn` of the receiver, where it differs from the sender's"
    )
    ecn_option: int | None = Field(
        default=None,
        ge=0,
        le=3,
        description="how often the option of Accurate ECN is sent, as the kernel's "
        "tcp_ecn_option; from Linux 7.0 on; Linux: 2",
    )
    delayed_ack: bool | None = Field(
        default=None, description="false: every segment is acknowledged at once; Linux: true"
    )
    compress_acks: bool | None = Field(
        default=None, description="the receiver may hold back SACKs for up to 1 ms; Linux: true"
    )
    defer_acks: bool | None = Field(
        default=None,
        description="the receiver gathers the ACKs of a burst it takes at once; Linux: true",
    )
    initial_window: int | None = Field(
        default=None, ge=1, le=10_000, description="segments, at the sender; Linux: 10"
    )
    initial_ssthresh: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="slow start threshold of each new connection in segments, at the sender. A "
        "congestion control may set another one. Linux: unbounded",
    )
    mss: int | None = Field(
        default=None,
        ge=88,
        le=MOST_MTU_BYTES - IPV4_BYTES - TCP_BYTES,
        description="bytes, as in the MSS option of both ends; timestamps take 12 of them. Linux: "
        "the smallest MTU of the path less 40, so 1460 for an MTU of 1500",
    )
    recovery: Literal["rack", "dupack"] | None = Field(
        default=None, description="how losses are found with SACK; Linux: rack"
    )
    reordering: int | None = Field(
        default=None,
        ge=1,
        le=300,
        description="duplicate ACKs that mean a loss, fixed; Linux: begins with 3 and learns",
    )
    tail_loss_probe: bool | None = Field(default=None, description="RFC 8985; Linux: true")
    frto: bool | None = Field(default=None, description="RFC 5682; Linux: true")
    restart_after_idle: bool | None = Field(
        default=None, description="slow start after an idle timeout (RFC 2861); Linux: true"
    )
    rto_min: Annotated[Time, AfterValidator(_rto_min)] | None = Field(
        default=None,
        description="minimum retransmission timeout, whole ms, 1ms to 60s; Linux: 200ms",
    )
    send_buffer: Buffer | None = Field(
        default=None,
        description="limit of the send buffer, as the kernel counts, 4096B to 2^31 - 1 bytes; "
        "`kernel`: the kernel's own tcp_wmem. Without it, it is large enough never to limit",
    )
    receive_buffer: Buffer | None = Field(
        default=None,
        description="limit of the receive buffer, as the kernel counts, 4096B to 2^31 - 1 bytes; "
        "`kernel`: the kernel's own tcp_rmem. Without it, it is large enough never to limit",
    )

    def values(self) -> dict[str, Any]:
        """Return the options that are set, including those of the profile."""
        own = {
            key: value
            for key, value in self.model_dump(exclude={"profile"}).items()
            if value is not None
        }
        return {**profiles()[self.profile].options, **own} if self.profile else own


@dataclass
class HostTcp:
    """Settings of one host's TCP stack: sysctls of its namespace, metrics of its route.

    A sysctl with the value ``KERNELS_OWN`` is not set.
    """

    sysctls: dict[str, str | int] = field(default_factory=dict)
    metrics: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _OptionEffect:
    """The settings of an option, and the ends at which they apply.

    ``linux`` is Linux's default, None when no value of the option equals it.
    """

    ends: End
    sysctls: Callable[[Any], Mapping[str, str | int]] = lambda _value: {}
    metrics: Callable[[Any], Mapping[int, int]] = lambda _value: {}
    linux: Any = None


def _flag(*names: str) -> Callable[[bool], Mapping[str, str | int]]:
    return lambda value: {f"net.ipv4.{name}": int(value) for name in names}


def _ecn_sysctl(value: bool | int | str) -> Mapping[str, str | int]:
    number = _ECN[value] if isinstance(value, str) else int(value)
    return {"net.ipv4.tcp_ecn": number}


def _memory(name: str, start_bytes: int) -> Callable[[int | str], Mapping[str, str | int]]:
    def sysctl(most: int | str) -> Mapping[str, str | int]:
        if isinstance(most, str):
            return {f"net.ipv4.{name}": KERNELS_OWN}
        return {f"net.ipv4.{name}": f"{_LEAST_BUFFER_BYTES} {min(start_bytes, most)} {most}"}

    return sysctl


def _rto_min_metrics(value: float) -> Mapping[int, int]:
    """Return the metric in ms, locked, because tcp_rto_min() ignores an unlocked one."""
    return {RTAX_LOCK: 1 << RTAX_RTO_MIN, RTAX_RTO_MIN: round(value * 1000)}


def _ssthresh_metrics(value: int) -> Mapping[int, int]:
    """Return the metric, locked together with the RTT metrics that the kernel caches.

    The kernel reads the threshold from its cache of metrics of a destination. A connection that
    ends fills that cache from the route (tcpm_suck_dst() in net/ipv4/tcp_metrics.c), so
    testbed/network/thresholds.py makes such a connection.
    """
    locks = (RTAX_RTT, RTAX_RTTVAR, RTAX_SSTHRESH)
    return {RTAX_LOCK: sum(1 << lock for lock in locks), RTAX_SSTHRESH: value}


_EFFECTS: dict[str, _OptionEffect] = {
    "sack": _OptionEffect("both", _flag("tcp_sack"), linux=True),
    "dsack": _OptionEffect("both", _flag("tcp_dsack"), linux=True),
    "timestamps": _OptionEffect("both", _flag("tcp_timestamps"), linux=True),
    "ecn": _OptionEffect("both", _ecn_sysctl, linux=False),
    "ecn_receiver": _OptionEffect("receiver", _ecn_sysctl),
    "ecn_option": _OptionEffect("both", _flag("tcp_ecn_option"), linux=2),
    "delayed_ack": _OptionEffect(
        "receiver", metrics=lambda value: {} if value else {RTAX_QUICKACK: 1}, linux=True
    ),
    "compress_acks": _OptionEffect(
        "receiver", lambda value: {"net.ipv4.tcp_comp_sack_nr": 44 if value else 0}, linux=True
    ),
    "defer_acks": _OptionEffect("receiver", _flag("tcp_backlog_ack_defer"), linux=True),
    "initial_window": _OptionEffect(
        "sender", metrics=lambda value: {RTAX_INITCWND: value}, linux=10
    ),
    "initial_ssthresh": _OptionEffect(
        "sender",
        lambda _value: {"net.ipv4.tcp_no_ssthresh_metrics_save": 0},
        _ssthresh_metrics,
    ),
    "mss": _OptionEffect("both", metrics=lambda value: {RTAX_ADVMSS: value}),
    "recovery": _OptionEffect(
        "sender", lambda value: {"net.ipv4.tcp_recovery": int(value == "rack")}, linux="rack"
    ),
    "reordering": _OptionEffect("sender", _flag("tcp_reordering", "tcp_max_reordering")),
    "tail_loss_probe": _OptionEffect(
        "sender", lambda value: {"net.ipv4.tcp_early_retrans": 3 if value else 0}, linux=True
    ),
    "frto": _OptionEffect(
        "sender", lambda value: {"net.ipv4.tcp_frto": 2 if value else 0}, linux=True
    ),
    "restart_after_idle": _OptionEffect("sender", _flag("tcp_slow_start_after_idle"), linux=True),
    "rto_min": _OptionEffect("sender", metrics=_rto_min_metrics),
    "send_buffer": _OptionEffect("sender", _memory("tcp_wmem", _SEND_START_BYTES)),
    "receive_buffer": _OptionEffect("receiver", _memory("tcp_rmem", _RECEIVE_START_BYTES)),
}


def options_of(*layers: TcpOptions | None) -> dict[str, Any]:
    """Return the values by option; those of a later layer override those of an earlier one."""
    return {key: value for layer in layers if layer for key, value in layer.values().items()}


def at(end: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that take effect at that end of a connection."""
    return {key: value for key, value in values.items() if _EFFECTS[key].ends in (end, "both")}


def host_tcp(values: Mapping[str, Any]) -> HostTcp:
    """Return the settings of a host for those options."""
    applied = HostTcp()
    for key in sorted(values, key=lambda key: key == "ecn_receiver"):  # it wins over `ecn`
        value = values[key]
        applied.sysctls |= _EFFECTS[key].sysctls(value)
        locks = applied.metrics.get(RTAX_LOCK, 0)
        applied.metrics |= _EFFECTS[key].metrics(value)
        if locks:
            applied.metrics[RTAX_LOCK] |= locks
    return applied


One = Literal["sender", "receiver"]
_ENDS: tuple[One, One] = ("sender", "receiver")


@dataclass(frozen=True)
class EndTcp:
    """One end of a TCP flow, with the options that the flow requests.

    ``entry`` is the index of the flow entry in the scenario.
    """

    entry: int
    flow: str
    host: str
    end: One
    options: Mapping[str, Any]


def options_by_host(
    ends: Iterable[EndTcp],
) -> tuple[dict[str, dict[str, Any]], list[tuple[int, str, str]]]:
    """Return the options of each host, and (flow entry, option, message) where flows differ."""
    hosts: dict[str, dict[str, Any]] = {}
    first: dict[tuple[str, One], EndTcp] = {}
    faults: dict[tuple[int, str], str] = {}
    for mine in ends:
        hosts.setdefault(mine.host, {}).update(at(mine.end, mine.options))
        first.setdefault((mine.host, mine.end), mine)
        for end in _ENDS:
            other = first.get((mine.host, end), mine)
            for key, effect in _EFFECTS.items():
                values = [end_tcp.options.get(key, effect.linux) for end_tcp in (mine, other)]
                both = effect.ends == "both" or mine.end == end == effect.ends
                if both and values[0] != values[1]:
                    faults.setdefault((mine.entry, key), _differently(key, mine, other))
    for (host, end), mine in first.items():
        own, sender = hosts[host].get("ecn_receiver"), first.get((host, "sender"))
        if end == "receiver" and sender is not None and own not in (None, hosts[host].get("ecn")):
            text = f"the host {host} also sends, as of flow {shown(sender.flow)}"
            faults.setdefault((mine.entry, "ecn_receiver"), f"{text}: it has one value of ECN")
    return hosts, [(entry, key, text) for (entry, key), text in faults.items()]


def _differently(key: str, mine: EndTcp, other: EndTcp) -> str:
    text = f"{key} is a setting of the host {mine.host}, where flow {shown(other.flow)} also ends"
    if key not in other.options:
        return f"{text} and does not set it: set the same value for that flow"
    theirs = shown(other.options[key])
    if key not in mine.options:
        return f"{text} and sets {theirs}: set the same value for this flow"
    return f"{text} and sets {theirs}, not {shown(mine.options[key])}: set the same value for both"
