"""Summaries of what was measured of a claim: values, runs and hashes, as JSON without samples.

``results.claims.contract.Measured`` is the document.

``statement`` is the id of a single statement; a summary of a whole claim does not have it. Values
are in the unit of their statement, in the order of the repetitions. ``places`` is the number of
places of which the largest, least or mean was taken; it is only there if it is not 1. The last NAME
of a run is that of its experiment; older summaries do not have it. A verdict is not kept: it
follows from the values and the claim's data, so a changed number of the paper changes it.
``kernel``, ``linux_sha256``, ``link_model`` and ``digest_version`` are lists where runs differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from results.claims import contract
from results.claims.judged_statements import JudgedStatement, RowValues
from results.claims.stated.model import Design, Length
from results.claims.values import UsedRun
from results.contract.base import SCHEMA
from results.experiment.left_out import LeftOut
from results.records.model import Variant

CAUSES = "causes"
"""Folder, beside the summaries of claims, of those of ablations."""

T = TypeVar("T")


class RecordedRun(NamedTuple):
    """A run that counts, without its samples.

    ``experiment`` is its scenario's name, ``design`` that of the paper's experiment; None in a
    summary that does not say it.
    """

    experiment: str
    variant: Variant
    repetition: int
    seed: int
    verdict: str | None
    digest: str | None
    design: str | None = None


@dataclass(frozen=True)
class Record:
    """What was measured of a claim, of one of its statements, or with an ablation.

    ``kernels``, ``linux_sha256``, ``link_models`` and ``digest_versions`` have each value that any
    run has. ``modules`` has hashes by name, ``experiments`` the scenario and overrides by name, and
    ``statements`` the values of each row by id and label.
    """

    paper: str
    claim: str
    statement: str | None
    length: Length
    ablation: str | None
    kernels: Sequence[str]
    linux_sha256: Sequence[str | None]
    modules: Mapping[str, str]
    link_models: Sequence[int]
    digest_versions: Sequence[int]
    sandboxed: bool
    experiments: Mapping[str, tuple[str, Sequence[str]]]
    statements: Mapping[str, Mapping[str, RowValues]]
    runs: Sequence[RecordedRun]

    @property
    def target(self) -> str:
        """What ``reproduce`` makes it of: the id of the claim, or of one of its statements."""
        return self.statement or self.claim

    @property
    def kernel(self) -> str:
        """The kernel's release, or those of all runs where they differ."""
        return ", ".join(self.kernels)

    @property
    def kernel_as_json(self) -> str | list[str]:
        """The kernel's release, as JSON has it: a list where those of runs differ."""
        return _alone(self.kernels)

    def document(self) -> dict[str, Any]:
        """Return the summary, JSON-ready."""
        summary = contract.Measured.model_construct(
            schema_=SCHEMA,
            paper=self.paper,
            claim=self.claim,
            length=self.length,
            ablation=self.ablation,
            kernel=self.kernel_as_json,
            linux_sha256=_alone(self.linux_sha256),
            modules=dict(self.modules),
            link_model=_alone(self.link_models),
            digest_version=_alone(self.digest_versions),
            sandboxed=self.sandboxed,
            experiments={
                name: [scenario, list(overrides)]
                for name, (scenario, overrides) in self.experiments.items()
            },
            statements={
                name: [_row(label, values) for label, values in made.items()]
                for name, made in self.statements.items()
            },
            runs=[_run(run) for run in self.runs],
        )
        if self.statement is not None:
            summary.statement = self.statement
        return summary.document()

    def text(self) -> str:
        """Return the file of the summary: a line for each row and run, so that changes are seen."""
        head = self.document()
        statements, runs = head.pop("statements"), head.pop("runs")
        lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        lines.append(' "statements": {')
        for number, (name, rows) in enumerate(statements.items()):
            lines.append(f"  {json.dumps(name)}: [")
            lines += _list([json.dumps(row) for row in rows], "   ")
            lines.append("  ]," if number + 1 < len(statements) else "  ]")
        lines += [" },", ' "runs": [']
        lines += _list([json.dumps(run) for run in runs], "  ")
        return "\n".join(["{", *lines, " ]", "}", ""])


