"""Checks the values of a run that a stranger's store has, as a test bed's report is checked.

Checksums only tell that rows are what somebody stored. Here numbers are finite and in range, texts
have a length, JSON has the form that this program writes, and flows, links and windows are known.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import NoneType
from typing import Any, NoReturn

from orchestrator import plaintext
from orchestrator.errors import OrchestratorError
from orchestrator.files.inflating import inflated
from orchestrator.files.scenario_files import ResolvedScenario
from orchestrator.recording import ranges
from orchestrator.recording.model import STATISTIC_SLOTS
from orchestrator.recording.verdicts import verdict_of
from orchestrator.repetitions import MAX_RUNS
from results.metrics import find
from results.metrics.base import Scope
from results.records import typed
from results.records.model import WHOLE
from results.samples import sample_blocks
from results.samples.sample_tables import TABLES
from results.schema import access_errors, database
from results.store.parts import notes
from results.store.store import Store
from results.store.stored import StoredRun
from results.store.upkeep.trace_soundness import require_traces

RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}", re.ASCII)
MOST_TEXT_BYTES = 2**28
"""Limit of a console or a log; see orchestrator/plaintext.py for what this program stores."""
MOST_SCENARIO_CHARACTERS = 4_000_000
MOST_CHARACTERS = 100_000
MOST_NAME = 1000
MOST_DEPTH = 40
MOST_NUMBER = 2.0**64
"""A test bed reports the kernel's numbers of 64 bits, too."""
MOST_SECONDS = 1e8
MOST_BPS = 1e15
MOST_FIELDS = 8

_METRIC = re.compile(r"[a-z][a-z0-9_]{0,99}", re.ASCII)
_JSON = {
    "runs": ("variant", "windows", "resolved", "links", "repetition_rule"),
    "flows": ("path", "congestion_fields", "failed_s"),
    "queues": ("statistics", "rate_steps"),
    "provenance": ("value",),
    "judgements": ("checks",),
}
"""Columns with JSON by table."""
_FORMS: dict[str, type | tuple[type, ...]] = {
    "variant": dict, "resolved": dict, "repetition_rule": (dict, NoneType), "value": object,
}  # fmt: skip
"""What these columns hold; the others hold a list."""
_NAMES = {
    "experiment", "scenario", "backend", "git_commit", "kernel", "digest", "name", "group",
    "source", "sink", "engine", "congestion_asked", "congestion_control", "traffic", "link", "kind",
    "unit", "checks_version", "scenario_sha256", "experiment_sha256", "started_utc", "finished_utc",
    "judged_utc",
}  # fmt: skip
_PROVENANCE: dict[str, type | tuple[type, ...]] = {
    "channels": dict, "confined": bool, "cost": dict, "counters": dict, "engines": dict,
    "events": list, "guest_kernel": dict, "guest_stubs": str, "hosts": list, "impairments": dict,
    "interfaces": dict, "modules": dict, "namespaces": dict, "origin_ns": int, "sysctls": dict,
    "versions": dict, "worker": str,
}  # fmt: skip
"""Types of values that this program stores by these names; others may have any form."""


_KINDS: Mapping[str, ranges.Kind] = {
    "tcp_samples": "tcp", "queue_samples": "queues", "sojourn_times": "sojourn",
    "counter_samples": "counters",
    "datagram_samples": "datagrams", "sender_states": "senders", "transfers": "transfers",
}  # fmt: skip
"""The kind of samples by table."""


class _Unsound(ValueError):
    """A value cannot have been stored by this program; the message says which."""


def problem(store: Store, run_id: object) -> str | None:
    """Return what is wrong with the values of a run, None when nothing is.

    Of the samples only the columns that have limits are read. The checksums have read all.
    """
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
        return "its id is no id of a run"
    try:
        _require_json(store.connection, run_id)
        run = store.load(run_id)
        _require_run(run)
        _require_rows(store.connection, run)
        _require_artefacts(store.connection, run_id)
        _require_notes(run)
        require_traces(store, run)
    except (OrchestratorError, *access_errors.ERRORS, *typed.DECODING_ERRORS) as error:
        return plaintext.visible(plaintext.shortened(str(error) or type(error).__name__, 500))
    return None


