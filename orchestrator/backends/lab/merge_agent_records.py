"""Puts together what the agents of a lab wrote: one folder, as if one bed had written it.

Every agent's times count from the same moment by its own clock, which was corrected for before
traffic began; so samples that carry the same time were taken at the same time, within what the
facts ``clock`` say.
"""

from __future__ import annotations

import heapq
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.decode.facts import facts as read_facts
from orchestrator.decode.output import Output
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import LINK_ENDS, wire_index
from orchestrator.protocol.records import DATAGRAM_COUNTERS, DATAGRAMS_ROW, TCP_HEAD, TRANSFER_ROW
from topologies.links import DIRECTIONS

Fact = dict[str, Any]

_ONCE = ("flow_error", "timeline_error", "congestion", "engine", "route", "host")


def merge(run: RunSpec, parts: Mapping[str, Output], clocks: Sequence[Fact], output: Path) -> None:
    """Write the files of a bed to ``output``.

    Args:
        run: the run.
        parts: what each machine's agent wrote, by the machine's name.
        clocks: {"host", "uncertainty_ns", "drift_ns", ...} of each.
        output: a folder without these files.

    Raises:
        BedError: the files of an agent are incomplete.
    """
    facts = {host: read_facts(part) for host, part in parts.items()}
    for host, found in facts.items():
        if not any(fact["fact"] == "done" for fact in found):
            raise BedError(f"the agent of {host} did not finish its records")
    _write(output / "tcp.bin", _tcp(parts.values()))
    router = plan_of(run).router
    queues = b"" if router is None else parts[router.host].whole("queue.bin")
    (output / "queue.bin").write_bytes(queues)
    _write(output / "transfers.bin", _transfers(run, parts.values(), facts))
    _write(output / "datagrams.bin", _datagrams(parts.values()))
    lines = (json.dumps(fact) + "\n" for fact in [*_facts(run, facts), *_clocks(clocks)])
    (output / "facts.jsonl").write_text("".join(lines), encoding="utf-8")


