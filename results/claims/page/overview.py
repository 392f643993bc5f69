"""The overview of all claims: their verdicts in one table, and how a verdict is made."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from results.claims.judge import CANNOT, NOT_YET, VERDICTS, Verdict
from results.claims.page.agreement import AGREEMENT
from results.claims.page.document import PageEvidence, page, verdicts
from results.claims.page.parts import COLUMNS, wrapped
from results.claims.page.ten_lines import TEN_LINES
from results.claims.page.ten_lines import markdown as ten_lines
from results.claims.stated.model import Paper
from results.wording.quantities import NO_VALUE

OVERVIEW = "reproduction.md"
"""File of the overview."""

PAPERS = "claims"
"""Folder of the documents of the papers and of their figures, beside the overview."""

HEAD = """\
# Claims of the papers, and what holds

Four papers state what this project measures again on a real kernel. This page has the verdict on
each of their forty claims, those that hold first, and says how a verdict is made. A page for each
paper has its claims with values, runs, commands, figures and ablations. It ends with
measurements that look into its modules. [Twenty years later](lessons.md) says what can be learnt
from it.
"""

METHOD = """\
```
orchestrator reproduce westwoodplus:W3            # one claim: runs what is missing, and judges
orchestrator reproduce westwoodplus:W3 --causes   # also the ablations, which look for causes
orchestrator reproduce tibet --jobs 2             # all claims of a paper
orchestrator reproduce --full --plan              # what the papers' own size would cost
```

## How a verdict is made

- The papers used ns-2, and here the kernel's own TCP runs, so a number may hold, nearly hold, or
  not hold at all. Nothing was tuned towards one.
- A claim has statements, and a statement one or more rows. A row compares a mean of ours with the
  paper.
- What agrees with the paper is an interval around its number or range. The statement's *tolerance*
  makes it, and its reason is given. Tolerances were committed before anything was judged by them.
  Some values were known by then, from the measurements at the end of the papers' pages.
- A later reading beside the papers' texts corrected statements when their quick values were known.
  Of these, W2.2, W3.4, W4.4, W5.13, W5.14, W6.9, W6.10, W8.2, L1.1, L6.3, L8.3, T3.2, T6.1, T12.4,
  T15.1, B4.2, B4.4, B5.1 and B6.2 are compared in another way than before. An audit corrected more
  when verdicts were known. W6.1, W6.3 and W6.13 begin at 10 ms, as at shorter times the link holds
  NewReno. L1.1 and L1.2 compare mean times, as L1.3 does, and compared medians. A statement that
  compared the ends of B4.7 is left out.
- A third reading added statements that were missing: W3.10 to W3.12, W4.11 to W4.14, W5.15, L1.4,
  L1.5, L2.9, L3.6, L7.5, L7.6, T4.4 to T4.6, T5.4, T10.3, T12.6, T14.4, B1.3, B2.3 to B2.5, B3.2,
  B4.12, B4.13 and B5.4 to B5.7. They were committed before they were judged. What the closed forms
  of W4.11 to W4.14 and B1.3 give was known, and so were the least windows of L1.4 and L1.5.
- Around what agrees lies a zone of what is *near*, by a table of relations
  ([zones.py](../results/claims/stated/zones.py)). It was committed before anything was judged by
  it.
- The 95% confidence interval of our mean decides a row. It **holds** if all of the interval
  agrees, and **nearly** if all of it agrees or is near. It **does not hold** if none of it agrees.
  Otherwise it is **open**.
- Ratios and positive quantities are averaged by their logarithms, and indices by their logits. So
  no interval leaves what is possible.
- Values are independent runs with seeds of their own. Ratios are of runs with equal seeds.
  Unfaithful and failed runs are left out and counted.
- Each row has an interval of its own, so of twenty rows one may err.
- After the first repetitions, five at least, the interval has 99%. An open row then gets as many
  as make the interval no wider than the zone, by the deviation of the first ones, if a limit allows
  it. Then the interval has 96%. Both looks together err in at most 5% of rows
  ([two_looks.py](../results/statistics/two_looks.py); `python -m bench.verdict_rule` simulates it).
  With `--most N` a row that needs more than N gets N, and the interval keeps 99%. That decides
  where the mean is far from all edges. Such a look between the two adds 1% at most to the error.
  Rows of two to four repetitions are from before this rule and have Student's interval of 95%.
- An open row says how many repetitions in all decide it with a probability of 90%. After the first
  look that number always decides. Of two to four repetitions the deviation is known roughly only,
  so the number is 40, 5 or 2.1 times what their own deviation would ask for.
- [What is open](claims/open-rows.md) is listed with the runs that would decide it, those first that
  cost the least for each row.
- A statement has the mean of its rows: holds counts 1, nearly 1/2, does not hold 0, and open
  anything from 0 to 1. A claim has the mean of its statements. This *agreement* is an interval from
  L to U. The claim **holds** from L = 0.9 on, and **mostly holds** above L = 0.5. It **does not
  hold** up to U = 0.1, and **mostly does not hold** below U = 0.5. It is **mixed** within 0.35 and
  0.65, and else **open**. So a word stays true however open rows turn out.
- Statements that cannot be tested, or in part only, do not count for their claim. Their reasons are
  given.
- A mark stands for each statement of a claim: ● holds, ◕ mostly holds, ◑ mixed, ◔ mostly does not
  hold, ○ does not hold, ? open, – does not count.