def made(
    claim: str,
    length: Length,
    outcomes: Sequence[JudgedStatement],
    designs: Mapping[str, Design],
    ablation: str | None = None,
    statement: str | None = None,
) -> Record:
    """Return what runs gave for some statements of a claim.

    ``designs`` has the paper's experiments by name. ``statement`` is the id of the one statement.
    """
    used = {
        run_id: run
        for outcome in outcomes
        for judged in outcome.rows
        for run_id, run in judged.values.used.items()
    }
    runs = sorted(used.values(), key=_order)
    rows = [run.row for run in runs]
    modules = {name: sha256 for run in runs for name, sha256 in run.modules.items()}
    names = {
        str(quantity.experiment)
        for outcome in outcomes
        for judged in outcome.rows
        for quantity in judged.row.quantities()
        if quantity.experiment is not None
    }
    return Record(
        paper=outcomes[0].paper,
        claim=claim,
        statement=statement,
        length=length,
        ablation=ablation,
        kernels=_distinct(row.kernel or "" for row in rows),
        linux_sha256=_distinct(run.linux_sha256 for run in runs),
        modules=dict(sorted(modules.items())),
        link_models=_distinct(row.link_model for row in rows),
        digest_versions=_distinct(row.digest_version for row in rows),
        sandboxed=not any(row.unconfined for row in rows),
        experiments={
            name: (designs[name].scenario, designs[name].overrides(length))
            for name in sorted(names)
        },
        statements={
            outcome.statement.id: {
                judged_row.row.label: judged_row.values for judged_row in outcome.rows
            }
            for outcome in outcomes
        },
        runs=[
            RecordedRun(
                run.row.experiment,
                dict(run.row.variant),
                run.row.repetition,
                run.row.seed,
                run.row.verdict,
                run.row.digest,
                run.design,
            )
            for run in runs
        ],
    )


def parsed(document: Mapping[str, Any]) -> Record:
    """Return the record of a summary's JSON.

    Raises:
        KeyError, TypeError, ValueError: it is no summary of this version.
    """
    if document["schema"] != SCHEMA:
        raise ValueError(f"schema {document['schema']}")
    return Record(
        paper=document["paper"],
        claim=document["claim"],
        statement=document.get("statement"),
        length=document["length"],
        ablation=document.get("ablation"),
        kernels=_several(document["kernel"]),
        linux_sha256=_several(document["linux_sha256"]),
        modules=document["modules"],
        link_models=_several(document["link_model"]),
        digest_versions=_several(document["digest_version"]),
        sandboxed=document["sandboxed"],
        experiments={
            name: (scenario, tuple(overrides))
            for name, (scenario, overrides) in document["experiments"].items()
        },
        statements={
            name: {row["label"]: _values(row) for row in rows}
            for name, rows in document["statements"].items()
        },
        runs=[RecordedRun(*run) for run in document["runs"]],
    )


def _values(row: Mapping[str, Any]) -> RowValues:
    left_out = LeftOut(row["unfaithful"], row["failed"], row["identical"])
    return RowValues(row["values"], row["least"], left_out, places=row.get("places", 1))


def _row(label: str, values: RowValues) -> contract.MeasuredRow:
    left_out = values.left_out
    row = contract.MeasuredRow.model_construct(
        label=label,
        values=list(values.values),
        least=values.least,
        unfaithful=left_out.unfaithful,
        failed=left_out.failed,
        identical=left_out.identical,
    )
    if values.places != 1:
        row.places = values.places
    return row


def _run(run: RecordedRun) -> list[Any]:
    return [
        *(run.experiment, dict(run.variant), run.repetition, run.seed, run.verdict, run.digest),
        *([] if run.design is None else [run.design]),
    ]


def _list(items: Sequence[str], indent: str) -> list[str]:
    last = len(items) - 1
    return [f"{indent}{item}{',' if index < last else ''}" for index, item in enumerate(items)]


def _order(run: UsedRun) -> tuple[Any, ...]:
    row = run.row
    return row.experiment, json.dumps(dict(row.variant), sort_keys=True), row.repetition


def _distinct(values: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(values))


def _alone(values: Sequence[T]) -> T | list[T]:
    """Return the only value; a list where there are several, or none."""
    return values[0] if len(values) == 1 else list(values)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