def _write(path: Path, rows: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(rows)


def _tcp(parts: Iterable[Output]) -> Iterator[bytes]:
    """Yield the records of all machines in the order of time."""
    records = heapq.merge(*map(_tcp_records, parts), key=lambda record: record[0])
    return (record for _time_ns, record in records)


def _tcp_records(part: Output) -> Iterator[tuple[int, bytes]]:
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


def _datagrams(parts: Iterable[Output]) -> Iterator[bytes]:
    """Yield one row a time and flow: what the source's machine counted, and the sink's."""
    sums: dict[tuple[int, int], list[int]] = {}
    least = DATAGRAM_COUNTERS.index("delay_min_ns")
    for part in parts:
        rows = _rows(part, "datagrams.bin", DATAGRAMS_ROW)
        for time_ns, flow, *values in DATAGRAMS_ROW.iter_unpack(rows):
            known = sums.setdefault((time_ns, flow), [0] * least + [-1, -1])
            for place, value in enumerate(values):
                # The extremes are -1 where nothing came, so also at the source.
                known[place] = max(known[place], value) if place >= least else known[place] + value
    for (time_ns, flow), values in sorted(sums.items()):
        yield DATAGRAMS_ROW.pack(time_ns, flow, *values)


def _rows(part: Output, file: str, row: struct.Struct) -> bytes:
    data = part.whole(file)
    if len(data) % row.size:
        raise BedError(f"{part.folder.name}: {file} ends in the middle of a row")
    return data


def _transfers(
    run: RunSpec, parts: Iterable[Output], facts: Mapping[str, list[Fact]]
) -> Iterator[bytes]:
    """Yield whole transfers: the begin from one machine, the end from the other.

    The connections from one port follow each other, so the first begin goes with the first end.
    """
    for part in parts:
        yield _rows(part, "transfers.bin", TRANSFER_ROW)
    everything = [fact for found in facts.values() for fact in found]
    for number, flow in enumerate(run.flows):
        mine = [fact for fact in everything if fact.get("flow") == flow.name]
        ends: dict[int, list[Fact]] = {}
        for fact in mine:
            if fact["fact"] == "transfer_ends":
                ends.setdefault(fact["port"], []).append(fact)
        for fact in mine:
            if fact["fact"] == "transfer_begins":
                end = ends.get(fact["port"], [])
                last = end.pop(0) if end else {"end_ns": -1, "bytes": 0}
                yield TRANSFER_ROW.pack(number, fact["start_ns"], last["end_ns"], last["bytes"])
        if any(ends.values()):
            raise BedError(f"flow {flow.name}: a transfer ended that had not begun")


def _facts(run: RunSpec, facts: Mapping[str, list[Fact]]) -> Iterator[Fact]:
    router = plan_of(run).router
    emulates = None if router is None else facts[router.host]
    for when in ("start", "end"):
        yield _channels(run, emulates, when)
        both = {host: _one(found, "interfaces", when) for host, found in facts.items()}
        together = {
            f"{host}/{name}": state
            for host, fact in both.items()
            for name, state in fact["interfaces"].items()
        }
        yield {"fact": "interfaces", "at": when, "interfaces": together}
        drops = sum(_one(found, "softnet", when)["drops"] for found in facts.values())
        yield {"fact": "softnet", "at": when, "drops": drops}
    yield _queues(run, emulates)
    yield _versions(facts)
    values = {host: _one(found, "sysctls")["values"] for host, found in facts.items()}
    yield {"fact": "sysctls", "hosts": values}
    told = [_one(found, "namespaces", "end")["values"] for found in facts.values()]
    set_here = {host: values for each in told for host, values in each.items()}
    yield {"fact": "namespaces", "at": "end", "values": set_here}
    yield _timeline([_one(found, "timeline") for found in facts.values()])
    for host, found in facts.items():
        origin_ns = _one(found, "done")["origin_ns"]
        for fact in found:
            if fact["fact"] in _ONCE:
                yield {**fact, "machine": host}
            elif fact["fact"] == "round_trip":
                name = "round_trip" if fact["at"] == "start" else "round_trip_after"
                yield {**fact, "fact": name, "machine": host}
            elif fact["fact"] == "namespace":
                yield {**fact, "clock_ns": fact["clock_ns"] - origin_ns}
    duration_ns = max(_one(found, "done")["duration_ns"] for found in facts.values())
    yield {"fact": "done", "origin_ns": 0, "duration_ns": duration_ns}


def _one(facts: Iterable[Fact], name: str, at: str | None = None) -> Fact:
    for fact in facts:
        if fact["fact"] == name and (at is None or fact.get("at") == at):
            return fact
    raise BedError(f"an agent did not record {name}")


def _channels(run: RunSpec, emulates: list[Fact] | None, when: str) -> Fact:
    """Return every channel as the router has it; of a real one nothing is set."""
    real: Fact = {"rate": {}, "queue": {"kind": ""}, "delay": {"kind": ""}}
    names = [f"{link.name}:{way}" for link in run.network.links for way in DIRECTIONS]
    told = {} if emulates is None else _one(emulates, "channels", when)
    channels = {**dict.fromkeys(names, real), **told.get("channels", {})}
    return {"fact": "channels", "at": when, "channels": channels,
            "differences": told.get("differences", [])}  # fmt: skip


def _queues(run: RunSpec, emulates: list[Fact] | None) -> Fact:
    """Return what is sampled of queues, under the numbers that a bed's devices have."""
    if emulates is None:
        return {"fact": "queues", "names": [], "policers": []}
    told = _one(emulates, "queues")
    router = plan_of(run).router
    assert router is not None, "one emulates"
    place = [link.name for link in run.network.links].index(router.link)
    number = {told["devices"][end]: wire_index(place, end) for end in LINK_ENDS}
    names = [[number[index], handle] for index, handle in told["names"]]
    return {"fact": "queues", "names": names, "policers": []}


def _versions(facts: Mapping[str, list[Fact]]) -> Fact:
    told = {
        host: {key: value for key, value in _one(found, "versions").items() if key != "fact"}
        for host, found in facts.items()
    }
    kernels = dict.fromkeys(each["kernel"] for each in told.values())
    return {"fact": "versions", "kernel": ", ".join(kernels), "hosts": told}


def _timeline(facts: Sequence[Fact]) -> Fact:
    late_ns: dict[str, int] = {}
    events: dict[int, int] = {}
    for fact in facts:
        for kind, each in fact["late_ns"].items():
            late_ns[kind] = max(late_ns.get(kind, 0), each)
        for event, done_ns in fact["events"]:
            events[event] = max(events.get(event, 0), done_ns)
    merged = {key: sum(fact[key] for fact in facts) for key in ("steps", "due", "granted_frames")}
    for key in ("impairments", "netem_changes"):
        merged[key] = next((fact[key] for fact in facts if fact[key]), facts[0][key])
    return {"fact": "timeline", **merged, "late_ns": late_ns, "events": sorted(events.items())}


def _clocks(clocks: Sequence[Fact]) -> Iterator[Fact]:
    return ({"fact": "clock", **each} for each in clocks)
