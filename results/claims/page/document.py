"""The document of a paper's claims with their verdicts, made of claims and summaries alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from results.claims.claim_summaries import ClaimSummaries, ClaimSummary, rows_of
from results.claims.judge import CANNOT, NO_RUNS, NOT_YET, OPEN, Verdict
from results.claims.judged_statements import JudgedClaim, JudgedStatement
from results.claims.marks import marks, sentence
from results.claims.measured_part import measured_part
from results.claims.page.causes import ablations
from results.claims.page.figures import embedded
from results.claims.page.parts import COLUMNS, MEASURED, line, paper_of, wrapped
from results.claims.stated.model import Paper, Statement
from results.claims.stated.rows import rows
from results.wording.quantities import NO_VALUE

HEAD = textwrap.wrap(
    "[Claims of the papers](../reproduction.md) says how a verdict is made, and what the columns "
    "and lengths mean.",
    COLUMNS,
)

NOTES = [
    "## Measurements beside the claims",
    "",
    *textwrap.wrap(
        "These look into the paper's modules. The guest kernel was 6.12.117. Where a claim above "
        "has a value, too, that of the claim counts. [Metrics](../metrics.md) defines the values, "
        "and `show --json` has them of a run. An *ablation* is a run that changes one thing to "
        "explain a difference. Nothing was tuned towards a paper's number.",
        COLUMNS,
    ),
]


@dataclass(frozen=True)
class MeasurementCost:
    """What a measurement takes: number of runs, and their time in the simulation."""

    runs: int
    simulated_s: float


@dataclass(frozen=True)
class PageEvidence:
    """All that was measured, by (paper, claim); of ablations also by name.

    ``costs`` has the first repetitions of each claim without a summary, at the quick length.
    Of statements that no summary has, by (paper, statement), ``quick_costs`` has those of the quick
    length, and ``full_costs`` those of the full length where only it has runs.
    ``notes`` has Markdown on measurements beside the claims, by paper.
    """

    claims: Mapping[tuple[str, str], ClaimSummaries]
    causes: Mapping[tuple[str, str, str], ClaimSummary] = field(default_factory=dict)
    costs: Mapping[tuple[str, str], MeasurementCost] = field(default_factory=dict)
    quick_costs: Mapping[tuple[str, str], MeasurementCost] = field(default_factory=dict)
    full_costs: Mapping[tuple[str, str], MeasurementCost] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def page(name: str, paper: Paper, evidence: PageEvidence) -> str:
    """Return the document of a paper's claims as Markdown."""
    by_claim = judged_claims({name: paper}, evidence.claims)
    lines = [f"# Claims of {name}", "", *textwrap.wrap(f"{paper.title}.", COLUMNS), "", *HEAD]
    for claim in paper.claims:
        lines += ["", *_claim(name, paper, claim, by_claim[name, claim], evidence)]
    if name in evidence.notes:
        lines += ["", *NOTES, "", evidence.notes[name].rstrip()]
    return "\n".join([*lines, ""])


def judged_claims(
    papers: Mapping[str, Paper], measured: Mapping[tuple[str, str], ClaimSummaries]
) -> dict[tuple[str, str], JudgedClaim | None]:
    """Return each (paper, claim) as it is judged; None where nothing of it was measured yet."""
    return {
        (name, claim): _judged(name, paper, claim, measured.get((name, claim)))
        for name, paper in papers.items()
        for claim in paper.claims
    }


def verdicts(
    papers: Mapping[str, Paper], measured: Mapping[tuple[str, str], ClaimSummaries]
) -> dict[tuple[str, str], Verdict | None]:
    """Return the verdict on each (paper, claim), None where nothing of it was measured yet."""
    by_claim = judged_claims(papers, measured)
    return {key: None if judged is None else judged.verdict for key, judged in by_claim.items()}


