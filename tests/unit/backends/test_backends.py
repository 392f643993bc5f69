"""What every back end has in common: the registry, the limit of jobs, the crash reaper."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from orchestrator import backends
from orchestrator.backends.contract import Examination, Finding, Report, RunContext, Traits
from orchestrator.backends.guest import Guest
from orchestrator.cli import commands
from orchestrator.errors import CleanupError, RunError, UsageError
from orchestrator.execution.crash_reaper import CrashReaper
from orchestrator.execution.runner import RunOptions, _HeadMaker, run_plan
from orchestrator.planning.plan import Plan, plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording
from orchestrator.scenario import load
from results.store.store import Store
from tests.support.run import KERNEL

QUICKSTART = Path(__file__).resolve().parents[3] / "scenarios" / "quickstart.yaml"

# A controller with a bed, which is killed as soon as its crash reaper is forked.
CONTROLLER = """
import sys, time
from pathlib import Path
from orchestrator.execution.crash_reaper import CrashReaper
folder, marked, bed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
reaper = CrashReaper(folder, marked.touch)
reaper.add_group(2**30)
reaper.remove_group(2**30)
reaper.add_group(bed)
print("ready", flush=True)
time.sleep(60)
"""


class KillsJanitor(Guest):
    """A back end whose second run finds the crash reaper killed, and fails for its own part."""

    def prepare(self, plan: Plan) -> None:
        self.runs = 0

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        self.runs += 1
        if self.runs == 2:
            (child,) = children_of(os.getpid())
            end = os.pidfd_open(child)
            signal.pidfd_send_signal(end, signal.SIGKILL)
            select.select([end], [], [], 20)
            os.close(end)
            context.add_group(2**30)
            context.remove_group(2**30)
        raise RunError(f"number {self.runs}")


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


class Noting:
    def progress(self, progress: object) -> None:
        pass


class Silent:
    def progress(self, progress: object) -> None:
        raise AssertionError("nothing may run")


def test_every_back_end_has_a_module_of_its_own() -> None:
    assert len(set(backends.MODULES.values())) == len(backends.MODULES)
    with pytest.raises(UsageError, match="no such back end; available: guest, local"):
        backends.require_known("cloud")


def test_more_jobs_than_the_back_end_can_run_are_refused(tmp_path: Path) -> None:
    backend = Guest(KERNEL)
    backend.traits = Traits(most_jobs=1, jobs_reason="they would share a clock")
    options = RunOptions(tmp_path / "runs.db", backend, jobs=2)
    with pytest.raises(UsageError, match=r"--jobs 2: 1 at most.*share a clock"):
        run_plan(plan(load(QUICKSTART)), options, Silent())
    assert not options.db.exists()


def test_the_crash_reaper_ends_what_a_killed_controller_leaves(tmp_path: Path) -> None:
    folder, marked = tmp_path / "folder", tmp_path / "marked"
    folder.mkdir()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as bed:
        words = [sys.executable, "-c", CONTROLLER, str(folder), str(marked), str(bed.pid)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as controller:
            assert controller.stdout is not None
            assert controller.stdout.readline() == "ready\n"
            (child,) = children_of(controller.pid)
            reaper = os.pidfd_open(child)
            controller.send_signal(signal.SIGKILL)
            assert controller.wait() == -signal.SIGKILL
        assert select.select([reaper], [], [], 20)[0], "the crash reaper has not ended"
        os.close(reaper)
        assert bed.wait() == -signal.SIGKILL
    assert not folder.exists()
    assert marked.exists()


def test_without_a_crash_reaper_runs_under_way_are_finished_and_no_others_begun(
    tmp_path: Path,
) -> None:
    options = RunOptions(tmp_path / "runs.db", KillsJanitor(KERNEL))
    planned = plan(load(QUICKSTART, ["repetitions=5"]))
    with pytest.raises(CleanupError, match=r"was killed.*\n.*--resume") as ended:
        run_plan(planned, options, Noting())
    with Store.open_read_only(options.db) as store:
        errors = [row.error for row in store.list_runs()]
    assert errors == ["number 1", "number 2"]
    assert "2 of 5 runs ended and are stored" in str(ended.value)


@pytest.mark.slow
def test_a_crash_reaper_that_was_stopped_does_not_keep_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.execution.crash_reaper._DISMISS_S", 0.2)
    reaper = CrashReaper(tmp_path / "folder", lambda: None)
    assert not reaper.lost
    os.kill(reaper.pid, signal.SIGSTOP)
    reaper.dismiss()
    with pytest.raises(ChildProcessError):
        os.waitpid(reaper.pid, 0)


class MadeUp:
    """A back end that no file of the project names."""

    name, unconfined = "made-up", False

    def __init__(self, traits: Traits) -> None:
        self.traits = traits

    def prepare(self, plan: Plan) -> None:
        raise UsageError("it was asked to prepare")

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        raise AssertionError("prepare refuses")

    def close(self) -> None:
        pass


def register(monkeypatch: pytest.MonkeyPatch, traits: Traits, examined: Examination) -> None:
    """Add the module ``made_up`` with the back end, and let all others be absent."""
    module = ModuleType("made_up")
    vars(module).update(
        TRAITS=traits, make=lambda options: MadeUp(traits), examine=lambda: examined
    )
    monkeypatch.setitem(sys.modules, "made_up", module)
    monkeypatch.setitem(backends.MODULES, "made-up", "made_up")
    examine = backends.examine
    monkeypatch.setattr(
        backends,
        "examine",
        lambda name: examine(name) if name == "made-up" else Examination([], "not set up"),
    )


def invoke(*words: str) -> Result:
    return CliRunner().invoke(commands, words)


def test_a_made_up_back_end_is_run_and_examined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db = str(tmp_path / "runs.db")
    register(monkeypatch, Traits(), Examination([Finding("made of air", True, "there")]))
    found = invoke("doctor", "--db", db)
    assert found.exit_code == 0
    assert "made-up: ready\nok      made of air: there\n" in found.stdout
    ran = invoke("run", str(QUICKSTART), "--backend", "made-up", "--db", db)
    assert "it was asked to prepare" in ran.stderr


def test_a_back_end_on_other_hosts_does_not_make_this_machine_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    db = str(tmp_path / "runs.db")
    register(
        monkeypatch, Traits(on_other_hosts=True), Examination([Finding("made", True, "there")])
    )
    assert invoke("doctor", "--db", db).exit_code == 4
    assert invoke("doctor", "--db", db, "--backend", "made-up").exit_code == 0


@pytest.mark.parametrize("reproducible", [True, False])
def test_a_run_knows_whether_sampling_may_change_its_digest(
    tmp_path: Path, reproducible: bool
) -> None:
    backend = MadeUp(Traits(reproducible=reproducible))
    heads = _HeadMaker("experiment", RunOptions(tmp_path / "runs.db", backend), None)
    (spec,) = plan(load(QUICKSTART)).runs
    found = [
        heads.make(
            replace(spec, flows=(*spec.flows, replace(spec.flows[0], engine=engine)))
        ).digest_depends_on_sampling
        for engine in ("builtin", "iperf3")
    ]
    assert found == ([False, True] if reproducible else [None, None])


@pytest.mark.parametrize("follows", [True, False])
def test_a_live_path_runs_where_a_back_end_follows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, follows: bool
) -> None:
    traits = Traits(follows_live_paths=follows)
    register(monkeypatch, traits, Examination([]))
    live = plan(load(QUICKSTART.parent / "lab" / "live-campaign.yaml"))
    expected = "asked to prepare" if follows else "run it with --backend lab$"
    with pytest.raises(UsageError, match=expected):
        run_plan(live, RunOptions(tmp_path / "runs.db", MadeUp(traits)), Silent())


@pytest.mark.parametrize("emulates", [True, False])
def test_offloads_of_hosts_need_a_back_end_that_emulates_their_network_cards(
    tmp_path: Path, emulates: bool
) -> None:
    traits = Traits(emulates_network_cards=emulates)
    asked = plan(load(QUICKSTART, ["host.offloads=[tso]"]))
    expected = "asked to prepare" if emulates else r"(?s)no network cards.*--backend guest"
    with pytest.raises(UsageError, match=expected):
        run_plan(asked, RunOptions(tmp_path / "runs.db", MadeUp(traits)), Silent())


def test_the_back_ends_that_follow_live_paths_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, Traits(follows_live_paths=True), Examination([]))
    live = plan(load(QUICKSTART.parent / "lab" / "live-campaign.yaml"))
    with pytest.raises(UsageError, match=r"run it with --backend lab or made-up$"):
        run_plan(live, RunOptions(tmp_path / "runs.db", Guest(KERNEL)), Silent())


def test_no_file_tests_for_the_name_of_a_back_end() -> None:
    names = "|".join(backends.MODULES)
    test = re.compile(rf"""[!=]= ["']({names})["']|["']({names})["'] [!=]=""")
    for path in (Path(backends.__file__).parents[1]).rglob("*.py"):
        assert not test.search(path.read_text()), path
