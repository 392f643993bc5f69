"""Writes a matrix of harm: its page, its document, and the scenarios of its runs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import __version__
from orchestrator.evaluation import written
from orchestrator.evaluation.card import document as cards
from orchestrator.evaluation.matrix import page as pages
from results.contract import evaluations as contract
from results.contract.base import SCHEMA

if TYPE_CHECKING:
    from orchestrator.evaluation.matrix.harm import HarmMatrix, MatrixCell
    from orchestrator.evaluation.matrix.prepared import PreparedMatrix

HTML, JSON = "matrix.html", "matrix.json"


def require_folder(folder: Path) -> None:
    """Check that a matrix can be written to a folder, before anything runs.

    Raises:
        UsageError: as :func:`orchestrator.evaluation.written.require_folder`.
    """
    written.require_folder(folder, JSON, "matrix")


def write(found: HarmMatrix, db: Path) -> list[Path]:
    """Write the matrix into its folder and return its files; an earlier one is replaced.

    Raises:
        UsageError: as ``require_folder``, or a file cannot be written.
    """
    folder = found.prepared.request.folder
    contents = {
        HTML: pages.page(found, command(found.prepared, db)),
        JSON: written.json_text(document(found, db)),
    }
    for one in found.prepared.experiments.values():
        contents[str(one.path.relative_to(folder))] = one.text
    encoded = {name: text.encode() for name, text in contents.items()}
    written.replace(folder, JSON, "matrix", encoded)
    return [folder / HTML, folder / JSON]


def command(prepared: PreparedMatrix, db: Path) -> str:
    """Return the command line that makes the matrix again."""
    request = prepared.request
    words = ["orchestrator", "evaluate", "--matrix", ",".join(request.names), f"--{request.length}"]
    if request.kernel is not None:
        words += ["--kernel", request.kernel]
    return shlex.join([*words, "--db", str(db), "-o", str(request.folder)])


def document(found: HarmMatrix, db: Path) -> dict[str, Any]:
    """Return the JSON of a matrix."""
    prepared = found.prepared
    return contract.HarmMatrix.model_construct(
        schema_=SCHEMA,
        version=__version__,
        controls=[one.name for one in prepared.controls],
        length=prepared.request.length,
        kernels=pages.kernels_of(found),
        digest=cards.digest(found.rows),
        runs=len(found.rows),
        failed=sum(row.status != "ok" for row in found.rows),
        unfaithful=sum(row.verdict == "unfaithful" for row in found.rows),
        metrics=[
            contract.MatrixMetric.model_construct(
                metric=row.metric,
                unit=row.definition.unit,
                harm_is="less" if row.relation == "at least" else "more",
                cells=[_cell(cell) for cell in found.cells if cell.row.id == row.id],
            )
            for row in prepared.rows
        ],
        scenarios=[
            str(one.path.relative_to(prepared.request.folder))
            for one in prepared.experiments.values()
        ],
        command=command(prepared, db),
    ).document()


def _cell(cell: MatrixCell) -> contract.MatrixCell:
    change = cell.change
    return contract.MatrixCell.model_construct(
        variant=dict(cell.variant),
        newcomer=cell.newcomer,
        incumbent=cell.incumbent,
        mean=cell.value.mean,
        low=cell.value.low,
        high=cell.value.high,
        n=cell.n,
        runs=list(cell.runs),
        change=None if change is None else change.mean,
        change_low=None if change is None else change.low,
        change_high=None if change is None else change.high,
        verdict=cell.verdict,
    )
