"""The document of all claims with their verdicts, made of claims and summaries alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from results.claims.judge import (
    CANNOT,
    NO_RUNS,
    NO_VALUE,
    UNDECIDED,
    VERDICTS,
    Verdict,
    combined_verdict,
)
from results.claims.measured import Measured, Summary
from results.claims.model import Paper, Statement
from results.claims.page_causes import ablations
from results.claims.page_figures import embedded
from results.claims.page_parts import COLUMNS, line, paper_of, wrapped
from results.claims.rows import rows

NOT_YET = "not measured yet"

HEAD = """\
# Claims of the papers, and what holds

Four papers state what this project measures again on a real kernel. This page has each of their
forty claims, those that hold first. [Twenty years later](lessons.md) says what can be learnt from
it, and [Measurements](measurements.md) looks into single modules.

"""

METHOD = """\
```
orchestrator reproduce westwoodplus:W3            # one claim: runs what is missing, and judges
orchestrator reproduce westwoodplus:W3 --causes   # also the ablations, which look for causes
orchestrator reproduce tibet --jobs 2             # all claims of a paper
orchestrator reproduce --full --plan              # what the papers' own size would cost
```

## How a verdict is made

- The papers used ns-2, and here the kernel's own TCP runs. So a number may hold, hold in part, or
  not hold at all. Nothing was tuned towards one.
- A claim has statements, and a statement one or more rows. A row compares a mean of ours with the
  paper.
- What agrees with the paper is an interval around its number or range. The statement's *tolerance*
  makes it, and its reason is given. Tolerances were committed before anything was judged by them.
  Some values were known by then, from [earlier measurements](measurements.md).
- A later reading beside the papers' texts corrected statements when their quick values were known.
  Of these, W2.2, W3.4, W4.4, W5.13, W5.14, W6.9, W6.10, W8.2, L1.1, L6.3, L8.3, T3.2, T6.1, T12.4,
  T15.1, B4.2, B4.4, B5.1 and B6.2 are compared in another way than before.
- A row **holds** if the whole 95% confidence interval of our mean agrees. It **does not hold** if
  none of it agrees. Otherwise it is **undecided**.
- Values are independent runs with seeds of their own. Ratios are of runs with equal seeds.
  Unfaithful and failed runs are left out and counted.