def _judged(name: str, paper: Paper, claim: str, made: ClaimSummaries | None) -> JudgedClaim | None:
    """Return a judged claim, None where nothing of it was measured yet."""
    stated = paper.claims[claim]
    if made is None and any(each.cannot is None for each in stated.statements):
        return None
    outcomes = [JudgedStatement(name, each, rows_of(each, made)) for each in stated.statements]
    return JudgedClaim(name, claim, stated.says, outcomes)


def _claim(
    name: str,
    paper: Paper,
    claim: str,
    judged: JudgedClaim | None,
    evidence: PageEvidence,
) -> Iterator[str]:
    statements = paper.claims[claim].statements
    made = evidence.claims.get((name, claim))
    yield f"## {claim}"
    yield ""
    heading = NOT_YET if judged is None else judged.verdict
    yield from textwrap.wrap(
        f"**{heading[0].upper()}{heading[1:]}.** {paper.claims[claim].says}", COLUMNS
    )
    if judged is not None and judged.counted:
        yield ""
        yield from textwrap.wrap(f"{marks(judged)} {sentence(judged)}", COLUMNS)
    yield ""
    yield "| id | statement | place | paper | here | runs | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for statement in statements:
        without = (
            NOT_YET if made is None or (name, statement.id) in evidence.quick_costs else NO_RUNS
        )
        yield from _statement(paper, statement, made, without)
    yield from embedded(name, paper.claims[claim], made)
    yield ""
    used = made.used(statements) if made is not None else []
    length = used[0][0].length if used else "quick"
    if any(statement.cannot is None for statement in statements):
        options = used[0][0].options(paper.experiments) if used else f"--{length}"
        yield f"- Command: `orchestrator reproduce {name}:{claim} {options}`"
    for number, (summary, ids) in enumerate(used):
        yield from _origin(name, paper, summary, ids if number else [])
    if not used and (cost := evidence.costs.get((name, claim))) is not None:
        yield f"- It has {cost.runs} runs of {cost.simulated_s / 60:.0f} simulated minutes in all."
    for statement in statements:
        yield from _reasons(statement, made)
        if (cost := evidence.quick_costs.get((name, statement.id))) is not None:
            yield from wrapped(
                f"- {statement.id} is {NOT_YET}. The length *quick* has {cost.runs} runs of "
                f"{cost.simulated_s / 60:.0f} simulated minutes in all: "
                f"`orchestrator reproduce {name}:{statement.id} --quick`."
            )
        if (cost := evidence.full_costs.get((name, statement.id))) is not None:
            yield from wrapped(
                f"- {statement.id} has no runs at the length *{length}*. The length *full* has "
                f"{cost.runs} runs of {cost.simulated_s / 60:.0f} simulated minutes in all."
            )
    if made is not None:
        yield from _causes(statements)
    for note in paper.claims[claim].notes:
        yield from wrapped(f"- {note}")
    yield from ablations(name, paper, claim, evidence.causes)


def _statement(
    paper: Paper, statement: Statement, made: ClaimSummaries | None, without: str
) -> Iterator[str]:
    """Yield the lines of a statement; its rows have lines of their own where there are several.

    ``without`` is the answer where it has no rows.
    """
    judged_rows = rows_of(statement, made)
    says = f"{statement.says} {_setting(paper, statement, made)}".strip()
    if statement.cannot is not None:
        yield line(statement.id, says, statement.place, NO_VALUE, NO_VALUE, NO_VALUE, CANNOT)
    elif not judged_rows:
        stated = "; ".join(dict.fromkeys(paper_of(row, statement) for row in rows(statement)))
        yield line(statement.id, says, statement.place, stated, NO_VALUE, NO_VALUE, without)
    else:
        if len(judged_rows) > 1:
            verdict = JudgedStatement("", statement, judged_rows).verdict
            yield line(statement.id, says, statement.place, "", "", "", f"**{verdict}**")
        for judged in judged_rows:
            alone, finding = len(judged_rows) == 1, judged.finding
            label = " ".join(part for part in (says if alone else "", judged.label) if part)
            yield line(
                statement.id if alone else "",
                label,
                statement.place if alone else "",
                paper_of(judged.row, statement),
                judged.text,
                str(finding.n),
                f"**{finding.verdict}**" if alone else finding.verdict,
            )


