"""Whether runs of a claim are equal to the bit to those that its committed summaries are of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from results.claims.model import Design
from results.claims.values import Used

Place = tuple[str, str, int, int]
"""Experiment, variant as JSON, repetition and seed of a run."""


@dataclass(frozen=True)
class Comparison:
    """Ids of the runs whose digest is the committed one, another one, and of which there is none.

    ``changed`` names the kernel or modules whose hash is another one than in the summaries. Another
    build may give the same digests, so this only helps to explain others.
    """

    equal: tuple[str, ...]
    other: tuple[str, ...]
    absent: tuple[str, ...]
    changed: tuple[str, ...]


def compare(
    used: Mapping[str, Used],
    documents: Iterable[Mapping[str, Any]],
    designs: Mapping[str, Design],
) -> Comparison | None:
    """Compare runs by their ids with summaries of one length; None if there is no summary.

    A summary whose experiments are set otherwise than ``designs`` says is left out: its runs are
    others.
    """
    there = [each for each in documents if _as_now(each, designs)]
    if not there:
        return None
    committed: dict[Place, set[str]] = {}
    for document in there:
        for experiment, variant, repetition, seed, _verdict, digest in document["runs"]:
            place = (experiment, _text(variant), repetition, seed)
            committed.setdefault(place, set()).add(digest)
    equal: list[str] = []
    other: list[str] = []
    absent: list[str] = []
    for run_id, run in used.items():
        row = run.row
        known = committed.get((row.experiment, _text(row.variant), row.repetition, row.seed))
        kind = absent if known is None else equal if row.digest in known else other
        kind.append(run_id)
    changed = _changed(used.values(), there)
    return Comparison(tuple(equal), tuple(other), tuple(absent), changed)


def _as_now(document: Mapping[str, Any], designs: Mapping[str, Design]) -> bool:
    return all(
        name in designs
        and [designs[name].scenario, list(designs[name].overrides(document["length"]))] == made
        for name, made in document["experiments"].items()
    )


def _text(variant: Mapping[str, Any]) -> str:
    return json.dumps(dict(variant), sort_keys=True)


def _changed(used: Iterable[Used], documents: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of kernel and modules that a summary has with other hashes only."""
    kernels: set[str | None] = set()
    modules: dict[str, set[str]] = {}
    for document in documents:
        kernel = document["linux_sha256"]
        kernels |= set(kernel) if isinstance(kernel, list) else {kernel}
        for name, sha256 in document["modules"].items():
            modules.setdefault(name, set()).add(sha256)
    found = set()
    for run in used:
        if run.linux_sha256 not in kernels:
            found.add("linux")
        found |= {
            name
            for name, sha256 in run.modules.items()
            if name in modules and sha256 not in modules[name]
        }
    return tuple(sorted(found))
