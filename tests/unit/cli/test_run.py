"""``run`` and the commands that read the store, with a runner that pretends."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.cli import commands
from orchestrator.errors import MachineError
from orchestrator.execution import costing, runner
from orchestrator.execution.runner import Observer, Progress, RunOptions
from orchestrator.planning.plan import Plan, repetition_seed
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
from results.model import RunHead
from results.store import Store

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

    Verdicts, failures and interruptions may be set by seed.
    """

    verdict: dict[int, Verdict] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    interrupting: set[int] = field(default_factory=set)
    digest: Callable[[RunSpec], str] = lambda spec: f"digest of {spec.seed}"
    asked: list[tuple[Plan, RunOptions]] = field(default_factory=list)
    wall_s: float = 0.5

    def __call__(self, plan: Plan, options: RunOptions, observer: Observer) -> list[str]:
        self.asked.append((plan, options))
        return [
            self._run(index, spec, plan, options, observer) for index, spec in enumerate(plan.runs)
        ]

    def _run(
        self, index: int, spec: RunSpec, plan: Plan, options: RunOptions, observer: Observer
    ) -> str:
        with Store(options.db) as store:
            run_id = store.begin(head(spec, plan, options))
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
            if isinstance(options.backend, Guest):
                kernel = options.backend.machine().provenance
                made.provenance.update(kernel, cost=costing.recorded(spec, 0.0))
            store.finish(run_id, made, self.wall_s)
            observer.progress(Progress(index, run_id, "ok", 2.0, 0.5, verdict))
            return run_id


def head(spec: RunSpec, plan: Plan, options: RunOptions) -> RunHead:
    return RunHead(
        experiment=plan.experiment or spec.scenario_name, scenario=spec.scenario_name,
        description=spec.description, variant=spec.variant, repetition=spec.repetition,
        seed=spec.seed, backend=options.backend.name, duration_s=spec.duration_s,
        warmup_s=spec.warmup_s, windows=spec.windows, scenario_text=spec.scenario_text,
        scenario_sha256=spec.scenario_sha256, experiment_sha256=spec.experiment_sha256,
        link_model=version.LINK_MODEL,
        digest_version=version.DIGEST_VERSION, repetition_rule=spec.repetition_rule,
        resolved=spec.resolved, unconfined=options.backend.unconfined,
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
        "6.12.7", 2.0, digest, flows, [],
        np.zeros(0, TCP_DTYPE), np.zeros(0, QUEUE_DTYPE), console="Linux booted\n", log="bed\n",
        verdict=verdict, checks=[check],
    )  # fmt: skip


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRunner:
    """A folder with a scenario, a runner that pretends, a kernel that needs no build."""
    fake = FakeRunner()
    monkeypatch.setattr(runner, "run_plan", fake)
    monkeypatch.setattr("guest.build.ensure", lambda progress: KERNEL)
    monkeypatch.chdir(tmp_path)
    Path("pair.yaml").write_text(SCENARIO)
    return fake


