"""Captures the files of tests/data/bed anew: python -m tests.unit.capture_bed.

They are what the guest's test bed writes for the quickstart with OVERRIDES of ``hostile.py``. The
kernel's messages and the specification of the run are kept beside them. Capture them whenever the
specification or what a bed writes changes; the digest in ``test_fake_bed.py`` is printed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from orchestrator.backends.contract import RunContext
from orchestrator.backends.guest import Guest
from orchestrator.backends.kernels import ensure
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording
from results.documents import run_document
from results.store.store import Store
from tests.support.hostile_texts import CAPTURED, FILES, captured_plan


class _Capturing(Guest):
    """The back end "guest", which copies what a run left before its folder is removed."""

    def run(
        self, spec: RunSpec, context: RunContext, report: Callable[[str, float], None]
    ) -> Recording:
        """Run it, and copy its files if it was complete."""
        recording = super().run(spec, context, report)
        folder = context.folder
        for path in (*(folder / "out" / name for name in FILES), folder / "in" / "spec.json"):
            shutil.copyfile(path, CAPTURED / path.name)
        shutil.copyfile(folder / "console", CAPTURED / "console")
        return recording


class _Silent:
    def progress(self, progress: Progress) -> None:
        """Show nothing."""


def capture() -> str:
    """Run the scenario, replace the captured files, and return the run's digest.

    Raises:
        RuntimeError: the run was not faithful.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "runs.db"
        options = RunOptions(store, _Capturing(ensure(), unconfined=False))
        ids = run_plan(captured_plan(), options, _Silent())
        with Store.open_read_only(store) as opened:
            (run,) = run_document.of_ids(opened, ids)["runs"]
    if run["status"] != "ok" or run["fidelity"]["verdict"] != "faithful":
        raise RuntimeError(f"the run was not faithful: {run['error'] or run['fidelity']}")
    return str(run["digest"])


if __name__ == "__main__":
    sys.stdout.write(f"{capture()}\n")
