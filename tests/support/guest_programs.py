"""Scenarios of users' programs, and their runs in the guest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import Quiet

HEAD = """\
version: 1
name: programs
duration: {duration}
topology:
  kind: dumbbell
  bottleneck: {{rate: 10mbit, delay: 20ms, queue: {{kind: droptail, limit: 100p}}}}
  groups:
"""
GROUP = "    - {{name: {name}, hosts: 1, rtt: 40ms}}\n"


def runs(kernel: GuestKernel, folder: Path, text: str, times: int = 1) -> list[dict[str, Any]]:
    """Run a scenario so often, and return the documents of its runs."""
    file = folder / "programs.yaml"
    file.write_text(text)
    db = folder / "runs.db"
    ids = [
        run_id
        for _time in range(times)
        for run_id in run_plan(plan(load(file)), RunOptions(db, Guest(kernel)), Quiet())
    ]
    with Store.open_read_only(db) as store:
        documents: list[dict[str, Any]] = run_document.of_ids(store, ids)["runs"]
    return documents


def scenario(duration: str, **flows: str) -> str:
    """Return a scenario whose flows have hosts of their own, by the traffic of each."""
    text = HEAD.format(duration=duration)
    text += "".join(GROUP.format(name=name) for name in flows)
    entries = [
        f"  - {{name: {name}, group: {name}, start: 1s, congestion: reno,\n"
        f"     traffic: {{{traffic}}}}}\n"
        for name, traffic in flows.items()
    ]
    return text + "flows:\n" + "".join(entries)