def _require_json(connection: sqlite3.Connection, run_id: str) -> None:
    """Raise ValueError for JSON that is none, or that holds what JSON has not or what is too deep.

    Python's decoder takes NaN and Infinity, and this program never writes them.
    """
    for table, names in _JSON.items():
        listed = ", ".join(f"{table}.{name}" for name in names)
        join = "" if table == "runs" else "JOIN runs USING (run) "
        rows = connection.execute(f"SELECT {listed} FROM {table} {join}WHERE id = ?", (run_id,))
        for row in rows:
            for name, text in zip(names, row, strict=True):
                if text is None and name == "repetition_rule":
                    continue
                if not isinstance(text, str):
                    raise _Unsound(f"table {table}: {name} is no text")
                value = _decoded(text, f"{table}: {name}")
                _require_plain(value, f"{table}: {name}")
                if not isinstance(value, _FORMS.get(name, list)):
                    raise _Unsound(f"{table}: {name} has another form")


def _decoded(text: str, what: str) -> Any:
    """Return the value of a JSON text; ValueError names the column of one that is none."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise _Unsound(f"{what} is deeper than {MOST_DEPTH}") from None
    except json.JSONDecodeError as error:
        raise _Unsound(f"{what} is no JSON: {error}") from None


def _no_number(text: str) -> NoReturn:
    raise _Unsound(f"{text} is no number of JSON")


def _require_plain(value: Any, what: str, depth: int = 0) -> None:
    """Raise ValueError unless a decoded value is finite, in range, not deep and not long."""
    if depth > MOST_DEPTH:
        raise _Unsound(f"{what} is deeper than {MOST_DEPTH}")
    if isinstance(value, str):
        if len(value) > MOST_SCENARIO_CHARACTERS:
            raise _Unsound(f"{what} has {len(value)} characters")
        value.encode()  # lone surrogates are in no text of UTF-8
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        if not (math.isfinite(value) and abs(value) <= MOST_NUMBER):
            raise _Unsound(f"{what} is {value!r:.50}, not a number up to {MOST_NUMBER:g}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _require_plain(key, what, depth + 1)
            _require_plain(item, f"{what}.{key:.50}", depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for item in value:
            _require_plain(item, what, depth + 1)
    else:
        raise _Unsound(f"{what} is a {type(value).__name__}")


def _require_fields(record: Mapping[str, Any], what: str) -> None:
    """Raise ValueError unless each field of a record is in the range that its name says."""
    for name, value in record.items():
        where = f"{what} {name}"
        _require_plain(value, where)
        if isinstance(value, str) and len(value) > _longest(name):
            raise _Unsound(f"{where} has {len(value)} characters")
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if name == "loss":
            most: float = 1
        elif name.endswith("_s"):
            most = MOST_SECONDS
        else:
            most = MOST_BPS if name.endswith("_bps") else MOST_NUMBER
        if name in _SIGNED:
            continue
        if not 0 <= value <= most:
            raise _Unsound(f"{where} is {value!r:.50}, not from 0 to {most:g}")


_SIGNED = {"expected", "measured", "value"}
"""Fields of checks, which may be below zero."""


def _longest(name: str) -> int:
    if name == "scenario_text":
        return MOST_SCENARIO_CHARACTERS
    return MOST_NAME if name in _NAMES else MOST_CHARACTERS


def _require_run(run: StoredRun) -> None:
    head, row = run.head, run.row
    links = [link.document() for link in head.links]
    _require_fields(asdict(row) | {"resolved": head.resolved, "links": links}, "runs:")
    _require_fields({"scenario_text": head.scenario_text}, "runs:")
    if not row.duration_s > 0 or row.warmup_s > row.duration_s:
        raise _Unsound(f"runs: a duration of {row.duration_s} s and a warm-up of {row.warmup_s} s")
    if not (row.experiment and row.scenario and row.backend):
        raise _Unsound("runs: a name is empty")
    if not row.repetition < MAX_RUNS:
        raise _Unsound(f"runs: repetition is {row.repetition}; 0 to {MAX_RUNS - 1} is valid")
    for moment in (row.started_utc, row.finished_utc):
        if moment is not None and not database.is_moment(moment):
            raise _Unsound(f"runs: {moment!r:.50} is no time")
    names = [window.name for window in row.windows]
    if WHOLE in names or len(set(names)) < len(names):
        raise _Unsound("runs: two windows of one name")
    for window in row.windows:
        if not (isinstance(window.name, str) and 0 <= window.from_s < window.to_s):
            raise _Unsound(f"runs: window {window.name!r:.50} has no length")
    _require_scenario(head.resolved)
    for link in head.links:
        for channel in (link.forward, link.reverse):
            _require_fields(vars(channel), f"runs: link {link.name}")


def _require_scenario(resolved: ResolvedScenario) -> None:
    flows = resolved.get("flows", [])
    if not isinstance(flows, list):
        raise _Unsound("runs: the flows of the scenario are no list")
    for flow in flows:
        traffic = flow.get("traffic", {}) if isinstance(flow, Mapping) else None
        if not (isinstance(traffic, Mapping) and isinstance(flow.get("name"), str)):
            raise _Unsound("runs: a flow of the scenario has no name")
        if not isinstance(traffic.get("kind", ""), str):
            raise _Unsound("runs: the traffic of a flow has no kind")


def _require_rows(connection: sqlite3.Connection, run: StoredRun) -> None:
    """Raise ValueError unless flows, queues, checks, metrics and samples fit each other."""
    _require_flows(run)
    _require_queues(run)
    _require_kept_files(run)
    _require_counted(connection, run)
    _ = run.entries, run.evidence, run.files
    for number, judgement in enumerate(run.judgements):
        for check in judgement.checks:
            _require_fields(vars(check), f"checks: {check.name:.50}:")
        if judgement.verdict != (verdict := verdict_of(judgement.checks)):
            raise _Unsound(
                f"judgements: number {number} is {judgement.verdict}, but its checks make the run "
                f"{verdict}"
            )
    for key, value in run.provenance.items():
        if len(key) > MOST_NAME or not isinstance(value, _PROVENANCE.get(key, object)):
            raise _Unsound(f"provenance: {key!r:.50} has another form")
    for event in run.provenance.get("events", []):
        times = ("time_s", "applied_s")
        if not isinstance(event, Mapping) or any(
            type(event.get(name)) not in (int, float) for name in times
        ):
            raise _Unsound("provenance: an event has another form")
        _require_fields(event, "provenance: an event:")
    _require_metrics(run)


def _require_flows(run: StoredRun) -> None:
    links = {link.name for link in run.head.links}
    channels = {f"{link}:{way}" for link in links for way in ("forward", "reverse")}
    for flow in run.flows:
        _require_fields(vars(flow), f"flows: {flow.name:.50}:")
        if not all(isinstance(name, str) and name in channels for name in flow.path):
            raise _Unsound(f"flows: {flow.name:.50} crosses an unknown link")
        if flow.start_s >= run.row.duration_s:
            raise _Unsound(
                f"flows: {flow.name:.50} starts at {flow.start_s:g} s, in a run of "
                f"{run.row.duration_s:g} s"
            )
        if wrong := ranges.outcome_problem(flow):
            raise _Unsound(f"flows: {flow.name:.50}: {wrong}")
        _require_pairs(flow.congestion_fields, MOST_FIELDS, "flows: congestion_fields")
    if len({flow.name for flow in run.flows}) < len(run.flows):
        raise _Unsound("flows: two have one name")


def _require_queues(run: StoredRun) -> None:
    links = {link.name for link in run.head.links}
    for queue in run.queues:
        _require_fields(vars(queue), f"queues: {queue.name:.50}:")
        if queue.link not in links:
            raise _Unsound(f"queues: {queue.name:.50} is of an unknown link")
        _require_pairs(queue.statistics, STATISTIC_SLOTS, "queues: statistics")
        for at_s, rate_bps in queue.rate_steps:
            if type(at_s) not in (int, float) or type(rate_bps) not in (int, float):
                raise _Unsound("queues: rate_steps are no numbers")
            _require_fields({"at_s": at_s, "rate_bps": rate_bps}, "queues: rate_steps:")
    if len({queue.name for queue in run.queues}) < len(run.queues):
        raise _Unsound("queues: two have one name")


def _require_kept_files(run: StoredRun) -> None:
    for one in run.kept_files:
        if one.flow >= len(run.flows):
            raise _Unsound(f"kept_files: {one.name:.50} is of an unknown flow")
    stored = {(one.sha256, one.size_bytes): one for one in run.kept_files if one.sha256 is not None}
    for one in stored.values():
        run.kept_content(one)


def _require_pairs(pairs: Sequence[tuple[Any, Any]], most: int, what: str) -> None:
    texts = all(isinstance(text, str) for pair in pairs for text in pair)
    if len(pairs) > most or not texts:
        raise _Unsound(f"{what} have another form")


def _require_counted(connection: sqlite3.Connection, run: StoredRun) -> None:
    """Raise ValueError unless rows are numbered from 0, and samples are of such rows."""
    query = "SELECT {} FROM {} JOIN runs USING (run) WHERE id = ? ORDER BY 1"
    for table, name in (("flows", "flow"), ("queues", "queue"), ("checks", "position")):
        rows = connection.execute(query.format(name, table), (run.id,)).fetchall()
        if [number for (number,) in rows] != list(range(len(rows))):
            raise _Unsound(f"table {table} is not numbered from 0")
    limits = {
        "flow": len(run.flows), "queue": len(run.queues), "endpoint": 2,
        "host": len(run.counter_names.hosts),
    }  # fmt: skip
    for table, (_dtype, keys, *_more) in TABLES.items():
        for key in keys:
            rows = connection.execute(query.format(key, table), (run.id,)).fetchall()
            if any(type(n) is not int or not 0 <= n < limits[key] for (n,) in rows):
                raise _Unsound(f"table {table} has samples of an unknown {key}")
        _require_samples(connection, run, table)


def _require_samples(connection: sqlite3.Connection, run: StoredRun, table: str) -> None:
    """Raise ValueError for a sample that a test bed's report could not have."""
    limits = dict(ranges.of_samples(_KINDS[table], run.duration_s))
    if table == "counter_samples":
        limits["counter"] = (0, len(run.counter_names.names) - 1)
    (key,) = connection.execute("SELECT run FROM runs WHERE id = ?", (run.id,)).fetchone()
    for _key, part in sample_blocks.parts(connection, table, key, list(limits)):
        lows, highs = part.min(axis=0).tolist(), part.max(axis=0).tolist()
        for (name, (least, most)), low, high in zip(limits.items(), lows, highs, strict=True):
            if low < least or high > most:
                wrong = low if low < least else high
                raise _Unsound(f"table {table}: {name} is {wrong}; {least} to {most} is valid")