def orchestrator(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


def run_ids(db: str = "results/runs.db") -> list[str]:
    with Store.open_read_only(Path(db)) as store:
        return [row.id for row in store.list_runs()]


def test_run_prints_the_run_and_the_next_commands(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml")
    assert result.exit_code == 0
    (run_id,) = run_ids()
    assert result.stdout.startswith(f"{run_id}: repetition 0, seed 1, 2 s simulated in 0.5 s\n")
    assert "faithful: 1 of 1 check\n" in result.stdout
    assert f"orchestrator show {run_id} " in result.stderr
    assert f"{run_id}: 1.0 of 2 s simulated, 0.1 s of wall time" in result.stderr
    assert "--db" not in result.stderr
    ((_, options),) = fake.asked
    backend = options.backend
    assert isinstance(backend, Guest)
    assert backend.kernel is KERNEL
    assert (options.jobs, backend.unconfined, backend.name) == (1, False, "guest")


def test_options_reach_the_runner(fake: FakeRunner) -> None:
    words = ["--set", "seed=7", "--jobs", "3", "--unconfined", "--db", "mine.db", "--quiet"]
    result = orchestrator("run", "pair.yaml", *words)
    assert result.stderr == ""
    ((plan, options),) = fake.asked
    assert plan.runs[0].seed == 7
    assert (options.jobs, options.backend.unconfined, options.db) == (3, True, Path("mine.db"))
    assert run_ids("mine.db")


def test_the_database_may_be_named_by_the_environment(
    fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DB", "other.db")
    result = orchestrator("run", "pair.yaml")
    assert "--db other.db" in result.stderr
    assert run_ids("other.db")
    assert orchestrator("runs").exit_code == 0


def test_json_is_the_document_and_nothing_else(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml", "--json")
    document = json.loads(result.stdout)
    assert document["schema"] == 1
    assert document["runs"][0]["flows"][0]["congestion_control"] == "reno"
    assert json.loads(orchestrator("show", "last", "--json").stdout) == document


def test_many_runs_are_printed_as_a_list(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml", "--set", "repetitions=6")
    lines = [line for line in result.stdout.splitlines() if line.startswith("20")]
    assert [line.split()[0] for line in lines] == run_ids()
    assert "runs: 6 of 6 runs done, 6 faithful, " in result.stderr


def seeds(fake: FakeRunner) -> list[int]:
    return [spec.seed for plan, _ in fake.asked for spec in plan.runs]


@pytest.mark.parametrize(
    ("verdicts", "failed", "status"),
    [
        ([], [], 0),
        (["doubtful"], [], 0),
        (["unfaithful"], [], 3),
        (["faithful", "unfaithful"], [0], 1),
        ([], [0, 1], 1),
    ],
)
def test_the_exit_status_follows_verdicts_and_failures(
    fake: FakeRunner, verdicts: list[Verdict], failed: list[int], status: int
) -> None:
    orchestrator("run", "pair.yaml", "--set", "repetitions=2", "--db", "seeds.db")
    drawn = seeds(fake)
    fake.verdict = dict(zip(drawn, verdicts, strict=False))
    fake.failed = {drawn[index] for index in failed}
    result = orchestrator("run", "pair.yaml", "--set", "repetitions=2", "--junit", "report.xml")
    assert result.exit_code == status
    assert 'tests="2"' in Path("report.xml").read_text()


def test_resume_runs_only_what_is_missing(fake: FakeRunner) -> None:
    words = ["run", "pair.yaml", "--set", "repetitions=3", "--json"]
    fake.failed = {1}
    orchestrator(*words)
    first = run_ids()
    fake.failed = set()
    result = orchestrator(*words, "--resume")
    assert result.exit_code == 0
    assert "2 of 3 runs are stored already" in result.stderr
    assert [spec.repetition for spec in fake.asked[1][0].runs] == [0]
    shown = [run["id"] for run in json.loads(result.stdout)["runs"]]
    assert shown == [run_ids()[-1], *first[1:]]

    result = orchestrator(*words, "--resume")
    assert len(fake.asked) == 2
    assert [run["id"] for run in json.loads(result.stdout)["runs"]] == shown


def test_what_would_be_stored_twice_is_said_before(fake: FakeRunner) -> None:
    assert "stored already" not in orchestrator("run", "pair.yaml").stderr
    result = orchestrator("run", "pair.yaml", "--set", "repetitions=3")
    said = "1 of the 3 runs is stored already with the same content; --resume uses what is stored\n"
    assert result.stderr.startswith(said)
    result = orchestrator("run", "pair.yaml", "--set", "repetitions=3")
    assert "3 of the 3 runs are stored already" in result.stderr
    assert len(run_ids()) == 7
    for words in (["--resume"], ["--set", "duration=3s"], ["--quiet"]):
        assert "with the same content" not in orchestrator("run", "pair.yaml", *words).stderr
    # A failed run is no stored result.
    fake.failed = {9}
    for _ in range(2):
        result = orchestrator("run", "pair.yaml", "--set", "seed=9")
        assert "with the same content" not in result.stderr


def test_an_interruption_names_the_command_that_continues(fake: FakeRunner) -> None:
    fake.interrupting = {repetition_seed(1, 1)}
    words = ["--set", "repetitions=3", "--set", "description=two words", "--jobs", "2"]
    result = orchestrator("run", "pair.yaml", *words, "--db", "a b.db", "--json")
    assert result.exit_code == 130
    command = (
        "orchestrator run pair.yaml --set repetitions=3 --set 'description=two words' --jobs 2 "
        "--db 'a b.db' --json --resume"
    )
    assert f"to run the others:\n  {command}\n" in result.stderr
    fake.interrupting = set()
    resumed = orchestrator(*shlex.split(command)[1:])
    assert (resumed.exit_code, len(run_ids("a b.db"))) == (0, 4)
    # A command with --resume is named as it is.
    fake.interrupting = {repetition_seed(1, 1)}
    result = orchestrator("run", "pair.yaml", "--resume", "--set", "repetitions=2")
    assert result.stderr.count("--resume") == 1
    quiet = orchestrator("run", "pair.yaml", "--set", "repetitions=2", "--quiet")
    assert quiet.stderr.split() == ["interrupted"]


def test_resume_does_not_count_runs_of_another_scenario(fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml")
    orchestrator("run", "pair.yaml", "--resume", "--set", "topology.bottleneck.rate=20mbit")
    assert len(run_ids()) == 2
    # A comment changes the text and nothing of the experiment.
    Path("pair.yaml").write_text("# why\n" + SCENARIO)
    orchestrator("run", "pair.yaml", "--resume")
    assert len(run_ids()) == 2


def test_resume_without_a_store_runs_everything(fake: FakeRunner) -> None:
    assert orchestrator("run", "pair.yaml", "--resume").exit_code == 0
    assert len(run_ids()) == 1


def test_verify_runs_again_and_compares(fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml", "--set", "repetitions=2", "--set", "duration=3s")
    Path("pair.yaml").unlink()
    second = run_ids()[1]
    result = orchestrator("run", "--verify", second)
    assert result.exit_code == 0
    assert f"the same digest as {second}" in result.stderr
    (again,) = fake.asked[1][0].runs
    first = fake.asked[0][0].runs[1]
    assert (again.seed, again.repetition, again.duration_s) == (first.seed, 1, 3.0)
    assert again.scenario_text == SCENARIO
    assert again.flows == first.flows

    fake.digest = lambda spec: "another"
    result = orchestrator("run", "--verify", second)
    assert result.exit_code == 1
    assert f"a DIFFERENT digest from {second}" in result.stderr


def test_only_an_ok_run_can_be_verified(fake: FakeRunner) -> None:
    fake.failed = {1}
    orchestrator("run", "pair.yaml")
    result = orchestrator("run", "--verify", "last")
    assert result.exit_code == 2
    assert "only a run that is ok" in result.stderr
    assert orchestrator("run", "--verify", "nosuch").exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "give a scenario file"),
        (["run", "pair.yaml", "--backend", "cloud"], "no such back end; available: guest"),
        (["run", "pair.yaml", "--jobs", "0"], "0 is not in the range"),
        (["run", "pair.yaml", "--verify", "last"], "uses the stored scenario"),
        (["run", "pair.yaml", "--set", "seed=x"], "--set seed=x"),
        (["run", "pair.yaml", "--junit", "none/x.xml"], "there is no folder"),
        (["run", "nosuch.yaml"], "nosuch.yaml:1:1: cannot be read"),
        (["web", "--port", "70000"], "70000 is not in the range"),
        (["web", "--token", "a-token_of.16~or-more"], "--token is refused"),
        (["web", "--token-file", "none"], "--token-file none: cannot be read"),
    ],
)
def test_errors_are_reported_before_any_run(fake: FakeRunner, words: list[str], said: str) -> None:
    result = orchestrator(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not fake.asked
    assert not Path("results").exists()


def test_a_machine_that_lacks_something_ends_with_4(
    fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(_progress: object) -> GuestKernel:
        raise MachineError("no compiler", "apt-get install gcc")

    monkeypatch.setattr("guest.build.ensure", lack)
    result = orchestrator("run", "pair.yaml")
    assert result.exit_code == 4
    assert result.stderr == "error: no compiler\n  fix: apt-get install gcc\n"


def test_validate_reports_the_faults_of_all_files(fake: FakeRunner) -> None:
    result = orchestrator("validate", "pair.yaml")
    assert (result.exit_code, result.stdout) == (0, "pair.yaml: valid, 1 run\n")
    Path("bad.yaml").write_text(SCENARIO.replace("10mbit", "10mbps").replace("2s", "2"))
    result = orchestrator("validate", "bad.yaml", "pair.yaml", "nosuch.yaml")
    assert result.exit_code == 2
    assert result.stdout == "pair.yaml: valid, 1 run\n"
    places = [line.split(": ")[0] for line in result.stderr.splitlines()]
    assert places == ["bad.yaml:4:11", "bad.yaml:7:22", "nosuch.yaml:1:1"]


def test_plan_lists_and_runs_nothing(fake: FakeRunner) -> None:
    result = orchestrator("plan", "pair.yaml", "--set", "repetitions=3")
    assert "3 runs (1 variant x 3 repetitions), about " in result.stdout
    described = json.loads(orchestrator("plan", "pair.yaml", "--json").stdout)
    assert described["runs"][0]["seed"] == 1
    assert not fake.asked


def test_schema_is_json_schema() -> None:
    assert "2020-12" in json.loads(orchestrator("schema").stdout)["$schema"]


@pytest.mark.parametrize(("text", "asked_s"), [("90s", 90.0), ("30min", 1800.0), ("1500ms", 1.5)])
def test_the_time_limit_of_a_run_can_be_set(fake: FakeRunner, text: str, asked_s: float) -> None:
    assert orchestrator("run", "pair.yaml", "--timeout", text).exit_code == 0
    assert fake.asked[0][1].timeout_s == asked_s


@pytest.mark.parametrize(
    ("text", "said"), [("30", "unit"), ("0s", "above zero"), ("5m", "min"), ("-1s", "negative")]
)
def test_an_invalid_time_limit_is_a_usage_error(fake: FakeRunner, text: str, said: str) -> None:
    refused = orchestrator("run", "pair.yaml", f"--timeout={text}")
    assert refused.exit_code == 2
    assert "--timeout" in refused.output
    assert said in refused.output
    assert not fake.asked
