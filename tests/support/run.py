"""A runner that pretends, and the scenario that it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from guest.build import GuestKernel
from orchestrator.application import making_runs
from orchestrator.backends.guest import Guest
from orchestrator.cli import commands
from orchestrator.errors import RunError
from orchestrator.execution import costing
from orchestrator.execution.runner import Observer, Progress, RunOptions
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import version
from orchestrator.recording.model import (
    QUEUE_DTYPE,
    TCP_DTYPE,
    Check,
    FlowRecord,
    Recording,
    Verdict,
)
from orchestrator.recording.trace import Capture, Trace
from results.records.links import summarise_links
from results.records.model import RunHead
from results.store.store import Store

SCENARIO = """\
version: 1
name: pair
seed: 1
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 20ms}}
flows:
  - {name: one, group: a, congestion: reno, traffic: {kind: bulk}}
"""


KERNEL = GuestKernel("key", Path("/k/linux"), Path("/k/modules"), "6.12.7", {})


@dataclass
class FakeRunner:
    """Stores a made-up recording for every run.

    Verdicts, failures and interruptions may be set by seed. ``trace`` makes what a capture gives.
    """

    verdict: dict[int, Verdict] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    interrupting: set[int] = field(default_factory=set)
    digest: Callable[[RunSpec], str] = lambda spec: f"digest of {spec.seed}"
    trace: Callable[[Capture], Trace] = Trace
    asked: list[tuple[Plan, RunOptions]] = field(default_factory=list)
    wall_s: float = 0.5
    simulated_s: float | None = None

    def __call__(self, plan: Plan, options: RunOptions, observer: Observer) -> list[str]:
        self.asked.append((plan, options))
        return [
            self._run(index, spec, plan, options, observer) for index, spec in enumerate(plan.runs)
        ]

    def _run(
        self, index: int, spec: RunSpec, plan: Plan, options: RunOptions, observer: Observer
    ) -> str:
        with Store(options.db) as store:
            run_id = store.begin(head(spec, plan, options), spec.files.values())
            observer.progress(Progress(index, run_id, "traffic", 1.0, 0.1))
            if index == 0:
                options.meanwhile()
            if spec.seed in self.interrupting:
                store.fail(run_id, "interrupted by the user", "interrupted")
                raise KeyboardInterrupt
            if spec.seed in self.failed:
                store.fail(run_id, "the guest hung")
                observer.progress(Progress(index, run_id, "failed", 0.0, 0.5))
                return run_id
            verdict = self.verdict.get(spec.seed, "faithful")
            made = recording(spec, verdict, self.digest(spec))
            if self.simulated_s is not None:
                made = replace(made, simulated_s=self.simulated_s)
            if spec.capture is not None:
                try:
                    made = replace(made, trace=options.keep(self.trace(spec.capture), spec))
                except RunError as error:
                    store.fail(run_id, str(error))
                    observer.progress(Progress(index, run_id, "failed", 0.0, 0.5))
                    return run_id
            if isinstance(options.backend, Guest):
                kernel = options.backend.machine(spec).provenance
                made.provenance.update(kernel, cost=costing.recorded(spec, 0.0))
            # A trace needs the names of the hosts.
            hosts = {"network": {"hosts": list(spec.network.hosts)}}
            evidence = {} if spec.capture is None else hosts
            store.finish(run_id, made, self.wall_s, evidence=evidence)
            observer.progress(Progress(index, run_id, "ok", 2.0, 0.5, verdict))
            return run_id


def head(spec: RunSpec, plan: Plan, options: RunOptions) -> RunHead:
    return RunHead(
        experiment=plan.experiment or spec.scenario_name, scenario=spec.scenario_name,
        description=spec.description, variant=spec.variant, variant_sets=spec.variant_sets,
        repetition=spec.repetition, seed=spec.seed, backend=options.backend.name,
        duration_s=spec.duration_s, warmup_s=spec.warmup_s, windows=spec.windows,
        scenario_text=spec.scenario_text,
        scenario_sha256=spec.scenario_sha256, experiment_sha256=spec.experiment_sha256,
        link_model=version.LINK_MODEL,
        digest_version=version.DIGEST_VERSION, repetition_rule=spec.repetition_rule,
        resolved=spec.resolved, links=summarise_links(spec.network.links),
        unconfined=options.backend.unconfined,
    )  # fmt: skip


def recording(spec: RunSpec, verdict: Verdict, digest: str) -> Recording:
    flows = [
        FlowRecord(
            flow.name, flow.group, flow.source, flow.sink, flow.engine, flow.congestion,
            flow.congestion, flow.start_s, flow.stop_s, flow.base_rtt_s, 0.1, flow.path,
        )
        for flow in spec.flows
    ]  # fmt: skip
    check = Check("base_rtt", "s", 0.1, 0.1, 0.001, verdict == "faithful")
    return Recording(
        "6.12.7", spec.duration_s, digest, flows, [],
        np.zeros(0, TCP_DTYPE), np.zeros(0, QUEUE_DTYPE), console="Linux booted\n", log="bed\n",
        verdict=verdict, checks=[check],
    )  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRunner:
    """A folder with a scenario, a runner that pretends, a kernel that needs no build."""
    fake = FakeRunner()
    monkeypatch.setattr(making_runs, "run_plan", fake)
    monkeypatch.setattr("guest.build.ensure", lambda confine, progress, choice=None: KERNEL)
    monkeypatch.chdir(tmp_path)
    Path("pair.yaml").write_text(SCENARIO)
    return fake


def orchestrator(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


def run_ids(db: str = "results/runs.db") -> list[str]:
    with Store.open_read_only(Path(db)) as store:
        return [row.id for row in store.list_runs()]