def _require_metrics(run: StoredRun) -> None:
    """Raise ValueError unless metrics are finite, in range, and of known windows, flows and links.

    A metric that this program does not have is one of another version, so it is taken.
    """
    windows = {WHOLE, *(window.name for window in run.windows)}
    channels = {f"{queue.link}:{queue.direction}" for queue in run.queues}
    seen = set()
    names = ("window", "flow", "link", "name", "value")
    for window, flow, link, name, value in run.raw("metrics", names):
        subject = (window, flow, link, name)
        if subject in seen:
            raise _Unsound(f"metrics: {name!r:.50} is there twice")
        seen.add(subject)
        if window not in windows:
            raise _Unsound(f"metrics: {name!r:.50} of an unknown window {window!r:.50}")
        if flow is not None and (type(flow) is not int or not 0 <= flow < len(run.flows)):
            raise _Unsound(f"metrics: {name!r:.50} of an unknown flow {flow!r:.50}")
        if link is not None and link not in channels:
            raise _Unsound(f"metrics: {name!r:.50} of an unknown link {link!r:.50}")
        if not isinstance(name, str) or not _METRIC.fullmatch(name):
            raise _Unsound(f"metrics: {name!r:.50} is no name of a metric")
        if value is not None and type(value) not in (int, float):
            raise _Unsound(f"metrics: {name} is {value!r:.50}")
        _require_plain(value, f"metrics: {name}")
        scope: Scope = (
            "run" if flow is None and link is None else "flow" if link is None else "link"
        )
        registered = find(name, scope)
        if value is not None and registered is not None and not registered.can_be(value):
            raise _Unsound(
                f"metrics: {name} is {value!r:.50}, which it cannot be; {registered.range} is valid"
            )
    run.metrics()


def _require_artefacts(connection: sqlite3.Connection, run_id: str) -> None:
    query = "SELECT name, text FROM artefacts JOIN runs USING (run) WHERE id = ?"
    for name, content in connection.execute(query, (run_id,)):
        if name not in ("console", "log") or not isinstance(content, bytes):
            raise _Unsound(f"artefacts: {name!r:.50} is unknown")
        try:
            inflated(content, MOST_TEXT_BYTES).decode()
        except ValueError as error:
            raise _Unsound(f"artefacts: the {name} {error}") from error


def _require_notes(run: StoredRun) -> None:
    for note in run.remarks.notes:
        moment = database.is_moment(note.noted_utc)
        if not moment or type(note.number) is not int or not isinstance(note.text, str):
            raise _Unsound("notes: a note has another form")
        notes.check_note(note.text)
    for tag in run.remarks.tags:
        if not isinstance(tag, str):
            raise _Unsound("tags: a tag is no text")
        notes.check_tag(tag)
