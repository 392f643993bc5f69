"""The required form of a test bed's facts, by which they are checked before use.

A fact is one line of ``facts.jsonl`` (testbed/sampling/records.py). Each kind has a form here
with required values, their types and their limits. Values that a form does not name are kept,
because they only go into the run's provenance.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from orchestrator.decode import program_forms
from orchestrator.decode.fact_types import (
    MOST_COUNT,
    Count,
    CounterName,
    Errno,
    Flag,
    Form,
    Name,
    Rate,
    Share,
    Text,
    TimeNs,
    Unsigned,
    When,
    Word,
)
from orchestrator.protocol.links.chosen import MOST_RANGES
from orchestrator.protocol.reports.multipath_facts import COUNTERS
from orchestrator.recording.counters import MOST_COUNTERS


class _Link(Form):
    kind: Word
    rate_bps: Count = 0
    delay_ns: Count = 0


class _Queue(Form):
    kind: Word


class _Netem(Form):
    kind: Word
    delay_ns: Count = 0
    limit_packets: Count | None = None


class _Channel(Form):
    link: _Link
    queue: _Queue
    netem: _Netem


class _Channels(Form):
    at: When
    channels: dict[Name, _Channel]
    differences: list[Annotated[list[Any], Field(min_length=4, max_length=4)]] = Field(default=[])


class _RoundTrip(Form):
    source: Name
    sink: Name
    frame_bytes: Count
    expected_ns: Count
    attempts: Count
    fill_ns: Count
    measured_ns: Count | None
    bare_ns: Count = 0
    ttl: Count | None = None


class _RoundTripEnd(Form):
    source: Name
    sink: Name
    expected_ns: Count
    attempts: Count
    fill_ns: Count
    measured_ns: Count | None
    frame_bytes: Count
    path: list[Name]
    quiet: Flag


_Passed = Annotated[list[TimeNs], Field(min_length=4, max_length=4)]


class _Burst(Form):
    channel: Name
    source: Name
    sink: Name
    frame_bytes: Annotated[int, Field(strict=True, gt=0, le=MOST_COUNT)]
    packets: Count
    rounds: Count
    fill_ns: Count
    settle_ns: TimeNs
    rate_bps: Rate
    queue_packets: Count | None
    behind_ns: Count
    came: Count
    passed: list[_Passed]


class _Policer(Form):
    channel: Name
    source: Name
    sink: Name
    packets: Count
    rounds: Count
    fill_ns: Count
    pause_ns: TimeNs
    settle_ns: TimeNs
    rate_bps: Rate
    burst_bytes: Count
    frame_bytes: Count
    came: Count
    passed: list[_Passed]


class _Queues(Form):
    names: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]
    policers: list[Count]
    devices: dict[Word, Count] = Field(default={})


class _Counters(Form):
    hosts: list[Annotated[list[Name], Field(min_length=1)]]
    names: Annotated[list[CounterName], Field(max_length=MOST_COUNTERS)]


class _Interface(Form):
    offloads: dict[Word, Flag]
    rx_packets: Count
    rx_dropped: Count
    tx_dropped: Count
    shared: Flag = False


class _Interfaces(Form):
    at: When
    interfaces: dict[Name, _Interface]


_Passage = Annotated[list[Count], Field(min_length=2, max_length=2)]
_Stage = Annotated[list[Count], Field(min_length=3, max_length=3)]
_Change = Annotated[int, Field(strict=True, ge=-MOST_COUNT, le=MOST_COUNT)]
_LastStage = tuple[Count, Count, _Change]
"""Its packets on the way are a difference of two readings. On a real machine packets come in
between them, so it may be below 0."""


class _ChannelPackets(Form):
    sent: Count
    entered: Count
    exited: Count
    received: Count
    policer: _Passage | None = None
    queue: _Stage | None = None
    delay: _LastStage | None = None
    ring: _Stage | None = None
    interrupts: Count | None = None
    super_packets: _Stage | None = None


class _HostPackets(Form):
    ip: Count
    transport: Count
    twice: Count
    delivered: Count


class _PacketReading(Form):
    channels: dict[Name, _ChannelPackets]
    hosts: dict[Name, _HostPackets]


class _Packets(_PacketReading):
    at: When
    again: _PacketReading | None = None


class _HostState(Form):
    at: When
    settings: Count
    differences: list[Annotated[list[Word], Field(min_length=4, max_length=4)]]


class _Softnet(Form):
    at: When
    drops: Count


_Span = Annotated[tuple[dict[Word, Unsigned], Count, Count, Count], Field(strict=False)]


_Packed = Annotated[
    str, Field(strict=True, max_length=16 * MOST_RANGES, pattern="^([0-9a-f]{16})*$")
]
_Chosen = Annotated[tuple[_Packed, Count, Count, Count, Count], Field(strict=False)]


class _Timeline(Form):
    steps: Count
    due: Count
    late_ns: dict[Word, TimeNs]
    events: list[Annotated[list[TimeNs], Field(min_length=2, max_length=2)]]
    granted_frames: Count
    impairments: dict[Name, list[_Span]]
    netem_changes: dict[Name, Count]
    chosen_losses: dict[Name, list[_Chosen]] = Field(default={})


class _Namespaces(Form):
    at: When
    values: dict[Name, dict[Name, Any]]


class _Namespace(Form):
    host: Name
    sysctl: Name
    value: Word | Annotated[int, Field(strict=True)]
    clock_ns: TimeNs


class _CapturedFrames(Form):
    host: Name
    from_ns: TimeNs
    to_ns: TimeNs
    seen: Annotated[int, Field(strict=True, ge=0, lt=2**32)]
    lost: Annotated[int, Field(strict=True, ge=0, lt=2**32)]


class _Captures(Form):
    hosts: list[_CapturedFrames]


class _Checksums(Form):
    at: When
    errors: dict[Name, Count]


class _Versions(Form):
    kernel: Name


class _Second(Form):
    late_ns: TimeNs
    others: Share
    steal: Share
    own: Share
    softirq: Share


class _Late(Form):
    p99: TimeNs
    max: TimeNs


class _Host(Form):
    node: Word
    cpu: Count
    cpus: Count
    wakeups: Count
    missed: Count
    late_ns: _Late
    seconds: Annotated[list[_Second], Field(min_length=1)]


class _Problem(Form):
    problem: Text


class _FlowProblem(_Problem):
    flow: Name


class _Congestion(Form):
    flow: Name
    kernel: Annotated[str, Field(strict=True, max_length=64)]


_Failure = Annotated[tuple[TimeNs, TimeNs, Errno, Flag], Field(strict=False)]


class _Outcome(Form):
    flow: Name
    begun: Count
    connected: Flag
    going_on: Count
    ended_ns: TimeNs | None
    failures: list[_Failure]


_MultipathCounters = Annotated[
    list[Count], Field(min_length=len(COUNTERS), max_length=len(COUNTERS))
]


class _Multipath(Form):
    flow: Name
    time_ns: TimeNs
    sender: _MultipathCounters
    receiver: _MultipathCounters


class _Subflow(Form):
    flow: Name
    time_ns: TimeNs
    flags: Annotated[int, Field(strict=True, ge=0, lt=2**32)] | None


class _Engine(Form):
    flow: Name
    sent_bytes: Count
    received_bytes: Count


class _Clock(Form):
    host: Name
    uncertainty_ns: TimeNs
    drift_ns: TimeNs
    between_ns: TimeNs


class _TransferBegins(Form):
    flow: Name
    port: Count
    start_ns: TimeNs


class _TransferEnds(Form):
    flow: Name
    port: Count
    end_ns: TimeNs
    bytes: Count


class _Sprayed(Form):
    switch: Name
    packets: Annotated[dict[Name, Count], Field(min_length=2)]


class _Done(Form):
    origin_ns: TimeNs
    duration_ns: TimeNs


_FORMS: Mapping[str, Any] = {
    "channels": _Channels,
    "sysctls": dict[str, Any],
    "versions": _Versions,
    "round_trip": _RoundTrip,
    "round_trip_after": _RoundTrip,
    "round_trip_end": _RoundTripEnd,
    "burst": _Burst,
    "policer": _Policer,
    "queues": _Queues,
    "counters": _Counters,
    "interfaces": _Interfaces,
    "packets": _Packets,
    "host_state": _HostState,
    "softnet": _Softnet,
    "timeline": _Timeline,
    "namespaces": _Namespaces,
    "namespace": _Namespace,
    "sprayed": _Sprayed,
    "checksums": _Checksums,
    "captures": _Captures,
    "host": _Host,
    "flow_error": _FlowProblem,
    "timeline_error": _Problem,
    "congestion": _Congestion,
    "outcome": _Outcome,
    "multipath": _Multipath,
    "subflow": _Subflow,
    "engine": _Engine,
    "program": program_forms.Program,
    "extracted": program_forms.Extracted,
    "kept": program_forms.Kept,
    "route": dict[str, Any],
    "clock": _Clock,
    "transfer_begins": _TransferBegins,
    "transfer_ends": _TransferEnds,
    "done": _Done,
}

ONCE = frozenset(
    {"channels", "interfaces", "packets", "host_state", "softnet", "namespaces", "queues",
     "counters", "versions", "sysctls", "timeline", "checksums", "captures", "done"}
)  # fmt: skip
"""Facts that a bed reports once, or once at the start and once at the end."""


def problem(fact: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a fact, None when it has the form of its kind."""
    name = fact.get("fact")
    if not isinstance(name, str) or name not in _FORMS:
        return f"there is no fact {name!r}"
    try:
        _adapter(name).validate_python(fact)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field_path = ".".join(map(str, first["loc"]))
        return f"fact {name}{f', {field_path}' if field_path else ''}: {first['msg']}"
    return None


@functools.cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_FORMS[name])