def _setting(paper: Paper, statement: Statement, made: ClaimSummaries | None) -> str:
    """Return what is to know of a statement's values: what cannot be, or was not, measured."""
    told = ["testable in part"] if statement.in_part is not None else []
    if made is not None and (judged := made.rows(statement)):
        length = made.of(statement).length
        told.append(measured_part(statement, judged, paper.experiments, length))
    setting = "; ".join(part for part in told if part)
    return f"({setting})" if setting else ""


def _origin(name: str, paper: Paper, made: ClaimSummary, ids: Sequence[str]) -> Iterator[str]:
    """Yield where values come from: those of these statements, or most of the claim's."""
    record = made.record
    number = len(record.runs)
    models = ", ".join(map(str, record.link_models))
    file = f"{MEASURED}/{made.file}"
    if not number:
        yield from wrapped(f"- Computed by the modules' code, without runs. [Values]({file})")
        return
    text = (
        f"measured at the length *{made.length}*: {number} runs, kernel {record.kernel}, "
        f"link model {models}. [Values, seeds, digests and hashes]({file})"
    )
    if ids:
        options = made.options(paper.experiments)
        command = f"orchestrator reproduce {name}:{record.target} {options}"
        yield from wrapped(f"- {', '.join(ids)}: {text}. Command: `{command}`")
    else:
        yield from wrapped(f"- {text[0].upper()}{text[1:]}")


def _reasons(statement: Statement, made: ClaimSummaries | None) -> Iterator[str]:
    """Yield why a statement cannot be tested, or which tolerance it has and why."""
    items: Sequence[str]
    if statement.cannot is not None:
        items = [f"- {statement.id} cannot be tested here. {statement.cannot}"]
    else:
        items = [f"- {statement.id}: tolerance {_tolerance(statement)}. {statement.reason}"]
    if statement.in_part is not None:
        items = [*items, f"- {statement.id} is testable in part. {statement.in_part}"]
    if made is not None and statement.cannot is None:
        left_out = made.left_out(statement)
        if left_out.unfaithful or left_out.failed:
            items = [
                *items,
                f"- {statement.id}: left out {left_out.unfaithful} unfaithful, {left_out.failed} "
                "failed values.",
            ]
        items = [*items, *_open(statement, made)]
    for item in items:
        yield from wrapped(item)


def _open(statement: Statement, made: ClaimSummaries) -> Iterator[str]:
    """Yield what would decide the open rows of a statement."""
    findings = [row.finding for row in made.rows(statement) if row.finding.verdict == OPEN]
    if not findings:
        return
    needed = [finding.needed for finding in findings if finding.needed is not None]
    told = [str(finding.reason) for finding in findings if finding.needed is None]
    told += [f"{max(needed)} repetitions decide with a probability of 90%"] if needed else []
    rows = "1 row" if len(findings) == 1 else f"{len(findings)} rows"
    yield f"- {statement.id} is open in {rows}: {'; '.join(dict.fromkeys(told))}."


def _causes(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield why statements do not hold, once where several have one cause."""
    causes = dict.fromkeys(
        statement.cause for statement in statements if statement.cause is not None
    )
    for cause in causes:
        ids = ", ".join(statement.id for statement in statements if statement.cause == cause)
        yield from wrapped(f"- {ids}, cause: {cause}")


def _tolerance(statement: Statement) -> str:
    tolerance = statement.tolerance
    if tolerance is None:
        raise AssertionError("a validated statement has a tolerance")
    if tolerance.share:
        return f"{100 * tolerance.share:g}%"
    return f"{tolerance.amount:g}"