- Each row has an interval of its own. So of twenty rows one may err.
- Undecided rows get as many repetitions as their first deviation asks for, if a limit allows it
  ([Stein's rule](experiments.md#enough-repetitions)). Otherwise the page says how many decide.
- A statement **holds in part** if some of its rows hold and others do not. The same is true of a
  claim and its statements.
- The *quick* length has shorter runs than the papers and fewer points. The *full* length has the
  papers' size. Where a statement was measured at both, the full one is shown. L2.8, L5.1 and L5.2
  also begin congestion avoidance at 500 segments, as slow start would take most of a short run.
- The largest or least of several points is that of their means. It is chosen by the same runs, so
  the largest is rather too large, and the least too small.
- With `--jobs 2` on 2 CPUs the quick length took 24 minutes for libra, 24 for logwestwood, 19 for
  tibet and 26 for westwoodplus, from an empty results database. At another hour the same runs of
  libra took half as long again, with little other work on the machine, whose CPUs are shared. A
  second call took 4 to 8 seconds.
- An ordering is shown as the ratio of each value to the next. It must be above 1 by more than the
  tolerance.
- An *ablation* runs a statement again in a changed set-up. A cause is named only where an
  ablation shows it.
- Where the text of a paper gives numbers, a figure shows them beside ours. Its grey bands have what
  agrees with the paper. Points of ablations of the same length are below ours.

The data also say how each experiment is run: its scenario, what each length sets, and how often it
is repeated. A summary has the values of each row, and seed and digest of each run. The command
that is printed with a claim makes these runs again. It says at its end how many of them are equal
to the bit, by their digests. `tools/reproduction.py` makes this page of the claims in
`scenarios/papers/claims/` and the summaries in `scenarios/papers/claims/measured/`.
"""


@dataclass(frozen=True)
class Cost:
    """What a measurement takes: number of runs, and their time in the simulation."""

    runs: int
    simulated_s: float


@dataclass(frozen=True)
class Evidence:
    """All that was measured, by (paper, claim); of ablations also by name.

    ``costs`` has the first repetitions of each claim without a summary, at the quick length.
    ``full_costs`` has those of the full length, by (paper, statement), where only it has runs.
    """

    claims: Mapping[tuple[str, str], Measured]
    causes: Mapping[tuple[str, str, str], Summary] = field(default_factory=dict)
    costs: Mapping[tuple[str, str], Cost] = field(default_factory=dict)
    full_costs: Mapping[tuple[str, str], Cost] = field(default_factory=dict)


def page(papers: Mapping[str, Paper], evidence: Evidence) -> str:
    """Return the document as Markdown."""
    found = verdicts(papers, evidence.claims)
    lines = [HEAD, *_matrix(papers, found), "", METHOD.rstrip()]
    for name, paper in papers.items():
        lines += ["", f"## {name}", "", *textwrap.wrap(f"{paper.title}.", COLUMNS)]
        for claim in paper.claims:
            lines += ["", *_claim(name, paper, claim, found[name, claim], evidence)]
    return "\n".join([*lines, ""])


def verdicts(
    papers: Mapping[str, Paper], measured: Mapping[tuple[str, str], Measured]
) -> dict[tuple[str, str], Verdict | None]:
    """Return the verdict on each (paper, claim), None where nothing of it was measured yet."""
    return {
        (name, claim): _verdict(paper, claim, measured.get((name, claim)))
        for name, paper in papers.items()
        for claim in paper.claims
    }


def _verdict(paper: Paper, claim: str, made: Measured | None) -> Verdict | None:
    """Return the verdict on a claim, None where nothing of it was measured yet."""
    statements = paper.claims[claim].statements
    if made is None and any(each.cannot is None for each in statements):
        return None
    return combined_verdict(_of_statement(each, made) for each in statements)


def _of_statement(statement: Statement, made: Measured | None) -> Verdict:
    if statement.cannot is not None:
        return CANNOT
    found = made.findings(statement) if made is not None else []
    return combined_verdict(finding.verdict for _row, finding in found) if found else UNDECIDED


def _matrix(
    papers: Mapping[str, Paper], verdicts: Mapping[tuple[str, str], Verdict | None]
) -> Iterator[str]:
    """Yield the table of all claims by verdict."""
    columns: list[tuple[str, Verdict | None]] = [
        *((each, each) for each in VERDICTS),
        (NOT_YET, None),
    ]
    yield "## Claims by verdict"
    yield ""
    yield f"| paper | {' | '.join(heading for heading, _verdict in columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name in papers:
        cells = []
        for _heading, wanted in columns:
            ids = [
                claim
                for (paper, claim), found in verdicts.items()
                if paper == name and found == wanted
            ]
            cells.append(" ".join(f"[{claim}](#{claim.lower()})" for claim in ids) or NO_VALUE)
        yield f"| {name} | {' | '.join(cells)} |"
    counts = [sum(found == wanted for found in verdicts.values()) for _heading, wanted in columns]
    yield f"| all {len(verdicts)} | {' | '.join(map(str, counts))} |"


def _claim(
    name: str,
    paper: Paper,
    claim: str,
    verdict: Verdict | None,
    evidence: Evidence,
) -> Iterator[str]:
    statements = paper.claims[claim].statements
    made = evidence.claims.get((name, claim))
    yield f"### {claim}"
    yield ""
    told = verdict or NOT_YET
    yield from textwrap.wrap(
        f"**{told[0].upper()}{told[1:]}.** {paper.claims[claim].says}", COLUMNS
    )
    yield ""
    yield "| id | statement | place | paper | here | runs | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for each in statements:
        yield from _statement(each, made)
    yield from embedded(name, paper.claims[claim], made)
    yield ""
    used = made.used(statements) if made is not None else []
    length = used[0][0].length if used else "quick"
    if any(each.cannot is None for each in statements):
        yield f"- Command: `orchestrator reproduce {name}:{claim} --{length}`"
    for number, (summary, ids) in enumerate(used):
        yield from _origin(name, summary, ids if number else [])
    if not used and (cost := evidence.costs.get((name, claim))) is not None:
        yield f"- It has {cost.runs} runs of {cost.simulated_s / 60:.0f} simulated minutes in all."
    for each in statements:
        yield from _reasons(each, made)
        if (cost := evidence.full_costs.get((name, each.id))) is not None:
            yield from wrapped(
                f"- {each.id} has no runs at the length *{length}*. The length *full* has "
                f"{cost.runs} runs of {cost.simulated_s / 60:.0f} simulated minutes in all."
            )
    if made is not None:
        yield from _causes(statements)
    for note in paper.claims[claim].notes:
        yield from wrapped(f"- {note}")
    yield from ablations(name, paper, claim, evidence.causes)


def _statement(statement: Statement, made: Measured | None) -> Iterator[str]:
    """Yield the lines of a statement; its rows have lines of their own where there are several."""
    found = made.findings(statement) if made is not None else []
    says = f"{statement.says} {_setting(statement)}".strip()
    if statement.cannot is not None:
        yield line(statement.id, says, statement.place, NO_VALUE, NO_VALUE, NO_VALUE, CANNOT)
    elif not found:
        stated = "; ".join(dict.fromkeys(paper_of(row, statement) for row in rows(statement)))
        told = NOT_YET if made is None else NO_RUNS
        yield line(statement.id, says, statement.place, stated, NO_VALUE, NO_VALUE, told)
    else:
        if len(found) > 1:
            verdict = combined_verdict(finding.verdict for _row, finding in found)
            yield line(statement.id, says, statement.place, "", "", "", f"**{verdict}**")
        for row, finding in found:
            alone = len(found) == 1
            label = " ".join(part for part in (says if alone else "", row.label) if part)
            yield line(
                statement.id if alone else "",
                label,
                statement.place if alone else "",
                paper_of(row, statement),
                finding.text(row.accepted),
                str(finding.n),
                f"**{finding.verdict}**" if alone else finding.verdict,
            )


def _setting(statement: Statement) -> str:
    return "(testable in part)" if statement.in_part is not None else ""


def _origin(name: str, made: Summary, ids: Sequence[str]) -> Iterator[str]:
    """Yield where values come from: those of these statements, or most of the claim's."""
    document = made.document
    number = len(document["runs"])
    file = f"../scenarios/papers/claims/measured/{made.file}"
    text = (
        f"measured at the length *{made.length}*: {number} runs, kernel {document['kernel']}, "
        f"link model {document['link_model']}. [Values, seeds, digests and hashes]({file})"
    )
    if ids:
        command = f"orchestrator reproduce {name}:{made.target} --{made.length}"
        yield from wrapped(f"- {', '.join(ids)}: {text}. Command: `{command}`")
    else:
        yield from wrapped(f"- {text[0].upper()}{text[1:]}")


def _reasons(statement: Statement, made: Measured | None) -> Iterator[str]:
    """Yield why a statement cannot be tested, or which tolerance it has and why."""
    found: Sequence[str]
    if statement.cannot is not None:
        found = [f"- {statement.id} cannot be tested here. {statement.cannot}"]
    else:
        found = [f"- {statement.id}: tolerance {_tolerance(statement)}. {statement.reason}"]
    if statement.in_part is not None:
        found = [*found, f"- {statement.id} is testable in part. {statement.in_part}"]
    if made is not None and statement.cannot is None:
        unfaithful, failed = made.left_out(statement)
        if unfaithful or failed:
            found = [
                *found,
                f"- {statement.id}: left out {unfaithful} unfaithful, {failed} failed values.",
            ]
        undecided = [
            finding for _row, finding in made.findings(statement) if finding.verdict == UNDECIDED
        ]
        if undecided:
            needed = [finding.needed for finding in undecided]
            most = None if None in needed else max(each for each in needed if each is not None)
            told = "a mean is at the edge" if most is None else f"about {most} repetitions decide"
            rows = "1 row" if len(undecided) == 1 else f"{len(undecided)} rows"
            found = [*found, f"- {statement.id} is undecided in {rows}: {told}."]
    for each in found:
        yield from wrapped(each)


def _causes(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield why statements do not hold, once where several have one cause."""
    causes = dict.fromkeys(each.cause for each in statements if each.cause is not None)
    for cause in causes:
        ids = ", ".join(each.id for each in statements if each.cause == cause)
        yield from wrapped(f"- {ids}, cause: {cause}")


def _tolerance(statement: Statement) -> str:
    tolerance = statement.tolerance
    if tolerance is None:
        raise AssertionError("a validated statement has a tolerance")
    if tolerance.share:
        return f"{100 * tolerance.share:g}%"
    return f"{tolerance.amount:g}"
