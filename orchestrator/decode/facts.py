"""Reads the facts that a test bed wrote, and refuses what has not the form of a fact."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from orchestrator import plaintext
from orchestrator.compile.probes import probes
from orchestrator.decode import fact_schema
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact

F = TypeVar("F")

FILE = "facts.jsonl"
MOST_DEPTH = 12
MOST_TEXT_CHARS = 4_000
MOST_KEY_CHARS = 300
_BYTES_PER_VALUE = 8
"""The limit of a file's values: its limit in bytes, divided by this. Each value is an object."""
_SEPARATORS = (b",", b"[", b"{", b"\n")
_STATED: tuple[tuple[type, str | None], ...] = (
    (protocol.Channels, "start"),
    (protocol.Channels, "end"),
    (protocol.Interfaces, "start"),
    (protocol.Interfaces, "end"),
    (protocol.Softnet, "start"),
    (protocol.Softnet, "end"),
    (protocol.Namespaces, "end"),
    (protocol.Versions, None),
    (protocol.Sysctls, None),
    (protocol.Queues, None),
    (protocol.Counters, None),
    (protocol.Timeline, None),
)
"""Forms of the facts that every bed that ended well has written, and of what time."""
_OWN = ("rounds",)
"""Settings of a burst that a bed on a real machine may increase. No check reads them."""
_LEAST, _MOST = -(2**63), 2**64 - 1


def facts(output: OutputFolder) -> list[Fact]:
    """Return the facts in the order of their writing; an unfinished last line is left.

    Raises:
        BedError: a line is no fact, or not of the form of its kind; names the line.
    """
    data = output.whole(FILE)
    most = output.bounds.file_bytes[FILE] // _BYTES_PER_VALUE
    if sum(map(data.count, _SEPARATORS)) > most:
        raise malformed(f"{FILE} holds more than {most} values")
    return [_fact(line, number) for number, line in _lines(data)]


def one_fact(facts: Collection[Fact], form: type[F], at: str | None = None) -> F:
    """Return the first fact of a form of ``protocol.facts``, of the start or of the end.

    Raises:
        BedError: there is none.
    """
    conditions = {} if at is None else {"at": at}
    for fact in protocol.of(facts, form, **conditions):
        return fact
    raise BedError(f"the test bed did not record {protocol.name_of(form)}")


def require_of_run(facts: Collection[Fact], run: RunSpec) -> None:
    """Raise BedError unless the facts are complete and name only what the run has.

    A failure that the bed itself reports is raised first, because other facts may be missing then.
    """
    _require_whole(facts)
    seen: set[tuple[object, object]] = set()
    flows = {flow.name for flow in run.flows}
    for fact in facts:
        name = fact["fact"]
        key = (name, fact.get("at"))
        if name in fact_schema.ONCE and key in seen:
            raise malformed(f"{FILE} states {name} twice")
        seen.add(key)
        if "flow" in fact and fact["flow"] not in flows:
            raise malformed(f"{FILE}, fact {name}: there is no flow {fact['flow']!r}")
    _require_pairs(protocol.of(facts, protocol.RoundTrip), run)
    _require_pairs(protocol.of(facts, protocol.RoundTripAfter), run)
    for channels in protocol.of(facts, protocol.Channels):
        _require_channels(channels, run)
    for form, when in _STATED:
        name = protocol.name_of(form)
        if (name, when) not in seen:
            raise BedError(f"the test bed did not record {name}{f' at the {when}' if when else ''}")
    _require_requested(facts, run)


def _require_whole(facts: Collection[Fact]) -> None:
    """Raise BedError when the bed reports a failure, or did not write its last fact."""
    for broken in protocol.of(facts, protocol.FlowError):
        raise BedError(f"flow {broken['flow']}: {broken['problem']}")
    for late in protocol.of(facts, protocol.TimelineError):
        raise BedError(f"what changes while traffic runs: {late['problem']}")
    if not protocol.of(facts, protocol.Done):
        raise BedError("the test bed did not finish its records")


def _require_pairs(trips: Iterable[protocol.RoundTrip], run: RunSpec) -> None:
    """Raise BedError when a round trip is between hosts that no flow joins."""
    pairs = {(flow.source, flow.sink) for flow in run.flows}
    for trip in trips:
        if (trip["source"], trip["sink"]) not in pairs:
            pair = f"{trip['source']!r} to {trip['sink']!r}"
            raise malformed(f"{FILE}, fact {trip['fact']}: no flow goes from {pair}")


