"""The card as a page: an overview, and a section for each criterion, in the form of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import __version__
from orchestrator.evaluation import wording
from orchestrator.evaluation.card import changes_section, document
from orchestrator.evaluation.tones import TONES
from orchestrator.evaluation.verdicts import GRADES, MEETS
from results.report import LabelledValue, Section, Table, html_page
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import Cell, JudgedCriterion
    from orchestrator.evaluation.model import Row
    from orchestrator.evaluation.prepared import PreparedEvaluation
    from results.contract.evaluations import CardChanges
    from results.records.model import RunRow

METHODS = (
    "Each run gives one value of a metric. A row asks it of the mean over seeds, with the 95% "
    "confidence interval of Student. Where the bound is a factor of another control, the two runs "
    "of each seed are compared, and the interval is that of the difference.",
    "A cell meets its row if all of the interval is within the bound, meets it with limits if all "
    "is within the limit, and does not meet it if none of it is within the limit. Else it is not "
    "decided: more seeds decide it.",
    'A criterion is not met if a cell of level "must" does not meet its row, and not decided if '
    "such a cell is not decided. It is met if all cells meet their rows, and else met with limits. "
    "It is not applicable if the kernel lacks what its scenario wants. There is no overall score.",
)


QUICK = (
    "This is a quick evaluation: few cells, three seeds of each, and short runs. Each criterion "
    "says what it leaves out. With --full all of it is run."
)


def page(
    prepared: PreparedEvaluation,
    judged: Sequence[JudgedCriterion],
    changes: CardChanges | None,
    db: Path,
) -> str:
    """Return the card as an HTML document, which needs no other file, network or script."""
    name = prepared.candidate.name
    sections = [_overview(prepared, judged, db)]
    if changes is not None:
        sections.append(changes_section.section(prepared, judged, changes, db))
    sections += [_section(prepared, one, db) for one in judged]
    return html_page(f"Report card of {name}", sections)


def _overview(prepared: PreparedEvaluation, judged: Sequence[JudgedCriterion], db: Path) -> Section:
    rows = [row for one in judged for row in one.rows]
    grades = {one.name: one.grade for one in judged}
    kernels = sorted({row.kernel for row in rows if row.kernel is not None})
    candidate = prepared.candidate
    return Section(
        title="Grades",
        label=f"{prepared.request.length} evaluation",
        question="What does this congestion control do that "
        f"{wording.groups(one.criterion for one in judged)} asks to show?",
        facts=[
            LabelledValue("candidate", candidate.name),
            LabelledValue("references", ", ".join(one.name for one in prepared.references)),
            LabelledValue("kernel", ", ".join(kernels)),
            LabelledValue("runs", str(len(rows))),
        ],
        findings=[
            f"{grade}: {', '.join(name for name, its in grades.items() if its == grade)}"
            for grade in GRADES
            if grade in grades.values()
        ],
        network=(),
        setup=(),
        results=[
            Table(
                "The grade of each criterion, how many of its cells meet their rows, and what "
                "decides.",
                ["criterion", "grade", "cells", "why"],
                [[one.name, one.grade, _met(one), wording.why(one)] for one in judged],
                tones=TONES,
                leads=True,
            )
        ],
        notes=[QUICK] if prepared.request.length == "quick" else (),
        methods=METHODS,
        trust=[_trust(rows)],
        provenance=[
            LabelledValue("program", f"orchestrator {__version__}"),
            LabelledValue("digest of all runs", document.digest(rows)),
        ],
        command=_commands(prepared, [one.name for one in judged], db),
        scenario="Each criterion below has its scenario.",
        overview=True,
    )


def _met(judged: JudgedCriterion) -> str:
    """Return how many cells and builds meet their rows."""
    verdicts = [cell.verdict for cell in judged.cells] + [one.verdict for one in judged.checks]
    return f"{verdicts.count(MEETS)} of {len(verdicts)}" if verdicts else quantities.NO_VALUE


def _trust(rows: Sequence[RunRow]) -> Table:
    verdicts = Counter(row.verdict or row.status for row in rows)
    return Table(
        "Verdicts of the emulation's own checks.",
        ["verdict", "runs"],
        [[verdict, str(number)] for verdict, number in sorted(verdicts.items())],
    )


def _commands(prepared: PreparedEvaluation, names: Sequence[str], db: Path) -> str:
    return "\n".join(document.command(prepared, name, db) for name in names)


def _section(prepared: PreparedEvaluation, judged: JudgedCriterion, db: Path) -> Section:
    criterion = judged.criterion
    left_out = f"Quick leaves out: {criterion.quick_leaves_out.strip()}"
    return Section(
        title=criterion.title,
        label=f"{judged.name}: {judged.grade}",
        question=criterion.asks,
        facts=[LabelledValue("source", source.text) for source in criterion.sources],
        findings=[
            f"{judged.grade}: {wording.why(judged)}",
            *([] if judged.explained is None else [judged.explained]),
        ],
        network=(),
        setup=[_bounds(criterion.rows)],
        results=[
            *(table for row in criterion.rows for table in _tables(judged, row)),
            *([_builds(judged)] if judged.checks else []),
        ],
        notes=[left_out] if prepared.request.length == "quick" else (),
        methods=[f"{row.id}: {row.reason.strip()}" for row in criterion.rows],
        trust=[_trust(judged.rows)],
        provenance=[LabelledValue("digest of these runs", document.digest(judged.rows))],
        command="\n".join(
            [document.command(prepared, judged.name, db), "", *_cell_commands(prepared, judged, db)]
        ),
        scenario=judged.experiments[0].text if judged.experiments else "Nothing was run.",
        name=judged.name,
    )


def _cell_commands(
    prepared: PreparedEvaluation, judged: JudgedCriterion, db: Path
) -> Iterator[str]:
    """Yield a comment and the command of each cell; cells of several rows have the same runs."""
    labels = wording.labels(judged.cells)
    places: dict[str, str] = {}
    for cell in judged.cells:
        made = document.cell_command(prepared, judged, cell, db)
        places.setdefault(made, wording.place(cell, labels))
    for made, place in places.items():
        yield f"# {place or 'the one cell'}"
        yield made


def _bounds(rows: Sequence[Row]) -> Table:
    return Table(
        "What is asked, and the limit beyond which it is not met.",
        ["row", "level", "metric", "of", "asked", "limit"],
        [
            [
                row.id,
                row.level,
                row.metric,
                " in ".join(filter(None, (row.flow or "the run", row.window))),
                wording.bound(row),
                wording.limit(row),
            ]
            for row in rows
        ],
    )


def _tables(judged: JudgedCriterion, row: Row) -> Iterator[Table]:
    """Yield the table of a row, if any cell of it was run: the candidate and other controls."""
    cells = judged.of_row(row)
    if not cells:
        return
    labels = wording.labels(cells)
    controls = list(dict.fromkeys(each.control for cell in cells for each in cell.measured))
    unit = quantities.unit(row.definition.unit)
    yield Table(
        f"{row.id}: {row.asks} {row.metric}{f' in {unit}' if unit else ''}, mean and 95% interval; "
        f"asked: {wording.bound(row)}.",
        ["cell", "verdict", *controls, "runs of the candidate"],
        [_line(cell, controls, labels) for cell in cells],
        keys=2,
        tones=TONES,
    )


def _builds(judged: JudgedCriterion) -> Table:
    return Table(
        "Builds of the module on each kernel that is here; each is a should.",
        ["kernel", "verdict", "compiler"],
        [[one.kernel, one.verdict, "; ".join(one.messages)] for one in judged.checks],
        tones=TONES,
    )


def _line(cell: Cell, controls: Sequence[str], labels: dict[str, str]) -> list[str]:
    by_control = {each.control: wording.measured(cell.row, each) for each in cell.measured}
    values = [by_control.get(control, quantities.NO_VALUE) for control in controls]
    return [
        wording.place(cell, labels) or "all",
        cell.verdict,
        *values,
        " ".join(cell.candidate.runs) or quantities.NO_VALUE,
    ]
