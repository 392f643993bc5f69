"""The ablations of a claim in the document of its paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from results.claims.claim_summaries import ClaimSummary, rows_of
from results.claims.page.parts import MEASURED, line, paper_of, wrapped
from results.claims.record import CAUSES
from results.claims.stated.model import Ablation, Paper
from results.wording.quantities import NO_VALUE


def ablations(
    name: str, paper: Paper, claim: str, causes: Mapping[tuple[str, str, str], ClaimSummary]
) -> Iterator[str]:
    """Yield what the ablations of a claim change and ask, and what their runs gave.

    Values without an ablation are those of its own length.
    """
    every = paper.claims[claim].ablations
    if not every:
        return
    summaries = {ablation.name: causes.get((name, claim, ablation.name)) for ablation in every}
    yield ""
    yield "Ablations:"
    yield ""
    for ablation in every:
        yield from _described(name, claim, ablation, summaries[ablation.name])
    lines = [
        row
        for ablation in every
        if (measured := summaries[ablation.name]) is not None
        for row in _rows(paper, claim, ablation, measured)
    ]
    if lines:
        yield ""
        yield "| ablation | id | | paper | here | with it | runs | verdict with it |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from lines


def _described(
    name: str, claim: str, ablation: Ablation, measured: ClaimSummary | None
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
    link = f"{MEASURED}/{CAUSES}/{measured.file}"
    number = len(measured.record.runs)
    kernel = measured.record.kernel
    yield from wrapped(f"{text} [{number} runs]({link}), kernel {kernel}: {command}.")


def _rows(paper: Paper, claim: str, ablation: Ablation, measured: ClaimSummary) -> Iterator[str]:
    made = measured.without
    for statement in paper.claims[claim].statements:
        if statement.id not in ablation.of:
            continue
        before = {each.row.label: each for each in rows_of(statement, made)}
        for judged in measured.rows(statement):
            label = judged.row.label
            yield line(
                ablation.name,
                statement.id,
                judged.label,
                paper_of(judged.row, statement),
                before[label].text if label in before else NO_VALUE,
                judged.text,
                str(judged.finding.n),
                judged.finding.verdict,
            )
