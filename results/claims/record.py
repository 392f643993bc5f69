"""Summaries of what was measured of a claim: values, runs and hashes, as JSON without samples.

::

    {"schema": 1, "paper", "claim", "length", "ablation": null or NAME, "kernel", "linux_sha256",
     "modules": {NAME: sha256}, "link_model", "digest_version", "sandboxed",
     "experiments": {NAME: [SCENARIO, [OVERRIDE]]},
     "statements": {ID: [{"label", "values", "least", "unfaithful", "failed", "identical"}]},
     "runs": [[EXPERIMENT, VARIANT, REPETITION, SEED, VERDICT, DIGEST]]}

Values are in the unit of their statement, in the order of the repetitions. A verdict is not kept:
it follows from the values and the claim's data, so a changed number of the paper changes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from results.claims.judge import Finding, judge
from results.claims.model import Design, Length, Statement
from results.claims.rows import Row, rows_of_any_length
from results.claims.values import Series, Used

SCHEMA = 1

CAUSES = "causes"
"""Folder, beside the summaries of claims, of those of ablations."""

Part = tuple[Statement, Sequence[tuple[Row, Series, int]]]
"""A statement with its rows, their values, and the repetitions that were made at first."""


def text(
    paper: str,
    claim: str,
    length: Length,
    parts: Sequence[Part],
    designs: Mapping[str, Design],
    ablation: str | None = None,
) -> str:
    """Return the summary of a claim, or of an ablation of it, as JSON.

    ``designs`` has the paper's experiments by name.
    """
    used = {
        run_id: run
        for _s, made in parts
        for _r, one, _l in made
        for run_id, run in one.used.items()
    }
    runs = [used[run_id] for run_id in sorted(used, key=lambda each: _order(used[each]))]
    head = {
        "schema": SCHEMA,
        "paper": paper,
        "claim": claim,
        "length": length,
        "ablation": ablation,
        **_origin(runs),
        "experiments": experiments(parts, length, designs),
    }
    statements = {
        statement.id: [
            {
                "label": row.label,
                "values": one.values,
                "least": least,
                "unfaithful": one.unfaithful,
                "failed": one.failed,
                "identical": one.identical,
            }
            for row, one, least in made
        ]
        for statement, made in parts
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    lines.append(' "statements": {')
    for number, (name, made) in enumerate(statements.items()):
        lines.append(f"  {json.dumps(name)}: [")
        lines += _list([json.dumps(each) for each in made], "   ")
        lines.append("  ]," if number + 1 < len(statements) else "  ]")
    lines += [" },", ' "runs": [']
    lines += _list([json.dumps(_run(run)) for run in runs], "  ")
    return "\n".join(["{", *lines, " ]", "}", ""])


def experiments(
    parts: Sequence[Part], length: Length, designs: Mapping[str, Design]
) -> dict[str, list[Any]]:
    """Return scenario and overrides of the experiments of some rows, by name."""
    used = {
        str(quantity.experiment)
        for _statement, made in parts
        for row, _series, _least in made
        for quantity in row.quantities()
    }
    return {
        name: [designs[name].scenario, list(designs[name].overrides(length))]
        for name in sorted(used)
    }


def _list(items: Sequence[str], indent: str) -> list[str]:
    last = len(items) - 1
    return [f"{indent}{each}{',' if index < last else ''}" for index, each in enumerate(items)]


def _order(run: Used) -> tuple[Any, ...]:
    row = run.row
    return row.experiment, json.dumps(dict(row.variant), sort_keys=True), row.repetition


def _run(run: Used) -> list[Any]:
    row = run.row
    return [
        row.experiment, dict(row.variant), row.repetition, row.seed, row.verdict, row.digest,
    ]  # fmt: skip


def _origin(runs: Sequence[Used]) -> dict[str, Any]:
    """Return what all runs have in common, and the modules that any of them has loaded."""
    modules = {name: each for run in runs for name, each in run.modules.items()}
    rows = [run.row for run in runs]
    return {
        "kernel": _one(row.kernel for row in rows),
        "linux_sha256": _one(run.linux_sha256 for run in runs),
        "modules": dict(sorted(modules.items())),
        "link_model": _one(row.link_model for row in rows),
        "digest_version": _one(row.digest_version for row in rows),
        "sandboxed": not any(row.unconfined for row in rows),
    }


def _one(values: Any) -> Any:
    found = list(dict.fromkeys(values))
    return found[0] if len(found) == 1 else found


@dataclass(frozen=True)
class Measured:
    """A summary that was read: values of each row by statement and label.

    ``without`` is, for an ablation, what was measured without it at the same length.
    """

    document: Mapping[str, Any]
    without: Measured | None = None

    @property
    def length(self) -> Length:
        """The length of its runs."""
        found: Length = self.document["length"]
        return found

    def findings(self, statement: Statement) -> list[tuple[Row, Finding]]:
        """Return the rows that have values, judged by the statement as it is now."""
        made = {each["label"]: each for each in self.document["statements"].get(statement.id, ())}
        return [
            (row, judge(one["values"], row.accepted, one["least"], one["identical"]))
            for row in rows_of_any_length(statement)
            if (one := made.get(row.label)) is not None
        ]

    @property
    def ablation(self) -> str | None:
        """The name of the ablation that was measured; None for the claim itself."""
        found: str | None = self.document.get("ablation")
        return found

    def left_out(self, statement: Statement) -> tuple[int, int]:
        """Return how many values are of unfaithful and of failed runs."""
        made = self.document["statements"].get(statement.id, ())
        return sum(each["unfaithful"] for each in made), sum(each["failed"] for each in made)

    def labels(self) -> dict[str, list[str]]:
        """Return the labels of the rows of each statement."""
        return {
            name: [each["label"] for each in made]
            for name, made in self.document["statements"].items()
        }


def read(path: Path) -> Measured:
    """Read a summary.

    Raises:
        UsageError: it is no summary of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no summary of claims of schema {SCHEMA}")
    return Measured(document)


def read_all(folder: Path) -> dict[tuple[str, str], Measured]:
    """Return the summary of each (paper, claim); a full one before a quick one."""
    found: dict[tuple[str, str], Measured] = {}
    for path in sorted(folder.glob("*.json")):
        one = read(path)
        key = (one.document["paper"], one.document["claim"])
        if key not in found or one.length == "full":
            found[key] = one
    return found


def read_causes(folder: Path) -> dict[tuple[str, str, str], Measured]:
    """Return the summary of each (paper, claim, ablation); a full one before a quick one."""
    own = {_key(one): one for one in map(read, sorted(folder.glob("*.json")))}
    found: dict[tuple[str, str, str], Measured] = {}
    for path in sorted((folder / CAUSES).glob("*.json")):
        one = read(path)
        one = replace(one, without=own.get(_key(one)))
        key = (one.document["paper"], one.document["claim"], str(one.ablation))
        if key not in found or one.length == "full":
            found[key] = one
    return found


def _key(one: Measured) -> tuple[str, str, Length]:
    return one.document["paper"], one.document["claim"], one.length
