"""A report's commands: what makes the runs of an experiment again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from orchestrator.errors import OrchestratorError
from orchestrator.planning.identity import NOT_PART, experiment_sha256
from orchestrator.scenario.loader import load_stored
from results.comparison.runs import differing

if TYPE_CHECKING:
    from results.experiment.experiments import Experiment
    from results.store.stored import StoredRun

UNCOMMITTED = "  # with changes that were not committed"
UNKNOWN = "# with --set and --reduced as the runs had them"


def commands(experiment: Experiment, run: StoredRun) -> str:
    """Return the commands that make the runs again, as far as what is stored says so."""
    last = run.row
    commit = (last.git_commit or "").removesuffix("+")
    changed = UNCOMMITTED if (last.git_commit or "").endswith("+") else ""
    file = f"{last.scenario}.yaml"
    repetitions = max(row.repetition for row in experiment.rows) + 1
    lines = [f"git checkout {commit}{changed}"] if commit else []
    lines.append(f"# {file} is the scenario below")
    options = _options(run, _first_seed(experiment))
    if options is None:
        lines.append(UNKNOWN)
    if run.files:
        lines.append(f"# beside it: {', '.join(run.files)}")
    command = ["orchestrator", "run", file, *(options or ()), "--repetitions", str(repetitions)]
    lines.append(shlex.join(command))
    lines.append(f"orchestrator run --verify {last.id}  # one stored run, compared to the bit")
    return "\n".join(lines)


def _first_seed(experiment: Experiment) -> int | None:
    """Return the seed of repetition 0, which is the scenario's."""
    return next((row.seed for row in experiment.rows if row.repetition == 0), None)


def _options(run: StoredRun, seed: int | None) -> list[str] | None:
    """Return the options with which the scenario's text gives the experiment of the run.

    They are tried, from the fewest on. None if none of them gives it.
    """
    for changed in (False, True):
        for reduced in (False, True):
            overrides = _overrides(run, seed, reduced) if changed else []
            if _makes(run, overrides, reduced):
                sets = [word for override in overrides for word in ("--set", override)]
                return ["--reduced"] * reduced + sets
    return None


def _makes(run: StoredRun, overrides: list[str], reduced: bool) -> bool:
    try:
        loaded = load_stored(
            run.head.scenario_text, run.files, overrides=overrides, reduced=reduced
        )
    except OrchestratorError:
        return False
    return experiment_sha256(loaded) == run.row.experiment_sha256


def _overrides(run: StoredRun, seed: int | None, reduced: bool) -> list[str]:
    """Return what a run's scenario has other than the text, apart from what its axes set."""
    try:
        loaded = load_stored(run.head.scenario_text, run.files, reduced=reduced)
    except OrchestratorError:
        return []
    text = loaded.scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
    return list(_sets(text, {**run.head.resolved, "seed": seed}, run))


def _sets(text: dict[str, Any], resolved: dict[str, Any], run: StoredRun) -> Iterator[str]:
    sets = run.head.variant_sets
    axes = {*run.head.variant, *(path for named in sets.values() for path in named)}
    for difference in differing([text, resolved]):
        path, (_before, value) = difference.path, difference.values
        below = any(path == axis or path.startswith(f"{axis}.") for axis in axes)
        if value is not None and not below and path.split(".")[0] not in NOT_PART:
            yield f"{path}={value if isinstance(value, str) else json.dumps(value)}"
