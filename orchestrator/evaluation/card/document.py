"""The card as data, by the models of ``results.contract.evaluations``.

It has no time and no path of this machine but in commands. Equal runs give an equal ``digest``,
whoever makes them; only the ids of runs differ.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kmods import catalogue
from orchestrator.evaluation import wording
from orchestrator.evaluation.card.fingerprints import fingerprint
from results.contract import evaluations as contract
from results.contract.base import SCHEMA
from results.contract.experiments import LeftOut

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import Cell, JudgedCriterion, MeasuredControl
    from orchestrator.evaluation.model import Row
    from orchestrator.evaluation.prepared import PreparedEvaluation
    from results.records.model import RunRow


def of_card(
    prepared: PreparedEvaluation, judged: Sequence[JudgedCriterion], db: Path
) -> contract.Card:
    """Return a card without changes from a baseline."""
    rows = [row for one in judged for row in one.rows]
    folder = prepared.candidate.folder
    return contract.Card.model_construct(
        schema_=SCHEMA,
        candidate=prepared.candidate.name,
        module_sha256=None if folder is None else catalogue.read(folder).sha256,
        against=[control.name for control in prepared.references],
        length=prepared.request.length,
        kernels=sorted({row.kernel for row in rows if row.kernel is not None}),
        digest=digest(rows),
        runs=len(rows),
        failed=sum(row.status != "ok" for row in rows),
        unfaithful=sum(row.verdict == "unfaithful" for row in rows),
        criteria=[_criterion(prepared, one, db) for one in judged],
        changes=None,
    )


def digest(rows: Iterable[RunRow]) -> str:
    """Return the SHA-256 over the digests of runs, in their order; one that failed has none."""
    text = "\n".join(row.digest or "-" for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


def _criterion(
    prepared: PreparedEvaluation, judged: JudgedCriterion, db: Path
) -> contract.CardCriterion:
    criterion, quick = judged.criterion, prepared.request.length == "quick"
    return contract.CardCriterion.model_construct(
        name=judged.name,
        title=criterion.title,
        asks=criterion.asks,
        grade=judged.grade,
        why=wording.why(judged),
        explained=judged.explained,
        sources=[
            contract.CriterionSource.model_construct(
                title=source.document, section=source.section, says=source.says
            )
            for source in criterion.sources
        ],
        left_out=criterion.quick_leaves_out.strip() if quick else None,
        rows=[_row(prepared, judged, row, db) for row in criterion.rows],
        builds=[
            contract.CardBuild.model_construct(
                kernel=one.kernel, verdict=one.verdict, messages=one.messages
            )
            for one in judged.checks
        ],
        scenarios=[
            str(one.path.relative_to(prepared.request.folder)) for one in judged.experiments
        ],
        command=command(prepared, judged.name, db),
        fingerprint=fingerprint(criterion),
    )


def _row(
    prepared: PreparedEvaluation, judged: JudgedCriterion, row: Row, db: Path
) -> contract.CardRow:
    return contract.CardRow.model_construct(
        id=row.id,
        asks=row.asks,
        metric=row.metric,
        unit=row.definition.unit,
        flow=row.flow,
        window=row.window,
        relation=row.relation,
        of=row.of,
        bound=row.asked,
        limit=row.most,
        allowance=row.allowed,
        level=row.level,
        reason=row.reason.strip(),
        cells=[_cell(prepared, judged, cell, db) for cell in judged.of_row(row)],
    )


def _cell(
    prepared: PreparedEvaluation, judged: JudgedCriterion, cell: Cell, db: Path
) -> contract.CardCell:
    return contract.CardCell.model_construct(
        variant=dict(cell.variant),
        beside=cell.beside,
        verdict=cell.verdict,
        reason=cell.decision.reason,
        candidate=_measured(cell.candidate),
        baseline=None if cell.baseline is None else cell.baseline.control,
        others=[_measured(each) for each in cell.measured[1:]],
        command=cell_command(prepared, judged, cell, db),
    )


def _measured(each: MeasuredControl) -> contract.MeasuredControl:
    return contract.MeasuredControl.model_construct(
        control=each.control,
        mean=each.interval.mean,
        low=each.interval.low,
        high=each.interval.high,
        n=each.n,
        runs=list(each.runs),
        left_out=LeftOut.model_construct(
            unfaithful=each.left_out.unfaithful,
            failed=each.left_out.failed,
            identical=each.left_out.identical,
        ),
    )


def command(prepared: PreparedEvaluation, criterion: str, db: Path) -> str:
    """Return the command line that makes a criterion's part of the card again."""
    request = prepared.request
    words = ["orchestrator", "evaluate", request.candidate]
    words += ["--against", ",".join(request.against), f"--{request.length}", "--only", criterion]
    if request.kernel is not None:
        words += ["--kernel", request.kernel]
    return shlex.join([*words, "--db", str(db), "-o", str(request.folder)])


def cell_command(
    prepared: PreparedEvaluation, judged: JudgedCriterion, cell: Cell, db: Path
) -> str:
    """Return the command line that makes the candidate's runs of a cell, or finds them stored."""
    pair = prepared.candidate.name, cell.beside
    path = next(one.path for one in judged.experiments if one.pairing.key == pair)
    words = ["orchestrator", "run", str(path)]
    if prepared.request.length == "quick":
        words.append("--reduced")
    if cell.variant:
        named = judged.criterion.named_values(prepared.request.length == "quick")
        only = {
            axis: {value: named[axis][value]} if axis in named else [value]
            for axis, value in cell.variant.items()
        }
        words += ["--set", f"matrix={json.dumps(only, separators=(',', ':'))}"]
    return shlex.join([*words, "--resume", "--db", str(db)])
