"""``run`` and the commands that read the store, with a runner that pretends."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.errors import MachineError
from orchestrator.planning.plan import repetition_seed
from orchestrator.recording.model import (
    Verdict,
)
from tests.support import golden
from tests.support.run import (
    KERNEL,
    SCENARIO,
    FakeRunner,
    fake,
    orchestrator,
    run_ids,
)

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"


def test_runs_that_end_well_read_as_their_golden_file(fake: FakeRunner) -> None:
    said = ""
    for words in ("run pair.yaml", "run pair.yaml", "run pair.yaml --resume", "run --verify last",
                  "run pair.yaml --quiet"):  # fmt: skip
        said += golden.transcript(words.split(), orchestrator(*words.split()))
    golden.check(GOLDEN / "run.txt", said)


def test_runs_that_end_otherwise_read_as_their_golden_file(fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml")
    fake.digest = lambda spec: "another"
    said = golden.transcript(("run", "--verify", "last"), orchestrator("run", "--verify", "last"))
    for how in ("failed", "unfaithful", "interrupted"):
        fake.failed = {1} if how == "failed" else set()
        fake.verdict = {1: "unfaithful"} if how == "unfaithful" else {}
        fake.interrupting = {1} if how == "interrupted" else set()
        said += golden.transcript(("run", "pair.yaml"), orchestrator("run", "pair.yaml"))
    golden.check(GOLDEN / "run-ends.txt", said)


def test_run_uses_the_guest_and_one_job(fake: FakeRunner) -> None:
    result = orchestrator("run", "pair.yaml")
    assert (result.exit_code, len(run_ids())) == (0, 1)
    assert "--db" not in result.stderr
    ((_, options),) = fake.asked
    backend = options.backend
    assert isinstance(backend, Guest)
    assert backend.kernel is KERNEL
    assert (options.jobs, backend.unconfined, backend.name) == (1, False, "guest")


def test_warnings_of_the_plan_come_before_the_runs(fake: FakeRunner) -> None:
    equal = ("pair.yaml", "--set", "repetitions=3")
    (warning,) = orchestrator("plan", *equal).stderr.splitlines()
    assert ": warning: nothing in this scenario is random" in warning
    assert orchestrator("run", *equal).stderr.splitlines()[0] == warning
    assert warning not in orchestrator("run", *equal, "--quiet").stderr
    assert len(fake.asked) == 2


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


@pytest.mark.slow
def test_what_would_be_stored_twice_is_said_before(fake: FakeRunner) -> None:
    assert "stored already" not in orchestrator("run", "pair.yaml").stderr
    result = orchestrator("run", "pair.yaml", "--set", "repetitions=3")
    said = "1 of the 3 runs is stored already with the same content; --resume uses what is stored\n"
    assert said in result.stderr
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
    (again,) = fake.asked[1][0].runs
    first = fake.asked[0][0].runs[1]
    assert (again.seed, again.repetition, again.duration_s) == (first.seed, 1, 3.0)
    assert again.scenario_text == SCENARIO
    assert again.flows == first.flows

    fake.digest = lambda spec: "another"
    result = orchestrator("run", "--verify", second)
    assert result.exit_code == 1


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
    def lack(*_words: object) -> GuestKernel:
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
    golden.check(GOLDEN / "validate-errors.txt", result.stderr)


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
