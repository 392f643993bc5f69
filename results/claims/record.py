"""Summaries of what was measured of a claim: values, runs and hashes, as JSON without samples.

::

    {"schema": 1, "paper", "claim", "statement", "length", "ablation": null or NAME, "kernel",
     "linux_sha256", "modules": {NAME: sha256}, "link_model", "digest_version",
     "sandboxed", "experiments": {NAME: [SCENARIO, [OVERRIDE]]},
     "statements": {ID: [{"label", "values", "least", "unfaithful", "failed", "identical"}]},
     "runs": [[EXPERIMENT, VARIANT, REPETITION, SEED, VERDICT, DIGEST]]}

``statement`` is the id of a single statement; a summary of a whole claim does not have it. Values
are in the unit of their statement, in the order of the repetitions. A verdict is not kept: it
follows from the values and the claim's data, so a changed number of the paper changes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from results.claims.model import Design, Length, Statement
from results.claims.rows import Row
from results.claims.values import Series, Used

SCHEMA = 1

CAUSES = "causes"
"""Folder, beside the summaries of claims, of those of ablations."""

STATEMENT = "statement"
"""Key of the id in the summary of a single statement."""

Part = tuple[Statement, Sequence[tuple[Row, Series, int]]]
"""A statement with its rows, their values, and the repetitions that were made at first."""


def text(
    paper: str,
    claim: str,
    length: Length,
    parts: Sequence[Part],
    designs: Mapping[str, Design],
    ablation: str | None = None,
    statement: str | None = None,
) -> str:
    """Return the summary of a claim, of one statement, or of an ablation, as JSON.

    ``designs`` has the paper's experiments by name. ``statement`` is the id of the one statement.
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
        **({STATEMENT: statement} if statement is not None else {}),
        "length": length,
        "ablation": ablation,
        **_origin(runs),
        "experiments": experiments(parts, length, designs),
    }
    statements = {
        each.id: [
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
        for each, made in parts
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
