"""Runs with a fake test bed in the guest's place, which leaves what a hostile guest could."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from kmods import build
from kmods.build import BuiltModules
from orchestrator.backends import guest
from orchestrator.backends.contract import RunContext
from orchestrator.decode.assemble import Machine, assemble, decoder
from orchestrator.decode.output import believing_nothing
from orchestrator.execution import judging
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.plan import Plan, plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
CAPTURED = ROOT / "tests" / "data" / "bed"
FILES = ("tcp.bin", "senders.bin", "queue.bin", "readings.bin", "sojourn.bin", "transfers.bin",
         "datagrams.bin", "counters.bin", "facts.jsonl", "progress", "bed.log")  # fmt: skip
OVERRIDES = ("duration=2s", "warmup=1s", "topology.bottleneck.queue.limit=20p")
MODULE = b"\0depends=\0name=tcp_westwood\0"
LINKS = b"\0depends=\0name=sch_link\0"

# Acts in the output folder, before and after the captured files are copied there.
FAKE = """
import os, shutil, sys, time
source, target, before, after = sys.argv[1:]
os.chdir(target)
exec(before)
for name in sorted(os.listdir(source), key="progress".__eq__):
    if name not in ("console", "spec.json") and not os.path.lexists(name):
        shutil.copy(os.path.join(source, name), name)
exec(after)
"""


def captured_plan(*overrides: str) -> Plan:
    """Return the plan of which tests/data/bed was captured, with further overrides."""
    return plan(load(ROOT / "scenarios" / "quickstart.yaml", (*OVERRIDES, *overrides)))


def captured_files() -> dict[str, bytes]:
    """Return the captured files by their names."""
    return {name: (CAPTURED / name).read_bytes() for name in FILES}


def assembled(spec: RunSpec, files: Mapping[str, bytes]) -> Recording:
    """Return the recording that a bed's files give; the error of its back end otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        place = RunContext(Path(folder), 0, lambda _group: None, lambda _group: None)
        (place.folder / "out").mkdir()
        for name, data in files.items():
            (place.folder / "out" / name).write_bytes(data)
        recording = assemble(
            spec, place.output, place.console, decoder(spec, place.output), (), Machine()
        )
        with believing_nothing():
            return judging.judged(spec, recording)


class Watcher:
    """An observer that keeps the phases that are reported to it."""

    def __init__(self) -> None:
        self.phases: list[str] = []

    def progress(self, progress: Progress) -> None:
        """Keep the phase."""
        self.phases.append(progress.phase)


def fake_kernel(folder: Path) -> GuestKernel:
    """Return a kernel with the modules of the captured run, which cannot boot."""
    modules = folder / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "tcp_westwood.ko").write_bytes(MODULE)
    manifest = {"modules_sha256": {"tcp_westwood": "abc"}, "source": "captured"}
    return GuestKernel("key", folder / "linux", modules, "6.12", manifest)


def build_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this project's modules be a file in place of sch_link, built for any kernel."""
    built = folder / "built"
    built.mkdir(exist_ok=True)
    (built / "sch_link.ko").write_bytes(LINKS)
    monkeypatch.setattr(build, "ensure", lambda _kernel, _compiler: BuiltModules(built))


def play(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    acts: Sequence[tuple[str, str]],
    timeout_s: float | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Run the captured scenario once for each act; return the documents of its runs.

    An act is Python code that runs in the output folder before the captured files are copied
    there, and code that runs afterwards.
    """

    rest = iter(acts)  # runs are made one after another

    def command(_boot: object, paths: Any) -> list[str]:
        before, after = next(rest)
        return [sys.executable, "-c", FAKE, str(CAPTURED), str(paths.output), before, after]

    monkeypatch.setattr(guest, "command_of", command)
    build_nothing(folder, monkeypatch)
    kernel = fake_kernel(folder)
    backend = guest.Guest(kernel, unconfined=True, **options)
    asked = RunOptions(folder / "runs.db", backend, timeout_s=timeout_s)
    ids = run_plan(captured_plan(f"repetitions={len(acts)}"), asked, Watcher())
    with Store.open_read_only(folder / "runs.db") as store:
        runs: list[dict[str, Any]] = run_document.of_ids(store, ids)["runs"]
    return runs
