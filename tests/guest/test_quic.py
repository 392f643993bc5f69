"""QUIC as traffic: the shipped scenario, with aioquic from the package index."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import QUICKSTART, Quiet

SHIPPED = QUICKSTART.parent / "quic"

pytestmark = [pytest.mark.guest, pytest.mark.long]


def short_run(file: Path, kernel: GuestKernel, db: Path) -> dict[str, Any]:
    """Return the document of the run that the reduced form makes."""
    ids = run_plan(plan(load(file, reduced=True)), RunOptions(db, Guest(kernel)), Quiet())
    with Store.open_read_only(db) as store:
        (document,) = run_document.of_ids(store, ids)["runs"]
    assert isinstance(document, dict)
    return document


def test_quic_transfers_a_stream_and_equal_runs_are_equal(
    kernel: GuestKernel, db: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "quic"
    shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("lib"))
    (wanted,) = re.findall(r"aioquic==[0-9.]+", (folder / "quic.yaml").read_text())
    arguments = ["--quiet", "--no-compile", "--target", str(folder / "programs" / "lib"), wanted]
    subprocess.run([sys.executable, "-m", "pip", "install", *arguments], check=True)
    document = short_run(folder / "quic.yaml", kernel, db)
    assert document["fidelity"]["verdict"] == "faithful"
    page = document["flows"][1]
    assert (page["outcome"], page["exit_status"]) == ("ended", 0)
    _server, client = document["programs"]
    assert client["stdout"].startswith("200000 bytes in 0.")
    # Over 10 Mbit/s, shared, with a handshake of a round trip and a request of another.
    assert 0.25 < page["completion_time_s"] < 2
    assert short_run(folder / "quic.yaml", kernel, db)["digest"] == document["digest"]
