"""What every back end has in common: the registry, the limit of jobs, the janitor's promises."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import backends
from orchestrator.backends.guest import Guest
from orchestrator.errors import UsageError
from orchestrator.plan import plan
from orchestrator.runner import RunOptions, run_plan
from orchestrator.scenario import load
from tests.unit.test_cli_run import KERNEL

QUICKSTART = Path(__file__).resolve().parents[2] / "scenarios" / "quickstart.yaml"

# A controller with a bed, which is killed as soon as its janitor is forked.
CONTROLLER = """
import sys, time
from pathlib import Path
from orchestrator.backends.janitor import Janitor
folder, marked, bed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
janitor = Janitor(folder, marked.touch)
janitor.guard(2**30)
janitor.release(2**30)
janitor.guard(bed)
print("ready", flush=True)
time.sleep(60)
"""


class Silent:
    def progress(self, progress: object) -> None:
        raise AssertionError("nothing may run")


def test_every_back_end_has_a_module_of_its_own() -> None:
    assert len(set(backends.MODULES.values())) == len(backends.MODULES)
    with pytest.raises(UsageError, match="no such back end; available: guest, local"):
        backends.require_known("cloud")


def test_more_jobs_than_the_back_end_can_run_are_refused(tmp_path: Path) -> None:
    backend = Guest(KERNEL)
    backend.most_jobs, backend.jobs_reason = 1, "they would share a clock"
    options = RunOptions(tmp_path / "runs.db", backend, jobs=2)
    with pytest.raises(UsageError, match=r"--jobs 2: 1 at most.*share a clock"):
        run_plan(plan(load(QUICKSTART)), options, Silent())
    assert not options.db.exists()


def test_the_janitor_ends_what_a_killed_controller_leaves(tmp_path: Path) -> None:
    folder, marked = tmp_path / "folder", tmp_path / "marked"
    folder.mkdir()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as bed:
        words = [sys.executable, "-c", CONTROLLER, str(folder), str(marked), str(bed.pid)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as controller:
            assert controller.stdout is not None
            assert controller.stdout.readline() == "ready\n"
            children = Path(f"/proc/{controller.pid}/task/{controller.pid}/children")
            (child,) = children.read_text().split()
            janitor = os.pidfd_open(int(child))
            controller.send_signal(signal.SIGKILL)
            assert controller.wait() == -signal.SIGKILL
        assert select.select([janitor], [], [], 20)[0], "the janitor has not ended"
        os.close(janitor)
        assert bed.wait() == -signal.SIGKILL
    assert not folder.exists()
    assert marked.exists()
