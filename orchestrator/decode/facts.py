"""Reads the facts that a test bed wrote, and believes none that does not look like one."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

from orchestrator import plaintext
from orchestrator.compile.probes import probes
from orchestrator.decode import fact_schema
from orchestrator.decode.output import Output, malformed
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import facts as protocol

Fact = dict[str, Any]
F = TypeVar("F")

FILE = "facts.jsonl"
MOST_DEPTH = 12
MOST_TEXT_CHARS = 4_000
MOST_KEY_CHARS = 300
_BYTES_PER_VALUE = 8
"""A file may hold a value for so many of the bytes that it may have: each is an object here."""
_SEPARATORS = (b",", b"[", b"{", b"\n")
_STATED = (
    *((name, when) for name in ("channels", "interfaces", "softnet") for when in ("start", "end")),
    ("namespaces", "end"),
    *((name, None) for name in ("versions", "sysctls", "queues", "timeline")),
)
"""What every bed that ended well has stated, and when."""
_OWN = ("burst", "rounds")
"""Of a probe, what a bed on a real machine makes larger by itself; no check reads it."""
_LEAST, _MOST = -(2**63), 2**64 - 1


def facts(output: Output) -> list[Fact]:
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
    wanted = {} if at is None else {"at": at}
    for fact in protocol.of(facts, form, **wanted):
        return fact
    raise BedError(f"the test bed did not record {protocol.name_of(form)}")


def require_of_run(facts: Collection[Fact], run: RunSpec) -> None:
    """Raise BedError unless the facts fit together and speak of the run's own network.

    A failure that the bed itself states comes first: then facts may be missing.
    """
    _require_whole(facts)
    seen: set[tuple[str, object]] = set()
    flows = {flow.name for flow in run.flows}
    pairs = {(flow.source, flow.sink) for flow in run.flows}
    for fact in facts:
        name = fact["fact"]
        key = (name, fact.get("at"))
        if name in fact_schema.ONCE and key in seen:
            raise malformed(f"{FILE} states {name} twice")
        seen.add(key)
        if "flow" in fact and fact["flow"] not in flows:
            raise malformed(f"{FILE}, fact {name}: there is no flow {fact['flow']!r}")
        if name.startswith("round_trip") and (fact["source"], fact["sink"]) not in pairs:
            pair = f"{fact['source']!r} to {fact['sink']!r}"
            raise malformed(f"{FILE}, fact {name}: no flow goes from {pair}")
        if name == "channels":
            _require_channels(fact, run)
    for name, when in _STATED:
        if (name, when) not in seen:
            raise BedError(f"the test bed did not record {name}{f' at the {when}' if when else ''}")
    _require_asked(facts, run)


def _require_whole(facts: Collection[Fact]) -> None:
    broken = [fact for fact in facts if fact["fact"] == "flow_error"]
    if broken:
        raise BedError(f"flow {broken[0]['flow']}: {broken[0]['problem']}")
    late = [fact for fact in facts if fact["fact"] == "timeline_error"]
    if late:
        raise BedError(f"what changes while traffic runs: {late[0]['problem']}")
    if not any(fact["fact"] == "done" for fact in facts):
        raise BedError("the test bed did not finish its records")


def _require_channels(fact: Fact, run: RunSpec) -> None:
    wanted = {f"{link.name}:{way}" for link in run.network.links for way in ("forward", "reverse")}
    if fact["channels"].keys() != wanted:
        other = min(fact["channels"].keys() ^ wanted)
        raise malformed(f"{FILE}, fact channels at the {fact['at']}: {other!r} is missing or extra")
    if fact["at"] == "end" and "differences" not in fact:
        raise malformed(f"{FILE}, fact channels at the end: differences are missing")


def _require_asked(facts: Collection[Fact], run: RunSpec) -> None:
    """Raise BedError where a probe says that it was asked for another thing than it was.

    Checks compare what was measured with what the fact says was asked for. A lab has no probes of
    queues, and its hosts are asked for round trips in words of their own.
    """
    if run.lab is not None:
        return
    asked = probes(run)
    known: dict[str, dict[Any, Mapping[str, Any]]] = {
        "round_trip": {(one["source"], one["sink"]): one for one in asked["round_trips"]},
        "burst": {one["channel"]: one for one in asked["bursts"]},
        "policer": {one["channel"]: one for one in asked["policers"]},
    }
    for fact in facts:
        if fact["fact"] not in known:
            continue
        name = fact["fact"]
        key = (fact["source"], fact["sink"]) if name == "round_trip" else fact["channel"]
        probe = known[name].pop(key, None)  # a second one is not asked for
        if probe is None or any(
            fact.get(part) != value for part, value in probe.items() if (name, part) != _OWN
        ):
            raise malformed(f"{FILE}, fact {name} of {key!r}: nobody asked for that")


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of every whole line."""
    number = start = 0
    while (end := data.find(b"\n", start)) >= 0:
        number += 1
        yield number, data[start:end]
        start = end + 1


def _fact(line: bytes, number: int) -> Fact:
    try:
        found = json.loads(
            line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_number
        )
        fact = _sane(found, 0)
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
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


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
        return [_sane(one, depth + 1) for one in value]
    assert isinstance(value, Mapping), "JSON has no other values"
    return {_key(key): _sane(one, depth + 1) for key, one in value.items()}


def _key(key: str) -> str:
    if len(key) > MOST_KEY_CHARS:
        raise ValueError(f"a key is longer than {MOST_KEY_CHARS} characters")
    return plaintext.visible(key)
