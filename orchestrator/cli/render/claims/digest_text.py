"""Prints whether the runs of claims are equal to those of the committed summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.reproduction.claim_digests import ComparedRuns
    from results.claims.digests import DigestComparison


def show(compared: Iterable[ComparedRuns]) -> None:
    """Print for each claim how many of its runs are equal to those of the summaries."""
    out = terminal.console()
    for runs in compared:
        name = f"{runs.paper} {runs.claim}"
        if runs.ablation is not None:
            name = f"{name}, {runs.ablation}"
        terminal.print_line(f"{name}: {_words(runs.comparison)}", out)


def _words(found: DigestComparison) -> str:
    judged = quantities.plural(len(found.equal) + len(found.other), "run")
    parts = [f"{len(found.equal)} of {judged} equal to the bit to those of the committed summaries"]
    if found.other:
        parts.append(f"others: {', '.join(found.other)}")
        if found.changed:
            parts.append(f"built otherwise: {', '.join(found.changed)}")
    if found.link_models:
        models = " and ".join(map(str, found.link_models))
        valid = "" if found.other else ", which stays valid"
        parts.append(f"the summary is of link model {models}{valid}")
    if found.absent:
        parts.append(f"{quantities.plural(len(found.absent), 'run')} more than there")
    return "; ".join(parts)
