"""The identity of an experiment: what its runs have in common.

Two plans belong to one experiment if their scenarios are equal after ``--set``, whatever their
repetitions and whatever values their axes have. So an experiment can be continued with more
repetitions or more values. What a named value sets does belong to the identity, because results
have only its name. Comments, units and explicit defaults make no difference either. Nor do paths:
what a scenario names by a path belongs to the identity by its content.
``seeds`` does belong to the identity: whether differences are paired follows from it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from orchestrator.files.scenario_files import by_content, content_of, may_name_files, values_in
from orchestrator.planning.captures import KEY
from orchestrator.scenario import LoadedScenario, LoadedVariant

NOT_PART = ("description", "matrix", "repetitions", KEY)
"""Keys of a scenario that say nothing about what one of its runs does."""


COMMON = "common"


def experiment_sha256(loaded: LoadedScenario) -> str:
    """Return the hash of the scenario without repetitions and without the values of its axes."""
    base = loaded.scenario.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude=set(NOT_PART)
    )
    if base["seeds"] == COMMON:
        del base["seeds"]  # so that identities from before this key stay
    axes = sorted({path for variant in loaded.variants for path in variant.values})
    named = {
        f"{axis}={variant.values[axis]}": _by_content(_deciding(sets), variant)
        for variant in loaded.variants
        for axis, sets in variant.sets.items()
    }
    for path in {*axes, *(path for sets in named.values() for path in sets)}:
        _remove(base, path.split("."))
    parts = {"scenario": base, "axes": axes, **({"named": named} if named else {})}
    text = json.dumps(by_content(parts), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _deciding(sets: dict[str, object]) -> dict[str, object]:
    """Return what a named value sets, without what changes nothing of a run."""
    return {path: value for path, value in sets.items() if path.split(".")[0] != KEY}


def _by_content(sets: dict[str, object], variant: LoadedVariant) -> dict[str, object]:
    """Return what a named value sets, with the hash of each file in place of its path."""
    if not may_name_files(sets):
        return sets
    resolved = variant.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    return values_in(sets, resolved, content_of)


def _remove(value: Any, parts: list[str]) -> None:
    """Remove what a path names; items of lists are named as in ``--set``."""
    part, *rest = parts
    if isinstance(value, list):
        names = [item.get("name") if isinstance(item, dict) else None for item in value]
        index = names.index(part) if part in names else int(part) if part.isdigit() else len(value)
        key: Any = index if index < len(value) else None
    else:
        key = part if isinstance(value, dict) and part in value else None
    if key is None:
        return  # a value that only the axis gives
    if rest:
        _remove(value[key], rest)
    elif isinstance(value, list):
        value[key] = None
    else:
        del value[key]
