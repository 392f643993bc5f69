"""Merges the files of a lab's agents into one folder of the form that a single test bed writes.

All agents count time from the same moment, each by its own clock. Offsets between the clocks are
measured and corrected before traffic begins. So samples with equal times were taken at the same
time, within the uncertainty that the facts ``clock`` state.
"""

from __future__ import annotations

import heapq
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from orchestrator.backends.lab import merge_captures, merge_programs
from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.decode.facts import facts as read_facts
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.kept_files import FILE as KEPT_FILE
from orchestrator.protocol.numbering import LINK_ENDS, wire_index
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.counter_facts import is_of_program
from orchestrator.protocol.reports.facts import Fact
from orchestrator.protocol.reports.records import (
    COUNTER_ROW,
    DATAGRAM_COUNTERS,
    DATAGRAMS_ROW,
    SENDER_STATE_ROW,
    TCP_HEAD,
    TRANSFER_ROW,
)
from orchestrator.protocol.reports.trace_records import FILE as TRACE_FILE
from topologies.links import DIRECTIONS

F = TypeVar("F")

_OF_ONE_MACHINE = (
    "timeline_error",
    "congestion",
    "engine",
    "outcome",
    "route",
    "host",
)
"""Facts that are taken over with the name of the machine that reported them."""


def merge(
    run: RunSpec,
    parts: Mapping[str, OutputFolder],
    clocks: Sequence[Mapping[str, object]],
    output: Path,
) -> None:
    """Write the merged files to ``output``.

    Args:
        run: the run.
        parts: the files of each machine's agent, by the machine's name.
        clocks: each machine's fact ``clock`` without its name.
        output: a folder without these files.

    Raises:
        BedError: the files of an agent are incomplete.
    """
    facts = {host: read_facts(part) for host, part in parts.items()}
    for host, agent_facts in facts.items():
        if not protocol.of(agent_facts, protocol.Done):
            raise BedError(f"the agent of {host} did not finish its records")
    _write(output / "tcp.bin", _tcp(parts.values()))
    router = plan_of(run).router
    for name in ("queue.bin", "readings.bin", "sojourn.bin"):
        rows = b"" if router is None else parts[router.host].whole(name)
        (output / name).write_bytes(rows)
    _write(output / "transfers.bin", _transfers(run, parts.values(), facts))
    _write(output / "datagrams.bin", _datagrams(parts.values()))
    _write(output / "counters.bin", _counter_rows(parts, facts))
    states = (_rows(part, "senders.bin", SENDER_STATE_ROW) for part in parts.values())
    _write(output / "senders.bin", states)
    if merge_programs.keeps_files(run):
        _write(output / KEPT_FILE, merge_programs.kept_files(run, parts, facts))
    merged = [*_facts(run, facts), *merge_programs.program_facts(run, facts), *_clocks(clocks)]
    if run.capture is not None:
        _write(output / TRACE_FILE, merge_captures.frames(run, run.capture, parts, facts))
        merged.append(merge_captures.captures(run, facts))
    lines = (json.dumps(fact) + "\n" for fact in merged)
    (output / "facts.jsonl").write_text("".join(lines), encoding="utf-8")


