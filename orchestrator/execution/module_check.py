"""Checks that our congestion-control modules do what their sources promise.

In one boot of the guest each module is loaded and unloaded in all relevant ways. Then one flow of
each module must fill a link.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from guest.build import GuestKernel
from kmods import catalogue
from kmods.catalogue import Module, Parameter
from orchestrator import sandbox
from orchestrator.backends.guest import Guest, shell
from orchestrator.backends.modules import ensure_ours
from orchestrator.errors import GuestError
from orchestrator.execution.runner import Observer, RunOptions, run_plan
from orchestrator.files.temporary import temporary_folder
from orchestrator.planning.plan import Plan, plan
from orchestrator.protocol.examination import ModuleAnswer, ModuleCheck, Observed, ParameterCheck
from orchestrator.scenario.loader import load_values
from results.contract import modules as contract
from results.runs import result
from results.store.store import Store

ABOUT = ("loads", "parameters", "refuses", "unloads")

LEAST_UTILISATION = 0.93
"""Least utilisation of a link without loss and with a queue of one BDP."""

SCENARIO: dict[str, Any] = {
    "version": 1,
    "name": "modules",
    "description": "One flow of each module on a lossless link with a queue of one BDP.",
    "seed": 1,
    "duration": "60s",
    "warmup": "20s",
    "topology": {
        "kind": "dumbbell",
        "bottleneck": {
            "rate": "10mbit", "delay": "10ms", "queue": {"kind": "droptail", "limit": "1bdp"},
        },
        "groups": [{"name": "a", "hosts": 1, "access": {"rate": "100mbit", "delay": "20ms"}}],
    },
    "flows": [{"name": "one", "group": "a", "congestion": "reno"}],
}  # fmt: skip

_ASKED = f"{sandbox.INPUT}/modules.json"
_COMMANDS = (
    f"cd {sandbox.BED} && python3 -S -B -m orchestrator.testbed.module_check {_ASKED}".encode()
)
_LARGEST = 2**32 - 1


@dataclass(frozen=True)
class CaseResult:
    """One test of a module in the kernel, with the expected and the actual result.

    ``about`` is one of ``ABOUT``; ``parameter`` names the tested parameter, if any.
    """

    about: str
    parameter: str | None
    asked: str
    wanted: Observed
    got: Observed

    @property
    def ok(self) -> bool:
        """Whether the result is the expected one."""
        return self.got == self.wanted

    def __str__(self) -> str:
        asked = f"{self.parameter} {self.asked}" if self.parameter else self.asked
        return f"{self.about}: {asked}: wanted {self.wanted}, got {self.got}"


@dataclass(frozen=True)
class ModuleFlowResult:
    """The result of a module's flow; None for values that the run did not reach."""

    status: str
    verdict: str | None
    utilisation: float | None
    error: str | None

    @property
    def faults(self) -> list[str]:
        """Problems of the run; empty when it was faithful and the link was used."""
        if self.status != "ok":
            return [f"run {self.status}: {self.error}"]
        faults = []
        if self.verdict != "faithful":
            faults.append(f"verdict: wanted faithful, got {self.verdict}")
        if self.utilisation is None or self.utilisation < LEAST_UTILISATION:
            faults.append(
                f"utilisation: wanted {LEAST_UTILISATION} at least, got {self.utilisation}"
            )
        return faults


@dataclass(frozen=True)
class ModuleCheckResult:
    """All results about a module."""

    module: str
    answers: list[CaseResult]
    driven: ModuleFlowResult

    def about(self, what: str) -> list[CaseResult]:
        """Return the answers about one of ``ABOUT``."""
        return [answer for answer in self.answers if answer.about == what]

    def holds(self, what: str) -> bool:
        """Whether all answers about one of ``ABOUT`` are right.

        A module that loads must have at least one answer.
        """
        answers = self.about(what)
        return bool(answers or self.answers[0].ok) and all(answer.ok for answer in answers)

    @property
    def faults(self) -> list[str]:
        """All problems, one line each."""
        return [*(str(answer) for answer in self.answers if not answer.ok), *self.driven.faults]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.faults


