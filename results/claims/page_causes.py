"""The ablations of a claim in the document of all claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from results.claims.judge import NO_VALUE
from results.claims.measured import Summary
from results.claims.model import Ablation, Paper
from results.claims.page_parts import line, paper_of, wrapped
from results.claims.record import CAUSES


def ablations(
    name: str, paper: Paper, claim: str, causes: Mapping[tuple[str, str, str], Summary]
) -> Iterator[str]:
    """Yield what the ablations of a claim change and ask, and what their runs gave.

    Values without an ablation are those of its own length.
    """
    every = paper.claims[claim].ablations
    if not every:
        return
    found = {each.name: causes.get((name, claim, each.name)) for each in every}
    yield ""
    yield "Ablations:"
    yield ""
    for each in every:
        yield from _described(name, claim, each, found[each.name])
    lines = [
        one
        for each in every
        if (measured := found[each.name]) is not None
        for one in _rows(paper, claim, each, measured)
    ]
    if lines:
        yield ""
        yield "| ablation | id | | paper | here | with it | runs | verdict with it |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from lines


def _described(
    name: str, claim: str, ablation: Ablation, measured: Summary | None
) -> Iterator[str]:
    changes = " ".join(f"`--set '{each}'`" for each in ablation.set)
    text = f"- *{ablation.name}*: {ablation.says} {ablation.asks} {changes}."
    length = "quick" if measured is None else measured.length
    # At full length the other statements of the claim may cost hours.
    of = [claim] if length == "quick" else ablation.of
    targets = " ".join(f"{name}:{each}" for each in of)
    command = f"`orchestrator reproduce {targets} --{length} --causes`"
    if measured is None:
        yield from wrapped(f"{text} Not measured yet: {command}.")
        return
    link = f"../scenarios/papers/claims/measured/{CAUSES}/{measured.file}"
    number = len(measured.document["runs"])
    kernel = measured.document["kernel"]
    yield from wrapped(f"{text} [{number} runs]({link}), kernel {kernel}: {command}.")


def _rows(paper: Paper, claim: str, ablation: Ablation, measured: Summary) -> Iterator[str]:
    made = measured.without
    for statement in paper.claims[claim].statements:
        if statement.id not in ablation.of:
            continue
        own = made.findings(statement) if made is not None else []
        before = {row.label: finding for row, finding in own}
        for row, finding in measured.findings(statement):
            yield line(
                ablation.name,
                statement.id,
                row.label,
                paper_of(row, statement),
                before[row.label].text(row.accepted) if row.label in before else NO_VALUE,
                finding.text(row.accepted),
                str(finding.n),
                finding.verdict,
            )
