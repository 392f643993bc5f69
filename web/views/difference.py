"""Where two runs part, by their stored traces."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import url_for

from orchestrator.errors import UsageError
from results.comparison.one_sided import OneSided
from results.store.store import Store
from results.store.stored import StoredRun
from results.traces.difference import sides, stored
from results.traces.difference.model import RunDifference, RunSide
from results.traces.difference.sentences import value_text
from web.contract.parameters import DiffQuery
from web.http.cache import cached
from web.views import comparison

NOT_STORED = (
    "No stored traces of both runs show where they part. They must be of all packets, ACKs and "
    "events, from the start of traffic on."
)

ONLY_HERE = "only in this run"
"""In place of a value, of a part that one run has alone."""

AROUND_S = 0.02
"""How much before and after an event its trace is shown."""


@dataclass(frozen=True)
class SetUpLine:
    """A setting that differs, with what each run has."""

    path: str
    texts: tuple[str, str]


def of(store: Store, query: DiffQuery) -> tuple[StoredRun, StoredRun]:
    """Return the two runs that an address names; 404 for one that is not there.

    Raises:
        UsageError: it names another number of runs.
    """
    if len(query.run) != 2:
        raise UsageError(f"run: name two runs that are not the same, not {len(query.run)}")
    one, other = comparison.load(store, query.run, 2)
    return one, other


def found(one: StoredRun, other: StoredRun) -> RunDifference | None:
    """Return where two runs part, between which there is no obstacle; None if no trace shows it.

    Raises:
        StoreError: a trace cannot be read.
    """
    return cached(
        ("difference", one.id, other.id), lambda: (stored.by_stored_traces(one, other), False)
    )


def set_up_lines(one: StoredRun, other: StoredRun) -> list[SetUpLine]:
    """Return in what the set-ups of two runs differ."""
    lines = []
    for part in sides.set_ups_in_short(one, other):
        if isinstance(part, OneSided):
            only = (ONLY_HERE, "")
            lines.append(SetUpLine(part.path, only if part.side == 0 else only[::-1]))
        else:
            first, second = map(value_text, part.values)
            lines.append(SetUpLine(part.path, (first, second)))
    return lines


def closer(runs: tuple[StoredRun, StoredRun], difference: RunDifference) -> list[str | None]:
    """Return for each run the address that shows its packets where they part; None without one."""
    return [
        _closer(run, side, difference.time_ns)
        for run, side in zip(runs, difference.sides, strict=True)
    ]


def _closer(run: StoredRun, side: RunSide, time_ns: int | None) -> str | None:
    if side.trace is None or time_ns is None:
        return None
    (head,) = [head for head in run.traces if head.number == side.trace]
    begin_s, end_s = head.capture.from_ns / 1e9, head.capture.to_ns / 1e9
    from_s = max(begin_s, time_ns / 1e9 - AROUND_S)
    to_s = min(end_s, time_ns / 1e9 + AROUND_S)
    chosen = [("t", f"{from_s:.4f}..{to_s:.4f}")]
    event = side.there
    if event is not None and event.flow is not None:
        chosen.append(("flow", event.flow))
    if event is not None and event.kind == "packet" and event.place:
        chosen.append(("link", event.place))
    return url_for("traces.trace", run_id=run.id, number=side.trace, _anchor=urlencode(chosen))