def document(checked: Sequence[ModuleCheckResult]) -> dict[str, Any]:
    """Return the JSON contract of ``kmods check``."""
    return contract.CheckedModules.model_construct(
        modules=[_module(module) for module in checked]
    ).document()


def _module(checked: ModuleCheckResult) -> contract.CheckedModule:
    driven = checked.driven
    return contract.CheckedModule.model_construct(
        module=checked.module,
        ok=checked.ok,
        loads=checked.holds("loads"),
        parameters=checked.holds("parameters"),
        refuses=checked.holds("refuses"),
        unloads=checked.holds("unloads"),
        status=driven.status,
        verdict=driven.verdict,
        utilisation=driven.utilisation,
        error=driven.error,
        answers=[
            contract.CaseResult.model_construct(None, **vars(answer), ok=answer.ok)
            for answer in checked.answers
        ],
    )


def check(
    kernel: GuestKernel, names: Sequence[str], observe: Callable[[Plan], Observer]
) -> list[ModuleCheckResult]:
    """Check modules by the names of their congestion controls; ``observe`` watches their runs.

    Raises:
        MachineError: the modules cannot be built, or this user cannot be confined here.
        GuestError: the guest ended early.
    """
    answers = ask_kernel(kernel, [catalogue.modules()[name] for name in names])
    return [
        ModuleCheckResult(*each)
        for each in zip(names, answers, drive(kernel, names, observe), strict=True)
    ]


def ask_kernel(kernel: GuestKernel, modules: Sequence[Module]) -> list[list[CaseResult]]:
    """Return the answers of the guest's kernel about modules; build them if they are not cached.

    Raises:
        MachineError: the modules cannot be built, or this user cannot be confined here.
        GuestError: the guest ended early.
    """
    folder = ensure_ours(kernel).folder
    built = (f"{module.source.stem}.ko" for module in modules)
    files = {name: (folder / name).read_bytes() for name in built}
    files["modules.json"] = json.dumps([_spec(module) for module in modules]).encode()
    said = shell.run_commands(kernel, _COMMANDS, files)
    if said.status:
        lines = said.output.decode(errors="replace").splitlines()
        raise GuestError("the modules could not be checked in the guest", lines[-8:])
    found: list[list[ModuleAnswer]] = json.loads(said.output)
    return [[CaseResult(**answer) for answer in answers] for answers in found]


def _spec(module: Module) -> ModuleCheck:
    """Return what testbed/module_check.py reads of a module."""
    by_scope: dict[str, list[ParameterCheck]] = {"kernel": [], "namespace": []}
    for parameter in module.parameters.values():
        by_scope[parameter.scope].append(
            {
                "name": parameter.name,
                "default": parameter.default,
                "low": parameter.low,
                "high": parameter.high,
                "bad": bad_values(parameter),
            }
        )
    return {
        "name": module.name,
        "file": f"{sandbox.INPUT}/{module.source.stem}.ko",
        "parameters": by_scope["kernel"],
        "settings": by_scope["namespace"],
    }


def bad_values(parameter: Parameter) -> list[str]:
    """Return values just outside of a parameter's range, and texts that are no number."""
    around = (parameter.low - 1, parameter.low + 1, parameter.high - 1, parameter.high + 1)
    bad = [value for value in around if value >= 0 and parameter.fault(value)]
    if parameter.scope == "namespace":
        return [str(value) for value in bad]
    return [*(str(value) for value in bad if value <= _LARGEST), "-1", "x"]


def drive(
    kernel: GuestKernel, names: Sequence[str], observe: Callable[[Plan], Observer]
) -> list[ModuleFlowResult]:
    """Run a flow of each module; return the results.

    Raises:
        MachineError: this machine cannot run any of them.
    """
    with temporary_folder("check") as folder:
        db = folder / "modules.db"
        scenario = {**SCENARIO, "matrix": {"flows.one.congestion": list(names)}}
        planned = plan(load_values(scenario, {}, "modules"))
        ids = run_plan(planned, RunOptions(db, Guest(kernel)), observe(planned))
        with Store.open_read_only(db) as store:
            runs = result.of_ids(store, ids)
    return [
        ModuleFlowResult(
            run.row.status,
            run.row.verdict,
            run.metrics.get("utilisation"),
            run.row.error,
        )
        for run in runs
    ]