def _write(path: Path, rows: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(rows)


def _tcp(parts: Iterable[OutputFolder]) -> Iterator[bytes]:
    """Yield the records of all machines in the order of time."""
    records = heapq.merge(*map(_tcp_records, parts), key=lambda record: record[0])
    return (record for _time_ns, record in records)


def _tcp_records(part: OutputFolder) -> Iterator[tuple[int, bytes]]:
    data = part.whole("tcp.bin")
    offset = 0
    while offset < len(data):
        if offset + TCP_HEAD.size > len(data):
            raise BedError(f"{part.folder.name}: tcp.bin ends in the middle of a record")
        time_ns, length = TCP_HEAD.unpack_from(data, offset)
        end = offset + TCP_HEAD.size + length
        if end > len(data):
            raise BedError(f"{part.folder.name}: tcp.bin ends in the middle of a record")
        yield time_ns, data[offset:end]
        offset = end


def _datagrams(parts: Iterable[OutputFolder]) -> Iterator[bytes]:
    """Yield one row a time and flow: what the source's machine counted, and the sink's."""
    sums: dict[tuple[int, int], list[int]] = {}
    least = DATAGRAM_COUNTERS.index("delay_min_ns")
    for part in parts:
        rows = _rows(part, "datagrams.bin", DATAGRAMS_ROW)
        for time_ns, flow, *values in DATAGRAMS_ROW.iter_unpack(rows):
            known = sums.setdefault((time_ns, flow), [0] * least + [-1, -1])
            for index, value in enumerate(values):
                # The extremes are -1 where nothing came, so also at the source.
                known[index] = max(known[index], value) if index >= least else known[index] + value
    for (time_ns, flow), values in sorted(sums.items()):
        yield DATAGRAMS_ROW.pack(time_ns, flow, *values)


def _rows(part: OutputFolder, file: str, row: struct.Struct) -> bytes:
    data = part.whole(file)
    if len(data) % row.size:
        raise BedError(f"{part.folder.name}: {file} ends in the middle of a row")
    return data


def _transfers(
    run: RunSpec, parts: Iterable[OutputFolder], facts: Mapping[str, list[Fact]]
) -> Iterator[bytes]:
    """Yield whole transfers: the begin from one machine, the end from the other.

    The connections from one port follow each other, so the first begin goes with the first end.
    """
    for part in parts:
        yield _rows(part, "transfers.bin", TRANSFER_ROW)
    everything = [fact for agent_facts in facts.values() for fact in agent_facts]
    for number, flow in enumerate(run.flows):
        ends: dict[int, list[protocol.TransferEnds]] = {}
        for end in protocol.of(everything, protocol.TransferEnds, flow=flow.name):
            ends.setdefault(end["port"], []).append(end)
        for begin in protocol.of(everything, protocol.TransferBegins, flow=flow.name):
            mine = ends.get(begin["port"], [])
            end_ns, size_bytes = (-1, 0)
            if mine:
                end = mine.pop(0)
                end_ns, size_bytes = end["end_ns"], end["bytes"]
            yield TRANSFER_ROW.pack(number, begin["start_ns"], end_ns, size_bytes)
        if any(ends.values()):
            raise BedError(f"flow {flow.name}: a transfer ended that had not begun")


def _facts(run: RunSpec, facts: Mapping[str, list[Fact]]) -> Iterator[Mapping[str, object]]:
    """Yield the facts of the run, most of them merged from those of all machines."""
    router = plan_of(run).router
    of_router = None if router is None else facts[router.host]
    for when in ("start", "end"):
        yield _channels(run, of_router, when)
        both = {
            host: _one(agent_facts, protocol.Interfaces, when)
            for host, agent_facts in facts.items()
        }
        together = {
            f"{host}/{name}": state
            for host, fact in both.items()
            for name, state in fact["interfaces"].items()
        }
        yield {"fact": "interfaces", "at": when, "interfaces": together}
        yield from _host_state(facts.values(), when)
        drops = sum(
            _one(agent_facts, protocol.Softnet, when)["drops"] for agent_facts in facts.values()
        )
        yield {"fact": "softnet", "at": when, "drops": drops}
    yield _queues(run, of_router)
    yield _counters(facts)
    yield _versions(facts)
    values = {
        host: _one(agent_facts, protocol.Sysctls)["values"] for host, agent_facts in facts.items()
    }
    yield {"fact": "sysctls", "hosts": values}
    ends = [
        _one(agent_facts, protocol.Namespaces, "end")["values"] for agent_facts in facts.values()
    ]
    of_hosts = {host: values for sysctls in ends for host, values in sysctls.items()}
    yield {"fact": "namespaces", "at": "end", "values": of_hosts}
    yield _timeline([_one(agent_facts, protocol.Timeline) for agent_facts in facts.values()])
    for host, agent_facts in facts.items():
        yield from _of_machine(host, agent_facts)
    duration_ns = max(
        _one(agent_facts, protocol.Done)["duration_ns"] for agent_facts in facts.values()
    )
    yield {"fact": "done", "origin_ns": 0, "duration_ns": duration_ns}


def _host_state(agents: Iterable[list[Fact]], when: str) -> Iterator[Mapping[str, object]]:
    """Yield the fact of all machines together."""
    states = [_one(facts, protocol.HostState, when) for facts in agents]
    yield {
        "fact": "host_state",
        "at": when,
        "settings": sum(state["settings"] for state in states),
        "differences": [difference for state in states for difference in state["differences"]],
    }


def _of_machine(host: str, facts: list[Fact]) -> Iterator[Mapping[str, object]]:
    """Yield the facts of one machine that are not merged with those of others."""
    origin_ns = _one(facts, protocol.Done)["origin_ns"]
    for fact in facts:
        if fact["fact"] == "flow_error":
            yield {**fact, "problem": f"{host}: {fact['problem']}"}
        elif fact["fact"] in _OF_ONE_MACHINE:
            yield {**fact, "machine": host}
    for trip in protocol.of(facts, protocol.RoundTrip):
        name = "round_trip" if trip.get("at") == "start" else "round_trip_after"
        yield {**trip, "fact": name, "machine": host}
    for change in protocol.of(facts, protocol.Namespace):
        yield {**change, "clock_ns": change["clock_ns"] - origin_ns}


def _one(facts: Iterable[Fact], form: type[F], at: str | None = None) -> F:
    """Return an agent's first fact of a form, of the start or of the end."""
    conditions = {} if at is None else {"at": at}
    for fact in protocol.of(facts, form, **conditions):
        return fact
    raise BedError(f"an agent did not record {protocol.name_of(form)}")


def _channels(run: RunSpec, of_router: list[Fact] | None, when: str) -> protocol.Channels:
    """Return every channel: the router's as the kernel has them, and the real ones without any."""
    real: protocol.Channel = {"link": {"kind": ""}, "queue": {"kind": ""}, "netem": {"kind": ""}}
    names = [f"{link.name}:{way}" for link in run.network.links for way in DIRECTIONS]
    channels = dict.fromkeys(names, real)
    differences: list[tuple[str, str, protocol.SettingValue, protocol.SettingValue]] = []
    if of_router is not None:
        emulated = _one(of_router, protocol.Channels, when)
        channels |= emulated["channels"]
        differences = emulated.get("differences", [])
    return {"fact": "channels", "at": when, "channels": channels, "differences": differences}


def _queues(run: RunSpec, of_router: list[Fact] | None) -> protocol.Queues:
    """Return the sampled queues by the interface indices that they would have in a single bed."""
    router = plan_of(run).router
    if of_router is None or router is None:
        return {"fact": "queues", "names": [], "policers": []}
    sampled = _one(of_router, protocol.Queues)
    link_index = [link.name for link in run.network.links].index(router.link)
    number = {sampled["devices"][end]: wire_index(link_index, end) for end in LINK_ENDS}
    names = [(number[index], handle) for index, handle in sampled["names"]]
    return {"fact": "queues", "names": names, "policers": []}


def _counters(facts: Mapping[str, list[Fact]]) -> protocol.Counters:
    """Return the hosts of all machines, and the counters that the kernels of all of them have."""
    listed = [one for one in _listed_counters(facts) if one["hosts"]]
    common = set[str].intersection(*(set(one["names"]) for one in listed)) if listed else set()
    first = listed[0]["names"] if listed else []
    names = [name for name in first if name in common and not is_of_program(name)]
    # Each flow of programs at a host has some, so machines differ.
    every = (name for one in listed for name in one["names"] if is_of_program(name))
    names += dict.fromkeys(every)
    hosts = [shared for one in listed for shared in one["hosts"]]
    return {"fact": "counters", "hosts": hosts, "names": names}


def _listed_counters(facts: Mapping[str, list[Fact]]) -> list[protocol.Counters]:
    return [_one(agent_facts, protocol.Counters) for agent_facts in facts.values()]


def _counter_rows(
    parts: Mapping[str, OutputFolder], facts: Mapping[str, list[Fact]]
) -> Iterator[bytes]:
    """Yield the rows of all machines in the order of time, numbered as ``_counters`` says."""
    number_of = {name: number for number, name in enumerate(_counters(facts)["names"])}
    rows: list[tuple[int, int, int, int]] = []
    first = 0
    for machine, listed in zip(facts, _listed_counters(facts), strict=True):
        data = _rows(parts[machine], "counters.bin", COUNTER_ROW)
        for time_ns, host, counter, value in COUNTER_ROW.iter_unpack(data):
            if counter >= len(listed["names"]) or host >= len(listed["hosts"]):
                raise BedError(f"{machine}: counters.bin has a row of what is not listed")
            if (name := listed["names"][counter]) in number_of:
                rows.append((time_ns, first + host, number_of[name], value))
        first += len(listed["hosts"])
    return (COUNTER_ROW.pack(*row) for row in sorted(rows))


def _versions(facts: Mapping[str, list[Fact]]) -> protocol.Versions:
    """Return the versions by host, and the different kernels as one text."""
    by_host = {host: _one(agent_facts, protocol.Versions) for host, agent_facts in facts.items()}
    kernels = dict.fromkeys(version["kernel"] for version in by_host.values())
    hosts = {
        host: {key: value for key, value in version.items() if key != "fact"}
        for host, version in by_host.items()
    }
    return {"fact": "versions", "kernel": ", ".join(kernels), "hosts": hosts}


def _timeline(facts: Sequence[protocol.Timeline]) -> protocol.Timeline:
    """Return the sums of all machines' steps, the worst lateness and the last time of each event.

    Only the router changes impairments.
    """
    late_ns: dict[str, int] = {}
    events: dict[int, int] = {}
    for fact in facts:
        for kind, lateness_ns in fact["late_ns"].items():
            late_ns[kind] = max(late_ns.get(kind, 0), lateness_ns)
        for event, done_ns in fact["events"]:
            events[event] = max(events.get(event, 0), done_ns)
    changed = next((fact["impairments"] for fact in facts if fact["impairments"]), {})
    changes = next((fact["netem_changes"] for fact in facts if fact["netem_changes"]), {})
    chosen = next((losses for fact in facts if (losses := fact.get("chosen_losses"))), {})
    return {
        "fact": "timeline",
        "steps": sum(fact["steps"] for fact in facts),
        "due": sum(fact["due"] for fact in facts),
        "granted_frames": sum(fact["granted_frames"] for fact in facts),
        "impairments": changed,
        "netem_changes": changes,
        "chosen_losses": chosen,
        "late_ns": late_ns,
        "events": sorted(events.items()),
    }


def _clocks(clocks: Sequence[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    return ({"fact": "clock", **clock} for clock in clocks)