- The *quick* length has shorter runs than the papers and fewer points. The *full* length has the
  papers' size. Where a statement was measured at both, the full one is shown. L2.8, L5.1 and L5.2
  also begin congestion avoidance at 500 segments, as slow start would take most of a short run.
- Where not all was measured, it stands behind a statement: *1 of 4 places*, or *70 of 950 s*, if
  less than a tenth of the paper's time counts. The other places say nothing of the verdict.
- T1 needs no network. A C program gives arrivals to the filters of the modules
  ([filters.c](../kmods/tests/filters.c)), and `reproduce` compiles and runs it.
- The largest or least of several points is that of their means. It is chosen by the same runs, so
  the largest is rather too large, and the least too small. Where only some points were measured,
  the largest of all is at least theirs. So it is decided only where any larger value gives the same
  verdict. A mean of all is then open.
- With `--jobs 2` on 2 CPUs, from an empty results database and beside other work, the quick length
  took 36 minutes for westwoodplus (437 runs), 43 for libra, 39 for logwestwood (273 runs) and 23
  for tibet (502 runs). A second call took 4 to 40 seconds. The CPUs are shared: at another hour the
  same runs may take half as long again.
- An ordering is shown as the ratio of each value to the next, which must be above 1 by more than
  the tolerance.
- Shares that do not converge within a run have no time of convergence. In an ordering of such times
  the run counts above with the time that it had, so that the ratio is at least what is shown. Below
  it has no value.
- An *ablation* runs a statement again in a changed set-up. A cause is named only where an
  ablation shows it.
- Where the text of a paper gives numbers, a figure shows them beside ours. Its grey bands have what
  agrees with the paper. Points of ablations of the same length are below ours.

The data also say how each experiment is run: its scenario, what each length sets, and how often it
is repeated. A summary has the values of each row, and seed and digest of each run. The command
that is printed with a claim makes these runs again. It says at its end how many of them are equal
to the bit, by their digests. `tools/reproduction.py` makes these pages of the claims in
`scenarios/papers/claims/`, the summaries in `scenarios/papers/claims/measured/`, and the texts in
`scenarios/papers/claims/notes/`.
"""


def pages(papers: Mapping[str, Paper], evidence: PageEvidence) -> dict[str, str]:
    """Return the overview and a document for each paper as Markdown, by their files."""
    return {
        OVERVIEW: overview(papers, evidence),
        **{f"{PAPERS}/{name}.md": page(name, paper, evidence) for name, paper in papers.items()},
    }


def overview(papers: Mapping[str, Paper], evidence: PageEvidence) -> str:
    """Return the overview as Markdown."""
    by_claim = verdicts(papers, evidence.claims)
    return "\n".join(
        [
            HEAD,
            *_picture(by_claim),
            *_ten_lines(papers),
            *_titles(papers), "",
            *_matrix(papers, by_claim), "",
            METHOD,
        ]
    )  # fmt: skip


def _ten_lines(papers: Mapping[str, Paper]) -> Iterator[str]:
    """Yield what all claims say together, if these are the papers that it is of."""
    address = {
        statement.id: f"{PAPERS}/{name}.md#{statement.claim.lower()}"
        for name, paper in papers.items()
        for statement in paper.statements()
    }
    if all(id_ in address for lesson in TEN_LINES for id_ in lesson.statements):
        yield from ten_lines(address)


def _picture(by_claim: Mapping[tuple[str, str], Verdict | None]) -> Iterator[str]:
    """Yield the figure of how much of each claim agrees, once anything was measured."""
    if any(verdict is not None and verdict != CANNOT for verdict in by_claim.values()):
        file = f"{PAPERS}/{AGREEMENT}"
        yield f"[![How much of each claim agrees, by paper]({file})]({file})"
        yield ""
        yield from textwrap.wrap(
            "A bar reaches from the least to the most of a claim that can agree while rows are "
            "open. Claims that can be tested in part only have none.",
            COLUMNS,
        )
        yield ""


def _titles(papers: Mapping[str, Paper]) -> Iterator[str]:
    """Yield the list of papers."""
    for name, paper in papers.items():
        yield from wrapped(f"- [{name}]({PAPERS}/{name}.md): {paper.title}.")


def _matrix(
    papers: Mapping[str, Paper], verdicts: Mapping[tuple[str, str], Verdict | None]
) -> Iterator[str]:
    """Yield the table of all claims by verdict."""
    columns: list[tuple[str, Verdict | None]] = [
        *((verdict, verdict) for verdict in VERDICTS),
        (NOT_YET, None),
    ]
    yield "## Claims by verdict"
    yield ""
    yield f"| paper | {' | '.join(heading for heading, _verdict in columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name in papers:
        cells = []
        for _heading, expected in columns:
            ids = [
                claim
                for (paper, claim), claim_verdict in verdicts.items()
                if paper == name and claim_verdict == expected
            ]
            page_path = f"{PAPERS}/{name}.md"
            cells.append(
                " ".join(f"[{claim}]({page_path}#{claim.lower()})" for claim in ids) or NO_VALUE
            )
        yield f"| [{name}]({PAPERS}/{name}.md) | {' | '.join(cells)} |"
    counts = [
        sum(claim_verdict == expected for claim_verdict in verdicts.values())
        for _heading, expected in columns
    ]
    yield f"| all {len(verdicts)} | {' | '.join(map(str, counts))} |"
