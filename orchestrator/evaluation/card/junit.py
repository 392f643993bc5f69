"""The card as a JUnit XML report: a suite for each criterion, and a case for each row.

A case fails where a row of level "must" is not met. The failure of the cell that decides ends with
what happened in one of its runs, where that is explained. Rows that are not decided or not
applicable, and those of level "should" that are not met, are skipped with their reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from orchestrator import plaintext
from orchestrator.evaluation import wording
from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, NOT_DECIDED

if TYPE_CHECKING:
    from orchestrator.evaluation.code import CodeCheck
    from orchestrator.evaluation.judging import Cell, JudgedCriterion
    from orchestrator.evaluation.model import Row


def xml(candidate: str, judged: Sequence[JudgedCriterion]) -> str:
    """Return the report."""
    root = ElementTree.Element("testsuites", {"name": plaintext.one_line(candidate)})
    for one in judged:
        root.append(_suite(one))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(judged: JudgedCriterion) -> ElementTree.Element:
    cases = [_case(judged, row) for row in judged.criterion.rows]
    cases += [_build_case(judged, check) for check in judged.checks]
    wall_s = sum(row.wall_s or 0.0 for row in judged.rows)
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": judged.name,
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "errors": "0",
            "skipped": str(sum(case.find("skipped") is not None for case in cases)),
            "time": f"{wall_s:.3f}",
        },
    )
    suite.extend(cases)
    return suite


def _case(judged: JudgedCriterion, row: Row) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": judged.name, "name": row.id, "time": "0"})
    cells = judged.of_row(row)
    labels = wording.labels(judged.cells)
    failed = [cell for cell in cells if cell.verdict == DOES_NOT]
    undecided = [cell for cell in cells if cell.verdict == NOT_DECIDED]
    if failed and row.level == "must":
        message = {"type": "criterion", "message": plaintext.one_line(row.asks)}
        failure = ElementTree.SubElement(case, "failure", message)
        lines = [_line(cell, labels) for cell in failed]
        if judged.explained is not None and wording.worst_cell(judged) in failed:
            lines.append(judged.explained)
        failure.text = plaintext.visible("\n".join(lines))
    elif failed or undecided or not cells:
        why = "should be met and is not" if failed else "not decided" if cells else "not run"
        if judged.lack is not None:
            why = plaintext.one_line(f"not applicable: {judged.lack}")
        ElementTree.SubElement(case, "skipped", {"message": why})
    text = "\n".join(_line(cell, labels) for cell in cells if cell.verdict in (MEETS, LIMITED))
    if text:
        ElementTree.SubElement(case, "system-out").text = plaintext.visible(text)
    return case


def _build_case(judged: JudgedCriterion, check: CodeCheck) -> ElementTree.Element:
    name = plaintext.one_line(f"builds-on-{check.kernel}")
    case = ElementTree.Element("testcase", {"classname": judged.name, "name": name, "time": "0"})
    if check.verdict != MEETS:
        message = plaintext.one_line(" ".join(check.messages))
        ElementTree.SubElement(case, "skipped", {"message": message})
    return case


def _line(cell: Cell, labels: dict[str, str]) -> str:
    values = "; ".join(
        f"{each.control} {wording.measured(cell.row, each)}" for each in cell.measured
    )
    return f"{wording.place(cell, labels) or 'all'}: {cell.verdict}: {values}"
