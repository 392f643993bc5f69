"""A sweep that is killed again and again, and resumed, has the runs of one that never was."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from results.store.parts import integrity
from results.store.store import Store

pytestmark = [pytest.mark.guest, pytest.mark.long]

SWEEP = """\
version: 1
name: sweep
seed: 1
duration: 1s
start_jitter: 100ms
topology:
  kind: dumbbell
  bottleneck: {rate: 2mbit, delay: 5ms, queue: {kind: droptail, limit: 20p}}
  groups:
    - {name: a, access: {rate: 100mbit, delay: 5ms}}
flows:
  - {name: one, group: a, congestion: reno}
  - {name: two, group: a, congestion: cubic}
matrix:
  topology.bottleneck.queue.limit: [5p, 10p, 20p, 40p]
repetitions: 25
sample: {tcp: 1s, queue: 1s}
"""
RUNS, KILLS = 100, 10
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ORCHESTRATOR = (sys.executable, "-c", "from orchestrator.cli import main; main()")


def command(folder: Path, *words: str) -> list[str]:
    return [*ORCHESTRATOR, *words, "--db", str(folder / "runs.db")]


def finish(folder: Path, *words: str) -> str:
    run = subprocess.run(
        command(folder, *words), cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def wait_for_runs(folder: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Return when the store has that many runs that are ok, or the process has ended."""
    while process.poll() is None:
        if (folder / "runs.db").exists() and done(folder) >= number:
            return
        time.sleep(0.05)  # nothing tells when another process has stored a run


def done(folder: Path) -> int:
    with Store.open_read_only(folder / "runs.db") as store:
        return sum(row.status == "ok" for row in store.list_runs())


def digests(folder: Path) -> dict[tuple[str, int], str | None]:
    """Return the digest of each run that is ok; each is there once."""
    found: dict[tuple[str, int], str | None] = {}
    with Store.open_read_only(folder / "runs.db") as store:
        for row in store.list_runs():
            if row.status == "ok":
                place = (json.dumps(row.variant), row.repetition)
                assert place not in found
                found[place] = row.digest
    return found


def summary(folder: Path) -> Any:
    """Return the summary without what names runs."""
    document = json.loads(finish(folder, "summary", "sweep", "--json"))
    for row in document["rows"]:
        del row["left_out"]
        for metric in row["metrics"].values():
            del metric["runs"]
    return document


def test_ten_kills_change_nothing(kernel: GuestKernel, tmp_path: Path) -> None:
    assert kernel.linux.exists()
    draw = random.Random(1)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        (folder / "sweep.yaml").write_text(SWEEP)
    finish(whole, "run", "sweep.yaml", "--quiet")
    for moment in sorted(draw.sample(range(1, RUNS - 5), KILLS)):
        process = subprocess.Popen(
            command(killed, "run", "sweep.yaml", "--resume", "--quiet"), cwd=killed,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for_runs(killed, moment, process)
        time.sleep(draw.uniform(0, 1))
        process.send_signal(draw.choice(SIGNALS))
        process.wait()
    finish(killed, "run", "sweep.yaml", "--resume", "--quiet")
    assert len(digests(whole)) == RUNS
    assert digests(killed) == digests(whole)
    assert summary(killed) == summary(whole)
    assert integrity.examine(killed / "runs.db").ok
