"""The JSON of use cases is made by the models of the contract, key by key as it always was."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.application.crate_runs import CrateComparison, CrateRunCompared
from orchestrator.application.kernels.bisect import BisectResult, BisectStep
from orchestrator.application.kernels.track import Track, TrackedKernel
from orchestrator.application.outcomes import ScenarioOutcome, SuiteResult
from orchestrator.application.stored.explanation import Explanation, FlowComparison, FlowStory
from orchestrator.application.stored.judge import JudgedAgain, NotJudged
from orchestrator.application.stored.merge import MergedStores
from orchestrator.application.zoom import ZoomResult
from orchestrator.backends.contract import Examination, Finding
from orchestrator.cli.render import terminal
from orchestrator.execution import kernel_check, kernel_document, module_check
from orchestrator.execution.doctor import Diagnosis
from orchestrator.execution.judging import CheckChange, Rejudgement
from orchestrator.execution.kernel_tests.model import Outcome, OwnResults, Result
from orchestrator.execution.module_check import CaseResult, ModuleCheckResult, ModuleFlowResult
from orchestrator.planning import description, plan_document
from orchestrator.planning.chosen_losses import ChosenLossDescription
from orchestrator.planning.costs.learning import Estimate
from orchestrator.planning.plan import plan
from orchestrator.recording.trace import Capture
from orchestrator.repetitions import RepetitionRule
from orchestrator.reproduction import claim_plan
from orchestrator.reproduction.claim_plan import PlannedExperiment
from orchestrator.scenario import load
from orchestrator.scenario.variants.matrix import VariantCounts
from results.claims import contract as claims
from results.contract import housekeeping, kernels, modules, outcomes, plans, runs, traces
from results.contract.base import ResponseModel
from results.documents import integrity_document
from results.experiment.expectations import ExpectationResult
from results.experiment.model import Comparison, MetricSummary
from results.store.parts.integrity import Damage, Integrity, RunState
from results.store.parts.judgements import Judgement
from results.store.parts.traces import TraceHead
from results.store.upkeep.merging import MergedSource
from results.traces.comparing import Difference, KindSummary
from results.traces.moments import Moment
from results.traces.stories.costs import CostlyEvent
from results.traces.stories.rates import FlowRates
from results.traces.stories.time_limits import TimeLimits
from tests.support import contract, golden, run_results

GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = Path(__file__).parents[3] / "scenarios"

PLANNED = (
    "duration=4s", "warmup=1s", "repetitions={until: {metric: jain_index, interval: 2%}, least: 2}",
    "start_jitter=10ms", "flows.westwood.stop=1s",
    "events=[{at: 2s, link: bottleneck, rate: 2mbit}]",
    "topology.bottleneck.loss={forward: {kind: list, packets: [3, 5-6], flow: reno}, reverse: 0}",
    "topology.groups.a.access.policer={forward: {rate: 1mbit, burst: 9kB}}",
    "matrix={topology.bottleneck.queue.limit: [20p]}",
)  # fmt: skip
CHECK = run_results.check()
RUNS = [run_results.result()]


def _plan() -> dict[str, Any]:
    scenario = load(SCENARIOS / "quickstart.yaml", PLANNED)
    return plan_document.document(plan(scenario).describe())


def _expectation(reason: str | None) -> ExpectationResult:
    return ExpectationResult(
        "a: goodput_bps above 1mbit", "goodput_bps", "a", {"limit": "20p"}, "every",
        5722496.0, None, None, 1, reason,
    )  # fmt: skip


def _suite() -> dict[str, Any]:
    ended = ScenarioOutcome("a", None, [], 1)
    met = [_expectation(None), _expectation("1 of 1 runs are not: 2")]
    crate = CrateComparison(
        Path("crate"),
        [CrateRunCompared("1", "2", "d", True), CrateRunCompared("3", "4", None, False)],
    )
    refused = ScenarioOutcome(None, None, [], 2)
    each = [
        dataclasses.replace(ended, expectations=met).in_suite(Path("a.yaml"), None),
        dataclasses.replace(ended, crate=crate).in_suite(Path("b.yaml"), None),
        refused.in_suite(Path("c.yaml"), "no memory"),
    ]
    return SuiteResult(each, ["1"], 2, suite=True).document


def _judged() -> dict[str, Any]:
    old = Judgement("faithful", [CHECK], None, "2026-01-01T00:00:00.000+00:00")
    new = dataclasses.replace(old, verdict="unfaithful", checks_version="2-b")
    other = run_results.check(ok=None)
    changes = [CheckChange("base RTT", CHECK, other), CheckChange("loss", None, CHECK)]
    again = [Rejudgement("1", old, new, changes), Rejudgement("2", new, new, [])]
    refused, damaged = NotJudged("3", "no evidence is stored"), NotJudged("4", "it is damaged")
    return JudgedAgain(True, again, [refused], [damaged]).document()


def _head() -> TraceHead:
    capture = Capture(0, 10**9, frozenset({"tcp", "queue"}), 2**21, 54, ("a",), ("core",))
    rows = {"acks": 3, "drops": 0}
    return TraceHead(2, "2026-01-01T00:00:00.000+00:00", capture, None, rows, 4096)


def _explanation() -> dict[str, Any]:
    moments = [
        Moment(5, 0, "full queue", "lost a packet", None, {"queue_packets": 100}, {"links": 1}),
        Moment(7, 0, "timeout", "waited", 9, {"rto_s": 0.2}, {"events": 2}),
    ]
    flows = {"a": moments, "b": []}
    costly = CostlyEvent(5, 8, True, 3000, 2e6, (0, 1))
    stories = {
        "a": FlowStory(
            TimeLimits({"congestion window": 0.75, "application": 0.25}, "acks", 0.5), [costly]
        ),
        "b": FlowStory(None, []),
    }
    kinds = {"timeout": (KindSummary(1, 0.2, 0.5, None), KindSummary(0, None, None, None))}
    found = Difference({"timeout": (1, 0)}, moments[1:], [], kinds)
    compared = FlowComparison(("1", "a"), ("1", "b"), found)
    rtts = {"a": 20_000_000, "b": 20_000_000}
    rates = {"a": FlowRates(8e6, 12.5), "b": FlowRates(None, None)}
    other = Explanation("2", 1, (0, 10**9), {"b": []}, {}, rtts, rates)
    return Explanation(
        "1", 2, (0, 10**9), flows, stories, rtts, rates, other, [compared]
    ).document()


def _modules() -> dict[str, Any]:
    answers = [
        CaseResult("loads", None, "with its defaults", "loaded", "loaded"),
        CaseResult("parameters", "alpha", "names", ["alpha"], ["alpha", "beta"]),
        CaseResult("unloads", None, "while a socket uses it", True, False),
    ]
    failed = ModuleFlowResult("failed", None, None, "no memory")
    return module_check.document([ModuleCheckResult("mycc", answers, failed)])


def _reproduction_plan() -> dict[str, Any]:
    first = PlannedExperiment(
        "tibet", "table1", None, "tibet/table1.yaml", 3, 5, 20, 1.5, 6.0, 15, 1.5,
        Estimate(6.0, "machine", 12),
    )  # fmt: skip
    nothing = dataclasses.replace(first, ablation="count-acks", variants=0, estimate=None)
    return claim_plan.document([first, nothing])


def _diagnosis() -> dict[str, Any]:
    found = [Finding("bubblewrap", True, "0.8"), Finding("memory", False, "1 MiB", "buy some")]
    examined = {
        "guest": Examination(found), "local": Examination(found[:1]),
        "vagrant": Examination([], "no box"),
    }  # fmt: skip
    return Diagnosis(examined, found[:1]).document()


def _integrity() -> dict[str, Any]:
    states = [RunState("1", "damaged", [Damage("flows", "row 1")]), RunState("2", "ok")]
    return integrity_document.document(Integrity(Path("a.db"), 14, ["page 3"], states))


def _merge() -> dict[str, Any]:
    source = MergedSource(Path("a.db"), ["1"], ["2"], ["3"], ["4"], {"5": "no such queue"})
    return MergedStores([source, MergedSource(Path("b.db"))]).document()


def _bisection() -> dict[str, Any]:
    bad = [_expectation("1 of 1 runs are not: 2")]
    steps = [
        BisectStep("c0ffee", "old", "good", 2, ["1"], [_expectation(None)], "", 61.26),
        BisectStep("c1", "half", "skip", 2, [], [], "it does not build", 2),
        BisectStep("c2", "new", "bad", 1, ["2"], bad, "1 of 1 runs are not: 2", 9.0),
    ]
    return BisectResult(steps, "c2", "a", "new", ["c2"], ("1", "2")).document()


def _track() -> dict[str, Any]:
    change = Comparison(
        {}, "kernel", "a", "6.1", "6.12", "goodput_bps", -1e6, -2e6, -5e5, 0.01, 0.02, 1.5,
        "paired", 5, 5, 5, -3e6, -1e5, 0.02, 2, "lower",
    )  # fmt: skip
    values = [
        MetricSummary(mean, 4e6, math.inf, None, 5, "student", 5, 5, 5, None) for mean in (6e6, 5e6)
    ]
    found = [
        TrackedKernel("6.1", {"limit": "20p"}, values[0], None),
        TrackedKernel("6.12", {"limit": "20p"}, values[1], change),
    ]
    drawing: Any = None
    ended = SuiteResult([], [], 0)
    return Track("goodput_bps", "a", "a@1234", found, drawing, ended).document()


def _kernels() -> dict[str, Any]:
    manifest = {
        "release": "6.12.7", "linux_sha256": "a", "modules_sha256": {"tcp_one": "b"},
        "source": "linux-source-6.12", "patches": {"0001-hz": "6.12", "0002-fast": None},
        "build_s": 161.2, "compiler": "gcc 12.2.0", "inputs": {"source": None, "recipe": 1},
    }  # fmt: skip
    early = {name: value for name, value in manifest.items() if name != "patches"}
    built = [
        GuestKernel(key, Path("/k/linux"), Path("/k/modules"), "6.12.7", content)
        for key, content in (("1", manifest), ("0", early))
    ]
    return kernel_document.list_document(built)


def _kernel_check() -> dict[str, Any]:
    tried = [
        kernel_check.Tried("queue", "red"),
        kernel_check.Tried("queue", "pie", "unfaithful"),
        kernel_check.Tried("queue", "dualpi2", "kernels from 6.17 on do", is_absent=True),
    ]
    checked = "2026-01-01T00:00:00+00:00"
    lacks = ["has no x"]
    return kernel_check.KernelCheck("6.12.7", "1", checked, tried, lacks, "ptrace").document()


def _kernel_tests() -> dict[str, Any]:
    results = [
        Result("net/a.sh", Outcome.OK, wall_s=0.5004, simulated_s=1.25, output="fine"),
        Result("net/b", Outcome.FAILED, "exit status 1", wall_s=0.5, output="one\ntwo"),
        Result("net/c", Outcome.KNOWN, "it polls (exit status 1)"),
        Result("net/d", Outcome.LACKING, lacks=("nft", "CONFIG_TLS")),
    ]
    return OwnResults("6.12.7", "1", results, ("net/tcp_ao",)).document()


DOCUMENTS: dict[str, tuple[type[ResponseModel], Callable[[], dict[str, Any]]]] = {
    "plan": (plans.Plan, _plan),
    "outcome": (outcomes.Outcome, ScenarioOutcome.of(RUNS, 0).document),
    "suite": (outcomes.Suite, _suite),
    "judged": (outcomes.Judged, _judged),
    "zoom": (traces.Zoom, ZoomResult("1", "d", "d", _head()).document),
    "zoom-differs": (traces.Zoom, ZoomResult("1", "d", "e", None).document),
    "explanation": (traces.Explanation, _explanation),
    "modules": (modules.CheckedModules, _modules),
    "reproduction-plan": (claims.ReproductionPlan, _reproduction_plan),
    "bisection": (kernels.Bisection, _bisection),
    "track": (kernels.KernelTrack, _track),
    "kernels": (kernels.BuiltKernels, _kernels),
    "kernel-check": (kernels.CheckedKernel, _kernel_check),
    "kernel-tests": (kernels.KernelTests, _kernel_tests),
    "diagnosis": (housekeeping.Diagnosis, _diagnosis),
    "integrity": (housekeeping.StoreIntegrity, _integrity),
    "merge": (housekeeping.Merge, _merge),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_as_its_model_says_and_as_it_was(name: str) -> None:
    model, made = DOCUMENTS[name]
    text = json.dumps(made(), indent=1, allow_nan=False)
    assert contract.faults(model, json.loads(text)) == []
    golden.check(GOLDEN / f"{name}.json", text)


@pytest.mark.parametrize("file", ["27-policer", "37-chosen-packets", "56-named-values"])
def test_plans_of_tutorials_are_as_the_model_says(file: str) -> None:
    planned = plan(load(SCENARIOS / "tutorial" / f"{file}.yaml")).describe()
    document = json.loads(json.dumps(plan_document.document(planned), allow_nan=False))
    assert contract.faults(plans.Plan, document) == []


def test_commands_print_documents_and_make_none() -> None:
    printed: dict[str, set[str]] = {}
    for file in sorted(Path(terminal.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "terminal.print_json":
                (made,) = node.args
                called = ast.unparse(made.func if isinstance(made, ast.Call) else made)
                printed.setdefault(called.rpartition(".")[2], set()).add(file.stem)
    assert set(printed) == {"document", "list_document", "json_schema"}, printed


def test_what_is_no_key_or_no_value_of_a_model_is_found() -> None:
    document = _merge()
    document["stores"][0]["new"] = 1
    document["stores"][1]["taken"] = None
    assert len(contract.faults(housekeeping.Merge, document)) == 2


@pytest.mark.parametrize(
    ("described", "model"),
    [
        (description.FlowDescription, plans.PlannedFlow),
        (description.BottleneckDescription, plans.PlannedBottleneck),
        (description.PolicerDescription, plans.PlannedPolicer),
        (ChosenLossDescription, plans.PlannedLosses),
        (RepetitionRule, plans.RepetitionRule),
        (VariantCounts, plans.MatrixCounts),
        (CrateRunCompared, outcomes.CrateRun),
        (type(CHECK), runs.Check),
    ],
)
def test_a_model_that_is_filled_by_names_has_all_of_them(
    described: Any, model: type[ResponseModel]
) -> None:
    fields = [field.name for field in dataclasses.fields(described)]
    assert fields == list(model.model_fields)