def _require_channels(fact: protocol.Channels, run: RunSpec) -> None:
    """Raise BedError unless the fact has every channel of the run, and no other."""
    expected = {
        f"{link.name}:{way}" for link in run.network.links for way in ("forward", "reverse")
    }
    if fact["channels"].keys() != expected:
        other = min(fact["channels"].keys() ^ expected)
        raise malformed(f"{FILE}, fact channels at the {fact['at']}: {other!r} is missing or extra")
    if fact["at"] == "end" and "differences" not in fact:
        raise malformed(f"{FILE}, fact channels at the end: differences are missing")


def _require_requested(facts: Collection[Fact], run: RunSpec) -> None:
    """Raise BedError unless each probe has the settings that the specification requested.

    Checks compare what was measured with these settings. A lab has no probes of queues. To its
    round trips the controller adds those of the hosts without emulation.
    """
    if run.lab is not None:
        return
    requested = probes(run)
    round_trips = {
        (probe["source"], probe["sink"], probe["frame_bytes"]): probe
        for probe in requested["round_trips"]
    }
    at_end = {(probe["source"], probe["sink"]): probe for probe in requested["round_trips_end"]}
    bursts = {(probe["channel"], probe["frame_bytes"]): probe for probe in requested["bursts"]}
    policers = {probe["channel"]: probe for probe in requested["policers"]}
    # Each is requested once, so each is taken out when it is found.
    for trip in protocol.of(facts, protocol.RoundTrip):
        ends = (trip["source"], trip["sink"], trip["frame_bytes"])
        _require_settings(trip, round_trips.pop(ends, None), ends)
    for end in protocol.of(facts, protocol.RoundTripEnd):
        pair = (end["source"], end["sink"])
        _require_settings(end, at_end.pop(pair, None), pair)
    for burst in protocol.of(facts, protocol.Burst):
        burst_key = (burst["channel"], burst["frame_bytes"])
        _require_settings(burst, bursts.pop(burst_key, None), burst_key, _OWN)
    for policer in protocol.of(facts, protocol.Policer):
        _require_settings(policer, policers.pop(policer["channel"], None), policer["channel"])


def _require_settings(
    fact: Fact, probe: Mapping[str, object] | None, subject: object, own: Collection[str] = ()
) -> None:
    """Raise BedError unless a fact has the settings of that probe, but for those in ``own``."""
    if probe is None or any(
        fact.get(name) != value for name, value in probe.items() if name not in own
    ):
        raise malformed(f"{FILE}, fact {fact['fact']} of {subject!r}: this was not requested")


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of every whole line."""
    number = start = 0
    while (end := data.find(b"\n", start)) >= 0:
        number += 1
        yield number, data[start:end]
        start = end + 1


def _fact(line: bytes, number: int) -> Fact:
    try:
        decoded = json.loads(
            line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number
        )
        fact = _sane(decoded, 0)
    except RecursionError:
        raise malformed(f"{FILE}, line {number}: nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise malformed(f"{FILE}, line {number}: {error}") from None
    if not isinstance(fact, dict):
        raise malformed(f"{FILE}, line {number}: a JSON object is allowed")
    wrong = fact_schema.problem(fact)
    if wrong is not None:
        raise malformed(f"{FILE}, line {number}: {wrong}")
    return fact


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has a key twice")
    return members


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _sane(value: Any, depth: int) -> Any:
    """Return the value with clean texts; ValueError when a number or its depth is out of bounds."""
    if isinstance(value, str):
        return plaintext.visible(plaintext.shortened(value, MOST_TEXT_CHARS))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        if not _LEAST <= value <= _MOST:
            raise ValueError("an integer has more than 64 bits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number is not finite")
        return value
    if depth >= MOST_DEPTH:
        raise ValueError(f"nested deeper than {MOST_DEPTH}")
    if isinstance(value, list):
        return [_sane(item, depth + 1) for item in value]
    assert isinstance(value, Mapping), "JSON has no other values"
    return {_key(key): _sane(item, depth + 1) for key, item in value.items()}


def _key(key: str) -> str:
    if len(key) > MOST_KEY_CHARS:
        raise ValueError(f"a key is longer than {MOST_KEY_CHARS} characters")
    return plaintext.visible(key)
