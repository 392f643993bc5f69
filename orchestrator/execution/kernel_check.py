"""Checks what a guest kernel is good for: equal digests, faithful links, queues, modules.

Short runs try it all: equal ones, one with each impairment, one with each kind of queue and one
with each congestion control. The result is kept beside the cached kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from guest.build import GuestKernel
from kmods import catalogue
from orchestrator.backends.guest import Guest
from orchestrator.backends.guest.features import absent_features, lack_of
from orchestrator.backends.guest.stubs import Stubs, of_run
from orchestrator.backends.modules import ensure_ours
from orchestrator.execution.runner import Observer, RunOptions, run_plan
from orchestrator.files.temporary import temporary_folder
from orchestrator.kinds.congestion import BUILT_IN, MAINLINE
from orchestrator.kinds.queues import QUEUES
from orchestrator.planning.plan import Plan, plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario.loader import load_values
from results.contract import kernels as contract
from results.contract.base import SCHEMA
from results.runs import result
from results.runs.model import RunResult
from results.store.store import Store

EQUAL_RUNS = 3

_QUEUES: Mapping[str, dict[str, str | float]] = {
    "red": {"min": "20p", "max": "60p", "probability": "10%", "weight": 0.002},
}
"""What a kind of queue needs beside its limit."""

_IMPAIRMENTS: Mapping[str, object] = {
    "loss": "1%",
    "jitter": "1ms",
    "reordering": "1%",
    "duplication": "1%",
    "corruption": "1%",
}


@dataclass(frozen=True)
class Case:
    """Something that is tried by so many equal runs; ``absent`` tells why it cannot be."""

    about: str
    name: str
    spec: RunSpec
    runs: int = 1
    absent: str = ""


@dataclass(frozen=True)
class Tried:
    """The result of a case: ``problem`` is empty where its runs were faithful and equal.

    ``is_absent`` tells that the kernel does not have it, which is no fault of what it has.
    """

    about: str
    name: str
    problem: str = ""
    is_absent: bool = False


@dataclass(frozen=True)
class KernelCheck:
    """What a kernel is good for; ``lacks`` has what it lacks of the scenario language.

    ``stubs`` is how it held the processes of the runs that were tried.
    """

    release: str
    key: str
    checked_utc: str
    tried: Sequence[Tried]
    lacks: Sequence[str]
    stubs: Stubs

    @property
    def problems(self) -> list[str]:
        """What the kernel has and does not do well, one line each."""
        bad = (each for each in self.tried if each.problem and not each.is_absent)
        return [f"{each.about} {each.name}: {each.problem}" for each in bad]

    @property
    def absent(self) -> list[str]:
        """What the kernel does not have, one line each."""
        tried = (f"{one.about} {one.name}" for one in self.tried if one.is_absent)
        return [*tried, *(f"Linux {self.release} {lack}" for lack in self.lacks)]

    @property
    def ok(self) -> bool:
        """Whether all that the kernel has is deterministic and faithful."""
        return not self.problems

    def document(self) -> dict[str, Any]:
        """Return the JSON contract of ``guest check``."""
        tried = [contract.Tried.model_construct(None, **asdict(each)) for each in self.tried]
        return contract.CheckedKernel.model_construct(
            schema_=SCHEMA,
            release=self.release,
            key=self.key,
            checked_utc=self.checked_utc,
            ok=self.ok,
            problems=self.problems,
            absent=self.absent,
            stubs=self.stubs,
            tried=tried,
        ).document()


def check(kernel: GuestKernel, jobs: int, observe: Callable[[Plan], Observer]) -> KernelCheck:
    """Check a kernel by short runs, so many at a time, which ``observe`` watches.

    Raises:
        MachineError: our modules do not build for the kernel, or this user cannot be confined here.
    """
    ensure_ours(kernel)
    cases = list(_cases(kernel))
    possible = [case for case in cases if not case.absent]
    made = _run(kernel, possible, jobs, observe)
    tried = [
        Tried(case.about, case.name, case.absent, is_absent=True)
        if case.absent
        else Tried(case.about, case.name, _problem(made.pop(0)))
        for case in cases
    ]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lacks = absent_features(kernel.release)
    return KernelCheck(kernel.release, kernel.key, now, tried, lacks, of_run(kernel.linux, ()))


def _cases(kernel: GuestKernel) -> Iterator[Case]:
    def case(about: str, name: str, values: Mapping[str, object], runs: int = 1) -> Case:
        spec = _spec(values)
        return Case(about, name, spec, runs, lack_of(spec, kernel.release) or "")

    yield case("digests", f"of {EQUAL_RUNS} equal runs", {}, EQUAL_RUNS)
    for name, value in _IMPAIRMENTS.items():
        yield case("impairment", name, {name: value})
    for kind in QUEUES.found:
        queue = {"kind": kind, "limit": "100p", **_QUEUES.get(kind, {})}
        yield case("queue", kind, {"queue": queue})
    for name in sorted({*MAINLINE, *catalogue.modules()}):
        control = case("congestion control", name, {"congestion": name})
        is_there = (
            name in BUILT_IN
            or name in catalogue.modules()
            or (kernel.modules_dir / f"tcp_{name}.ko").is_file()
        )
        yield control if is_there else replace(control, absent="the kernel has no such module")


def _spec(values: Mapping[str, object]) -> RunSpec:
    """Return a short run of two flows, with other values of the bottleneck or of the flows."""
    queue = {"kind": "droptail", "limit": "50p"}
    of_bottleneck = {key: value for key, value in values.items() if key != "congestion"}
    bottleneck = {"rate": "10mbit", "delay": "10ms", "queue": queue, **of_bottleneck}
    congestion = values.get("congestion", "cubic")
    scenario = {
        "version": 1,
        "name": "kernel-check",
        "seed": 1,
        "duration": "3s",
        "start_jitter": "10ms",
        "topology": {
            "kind": "dumbbell",
            "bottleneck": bottleneck,
            "groups": [{"name": "a", "access": {"rate": "100mbit", "delay": "5ms"}}],
        },
        "flows": [
            {"name": "one", "group": "a", "congestion": congestion},
            {"name": "other", "group": "a", "congestion": congestion, "direction": "reverse"},
        ],
    }
    return plan(load_values(scenario, {}, "kernel check")).runs[0]


def _run(
    kernel: GuestKernel, cases: Sequence[Case], jobs: int, observe: Callable[[Plan], Observer]
) -> list[list[RunResult]]:
    """Return the runs of each case."""
    planned = Plan("kernel-check", [case.spec for case in cases for _run in range(case.runs)], [])
    with temporary_folder("check") as folder:
        options = RunOptions(folder / "check.db", Guest(kernel, jobs=jobs), jobs)
        ids = run_plan(planned, options, observe(planned))
        with Store.open_read_only(options.db) as store:
            runs = result.of_ids(store, ids)
    return [[runs.pop(0) for _run in range(case.runs)] for case in cases]


def _problem(runs: Sequence[RunResult]) -> str:
    """Return what is wrong with the equal runs of a case, an empty text if nothing is."""
    for run in runs:
        if run.row.status != "ok":
            return str(run.row.error).splitlines()[0]
        if run.row.verdict != "faithful":
            wrong = [check.name for check in run.checks if check.ok is not True]
            return f"{run.row.verdict}: {', '.join(wrong)}"
    digests = {run.row.digest for run in runs}
    return "" if len(digests) == 1 else f"{len(digests)} digests of {len(runs)} equal runs"
