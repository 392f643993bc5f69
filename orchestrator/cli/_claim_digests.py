"""Compares the runs of claims with those of the committed summaries.

In the JSON of ``reproduce`` is, for each claim and ablation that has a summary of the length::

    {"digests": [{"paper", "id", "ablation": null or NAME, "equal": [ID], "other": [ID],
                  "absent": [ID], "changed": [NAME]}]}

with the ids of runs that have the digest of the summary, another one, or that it does not have.
``changed`` names kernel and modules that have another hash than in the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.cli import _claim_runs, _output

if TYPE_CHECKING:
    from orchestrator.cli._ablations import Ablated
    from results.claims.measured import Summary
    from results.claims.model import Design, Length, Paper
    from results.claims.values import Used

MEASURED = "measured"
"""Folder of the committed summaries, in that of the claims."""


def read(claims: Path) -> list[Summary]:
    """Return the committed summaries of claims and of ablations; none where there is no folder.

    Raises:
        UsageError: one cannot be read.
    """
    from results.claims.measured import read_folder
    from results.claims.record import CAUSES

    folder = claims / MEASURED
    return [*read_folder(folder), *read_folder(folder / CAUSES)]


def document(
    outcomes: Iterable[_claim_runs.Outcome],
    ablated: Iterable[Ablated],
    papers: Mapping[str, Paper],
    summaries: Sequence[Summary],
    length: Length,
) -> dict[str, Any]:
    """Return how the runs compare with the summaries of their length, JSON-ready."""
    found = [
        _compared((*place, None), made, papers[place[0]].experiments, summaries, length)
        for place, made in _claim_runs.by_claim(outcomes).items()
    ]
    found += [
        _compared(
            (each.name, each.claim, each.ablation.name),
            each.outcomes,
            each.paper.experiments,
            summaries,
            length,
        )
        for each in ablated
    ]
    return {"digests": [each for each in found if each is not None]}


def _compared(
    place: tuple[str, str, str | None],
    outcomes: Iterable[_claim_runs.Outcome],
    designs: Mapping[str, Design],
    summaries: Iterable[Summary],
    length: Length,
) -> dict[str, Any] | None:
    """Return how the runs of one claim or ablation compare; None if there is nothing to compare."""
    from results.claims.digests import compare

    used: dict[str, Used] = {}
    for outcome in outcomes:
        for row in outcome.rows:
            used |= row.series.used
    documents = [
        each.document
        for each in summaries
        if (each.document["paper"], each.document["claim"], each.ablation) == place
        and each.length == length
    ]
    found = compare(used, documents, designs) if used else None
    if found is None:
        return None
    paper, claim, ablation = place
    return {
        "paper": paper,
        "id": claim,
        "ablation": ablation,
        "equal": list(found.equal),
        "other": list(found.other),
        "absent": list(found.absent),
        "changed": list(found.changed),
    }


def show(found: Mapping[str, Any]) -> None:
    """Print for each claim how many of its runs are equal to those of the summaries."""
    out = _output.console()
    for each in found["digests"]:
        name = f"{each['paper']} {each['id']}"
        if each["ablation"] is not None:
            name = f"{name}, {each['ablation']}"
        out.print(f"{name}: {_words(each)}", markup=False)


def _words(found: Mapping[str, Any]) -> str:
    equal, other, absent = (found[kind] for kind in ("equal", "other", "absent"))
    parts = [f"{len(equal)} of {_output.plural(len(equal) + len(other), 'run')} "
             "equal to the bit to those of the committed summaries"]  # fmt: skip
    if other:
        parts.append(f"others: {', '.join(other)}")
        if found["changed"]:
            parts.append(f"built otherwise: {', '.join(found['changed'])}")
    if absent:
        parts.append(f"{_output.plural(len(absent), 'run')} more than there")
    return "; ".join(parts)
