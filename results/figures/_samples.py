"""Samples of runs for distributions, put together over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.suggestions import suggest
from results.figures import _series
from results.metrics.base import Span
from results.metrics.regular import on_grid
from results.store.stored import StoredRun

if TYPE_CHECKING:
    from results.figures._study import Study
    from results.matrix.axes import Where

SampleName = Literal["rtt", "transfers"]

TITLES: Mapping[SampleName, str] = {"rtt": "RTT", "transfers": "Transfer time"}

WORDS: Mapping[SampleName, str] = {"rtt": "samples of the RTT", "transfers": "transfers"}

WHY_NONE: Mapping[SampleName, str] = {
    "rtt": "no flow of TCP measured one after the warm-up",
    "transfers": "no flow's traffic makes transfers that complete after the warm-up",
}

Floats = npt.NDArray[np.float64]


def pooled(
    study: Study,
    sample: SampleName,
    where: Where,
    entries: Sequence[str],
    names: Mapping[str, str],
) -> list[tuple[str, Floats]]:
    """Return (name, ascending values in seconds) of each flow entry and variant with samples.

    Raises:
        UsageError: there is no such flow entry, or no run.
    """
    chosen = study.runs(where)
    apart = _series.distinguishing([variant_runs.variant for variant_runs in chosen])
    parts_of: dict[tuple[str, str], list[Floats]] = {}
    known: set[str] = set()
    incomplete = 0
    for variant_runs in chosen:
        variant = ", ".join(_series.variant_parts(apart, variant_runs.variant, names))
        for row in variant_runs.runs:
            run = study.load(row)
            known |= set(run.entries)
            for index, entry in enumerate(run.entries):
                if not entries or entry in entries:
                    values, missing = _values(run, index, sample)
                    incomplete += missing
                    parts_of.setdefault((entry, variant), []).append(values)
    for entry in entries:
        if entry not in known:
            raise UsageError(
                f"there is no flow entry {entry}{suggest(entry, known)}; "
                f"the entries are {', '.join(sorted(known))}"
            )
    if incomplete:
        study.note(f"left out: transfers that were not complete at the end of a run ({incomplete})")
    together = {key: np.sort(np.concatenate(parts)) for key, parts in parts_of.items()}
    filled = {key: values for key, values in together.items() if len(values)}
    several = len({entry for entry, _variant in filled}) > 1 or not apart
    return [
        (", ".join(filter(None, (text if several else "", variant))), values)
        for (entry, variant), values in filled.items()
        for text in [names.get(entry, entry)]
    ]


def _values(run: StoredRun, flow: int, sample: SampleName) -> tuple[Floats, int]:
    """Return (a flow's samples after the warm-up in seconds, number of incomplete transfers)."""
    span = Span(run.warmup_s, run.duration_s)
    if sample == "rtt":
        rtts_us = on_grid(run, flow, span, ["rtt_us"]).sampled("rtt_us")
        return np.asarray(rtts_us[rtts_us > 0] / 1e6, np.float64), 0
    columns = run.transfer_columns(flow)
    begun = columns["start_ns"] >= nanoseconds(span.from_s)
    complete = np.isfinite(columns["end_ns"])
    chosen = begun & complete
    times_s = (columns["end_ns"][chosen] - columns["start_ns"][chosen]) / 1e9
    return np.asarray(times_s, np.float64), int((begun & ~complete).sum())
