"""Checks scenario files and their reduced forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.application.events import Listener, PlanWarned, ScenarioForm, ScenarioValid
from orchestrator.application.scenarios import drawable
from orchestrator.application.scenarios.plan import require_kernels
from orchestrator.errors import Fault, ScenarioError, UsageError
from orchestrator.planning.description import Plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load


@dataclass(frozen=True)
class ValidationRequest:
    """Scenario files, ``overrides`` as of ``--set``, and whether only reduced forms are meant."""

    files: Sequence[Path]
    overrides: Sequence[str] = ()
    reduced: bool = False


def validate(request: ValidationRequest, listener: Listener) -> None:
    """Check all files, each in both of its forms; tell the listener which of them are valid.

    It is told of the plan's warnings, too: of the reduced form only if no other one is meant.

    Raises:
        ScenarioError: with the faults of all files.
        UsageError: a file has no reduced form, and only that is asked for.
    """
    faults: list[Fault] = []
    for file in request.files:
        forms: list[ScenarioForm] = []
        warnings: list[Fault] = []
        own_faults: dict[Fault, None] = {}  # in order, and each once; a list would take minutes
        for reduced in (True,) if request.reduced else (False, True):
            try:
                planned = _planned(file, request, reduced)
                if planned is not None:
                    forms.append(ScenarioForm(len(planned.runs), planned.counts, reduced))
                    # A reduced form is only to try the scenario, so its values give no advice.
                    warnings += planned.warnings if reduced == request.reduced else []
            except ScenarioError as error:
                word = "in its reduced form: " if reduced and not request.reduced else ""
                new = [fault for fault in error.faults if fault not in own_faults]
                own_faults.update(
                    (replace(fault, message=word + fault.message), None) for fault in new
                )
        faults += own_faults
        if not own_faults:
            for warning in warnings:
                listener(PlanWarned(warning.where, warning.message))
            listener(ScenarioValid(file, forms))
    if faults:
        raise ScenarioError(faults)


def _planned(file: Path, request: ValidationRequest, reduced: bool) -> Plan | None:
    """Plan a form of a scenario; return None when it has no reduced form and need not have one.

    Raises:
        ScenarioError: the form is not valid.
        UsageError: the scenario has no reduced form, and only that is asked for.
    """
    try:
        loaded = load(file, request.overrides, reduced)
        planned = plan(loaded)
        drawable.require(loaded, planned)
        require_kernels(loaded, planned)
    except ScenarioError:
        raise
    except UsageError:
        if request.reduced:
            raise
        return None
    return planned
