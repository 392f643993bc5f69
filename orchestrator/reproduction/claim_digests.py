"""Compares the runs of claims with those of the committed summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.reproduction import claim_runs
from results.claims.claim_summaries import read_folder
from results.claims.digests import DigestComparison, compare
from results.claims.record import CAUSES, Record

if TYPE_CHECKING:
    from orchestrator.reproduction.ablations import AblationRuns
    from results.claims.judged_statements import JudgedStatement
    from results.claims.stated.model import Design, Length, Paper
    from results.claims.values import UsedRun

MEASURED = "measured"
"""Folder of the committed summaries, in that of the claims."""


@dataclass(frozen=True)
class ComparedRuns:
    """How the runs of a claim, or of one of its ablations, compare with the summaries."""

    paper: str
    claim: str
    ablation: str | None
    comparison: DigestComparison


def read(claims: Path) -> list[Record]:
    """Return the committed summaries of claims and of ablations; none where there is no folder.

    Raises:
        UsageError: one cannot be read.
    """
    folder = claims / MEASURED
    return [summary.record for summary in (*read_folder(folder), *read_folder(folder / CAUSES))]


def compared(
    outcomes: Iterable[JudgedStatement],
    ablated: Iterable[AblationRuns],
    papers: Mapping[str, Paper],
    records: Sequence[Record],
    length: Length,
) -> list[ComparedRuns]:
    """Return how the runs compare with the summaries of their length, where there are any."""
    comparisons = [
        _compared((*claim_key, None), made, papers[claim_key[0]].experiments, records, length)
        for claim_key, made in claim_runs.by_claim(outcomes).items()
    ]
    comparisons += [
        _compared(
            (ablation_runs.name, ablation_runs.claim, ablation_runs.ablation.name),
            ablation_runs.outcomes,
            ablation_runs.paper.experiments,
            records,
            length,
        )
        for ablation_runs in ablated
    ]
    return [comparison for comparison in comparisons if comparison is not None]


def _compared(
    claim_key: tuple[str, str, str | None],
    outcomes: Iterable[JudgedStatement],
    designs: Mapping[str, Design],
    records: Iterable[Record],
    length: Length,
) -> ComparedRuns | None:
    """Return how the runs of one claim or ablation compare; None if there is nothing to compare."""
    used: dict[str, UsedRun] = {}
    for outcome in outcomes:
        for judged in outcome.rows:
            used |= judged.values.used
    own = [
        record
        for record in records
        if (record.paper, record.claim, record.ablation) == claim_key and record.length == length
    ]
    comparison = compare(used, own, designs) if used else None
    return None if comparison is None else ComparedRuns(*claim_key, comparison)
