"""Synthetic experiments: runs whose flows have the goodput that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.recording.model import RECEIVER, SENDER, Recording, Verdict
from results.experiment.model import MetricSummary
from results.store.store import Store
from tests.support.recordings import flow, head, recording

DURATION_S = 10.0
Goodput = Callable[[Mapping[str, Any], int], Mapping[str, float | Sequence[float]]]
"""Goodputs in bit/s by flow, of a variant and repetition; several are of equal parts of the run."""


def make(
    store: Store,
    goodput: Goodput,
    variants: Sequence[Mapping[str, Any]] = ({},),
    repetitions: int = 5,
    name: str = "trial",
    verdict: Verdict = "faithful",
    **changes: Any,
) -> list[str]:
    """Store the runs of an experiment and return their ids; ``changes`` are of their heads."""
    ids = []
    for variant in variants:
        for repetition in range(repetitions):
            flows = goodput(variant, repetition)
            made = {"experiment": name, "variant": dict(variant), "repetition": repetition,
                    "seed": repetition + 1, "warmup_s": 0.0, "windows": (),
                    "experiment_sha256": "e1"}  # fmt: skip
            run_id = store.begin(head(**(made | changes)))
            digest = f"{variant} {repetition} {flows}"
            store.finish(run_id, _judged(_recording(flows, digest), verdict), 1.0)
            ids.append(run_id)
    return ids


def _judged(made: Recording, verdict: Verdict) -> Recording:
    """Return a recording with that verdict and checks that give it."""
    checks = {
        "faithful": [check for check in made.checks if check.ok],
        "doubtful": made.checks,
        "unfaithful": [replace(check, ok=False) for check in made.checks],
    }
    return replace(made, verdict=verdict, checks=checks[verdict])


def _recording(flows: Mapping[str, float | Sequence[float]], digest: str) -> Recording:
    rows: list[dict[str, Any]] = []
    for index, rates in enumerate(flows.values()):
        parts = [rates] if isinstance(rates, int | float) else list(rates)
        received = 0.0
        ticks = max(20, len(parts))
        for tick in range(ticks + 1):
            time_s = DURATION_S * tick / ticks
            for end, counter in ((SENDER, "bytes_sent"), (RECEIVER, "bytes_received")):
                rows.append(
                    {"time_s": time_s, "flow": index, "endpoint": end, counter: round(received),
                     "rtt_us": 100_000}
                )  # fmt: skip
            rate = parts[min(tick * len(parts) // ticks, len(parts) - 1)]
            received += rate * DURATION_S / ticks / 8
    made = [flow(name, stop_s=None) for name in flows]
    return recording(rows, [], flows=made, digest=digest)


def metric(
    mean: float | None,
    low: float | None,
    high: float | None,
    values: Sequence[float] = (),
    n: int = 2,
) -> MetricSummary:
    """Return a metric of a summary, of ``n`` runs of ``n``."""
    return MetricSummary(
        mean=mean, low=low, high=high, sd=None, n=n, rule="student", of=n, flows_n=n, flows_of=n,
        finished=None, drifting=False, values=values,
    )  # fmt: skip
