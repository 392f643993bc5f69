"""A crate of an experiment with a module and a trace: another user makes its runs again from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from guest.build import GuestKernel
from tests.support.users import ROOT, User, users

pytestmark = [pytest.mark.guest, pytest.mark.long]

TRACE = ROOT / "scenarios" / "tutorial" / "cellular.trace"
SCENARIO = """\
version: 1
name: handed
description: A module of the author's follows a trace of the author's.
seed: 3
duration: 4s
warmup: 1s
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck:
    delay: 10ms
    capacity: {forward: {trace: traces/cellular.trace}, reverse: {rate: 5mbit}}
    queue: {kind: droptail, limit: 100p}
  groups:
    - {name: a, hosts: 1, access: {rate: 100mbit, delay: 5ms}}
flows:
  - {name: mine, group: a, congestion: {name: mycc, module: ./mycc}, traffic: {kind: bulk}}
matrix: {flows.mine.congestion.parameters.increase: [1, 2]}
repetitions: 2
"""


def author(folder: Path) -> Path:
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "scenarios" / "own-module" / "mycc", folder / "mycc")
    (folder / "traces").mkdir()
    shutil.copy(TRACE, folder / "traces")
    (folder / "handed.yaml").write_text(SCENARIO)
    return folder / "handed.yaml"


def orchestrator(*words: str | Path, cwd: Path, user: User | None = None) -> (
    subprocess.CompletedProcess[str]
):  # fmt: skip
    program = [sys.executable, "-c", "from orchestrator.cli import main; main()"]
    command, code, options = (user or users()[0]).command(
        [*program, *map(str, words)], cwd.with_name("code")
    )
    environment = {**os.environ, "PYTHONPATH": str(code)}
    if user is not None:
        environment |= {"HOME": str(cwd), "TMPDIR": str(cwd), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options
    )


def test_an_experiment_is_handed_on_by_its_crate(kernel: GuestKernel, tmp_path: Path) -> None:
    first = author(tmp_path / "home" / "alice" / "first")
    db = tmp_path / "alice.db"
    done = orchestrator("run", first, "--db", db, "--json", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    digests = [run["digest"] for run in json.loads(done.stdout)["runs"]]
    assert len(set(digests)) == 4

    # In a third folder everything is there.
    third = author(tmp_path / "srv" / "third")
    shutil.rmtree(tmp_path / "home")
    resumed = orchestrator("run", third, "--resume", "--db", db, cwd=third.parent)
    assert resumed.returncode == 0, resumed.stderr
    assert "4 of 4 runs are stored already" in resumed.stderr
    shutil.rmtree(tmp_path / "srv")
    judged = orchestrator("judge", "--all", "--db", db, cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    assert judged.stdout.count("as before") == 4

    # From the crate alone, in an empty folder, as another user where root runs the tests.
    archive = tmp_path / "crate.zip"
    done = orchestrator(
        "export", "handed", "--format", "rocrate", "-o", archive, "--db", db, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    user = users()[-1]
    assert user.uid != 0
    with tempfile.TemporaryDirectory(prefix="crate-") as name:
        Path(name).chmod(0o755)  # another user cannot reach pytest's folders
        empty = Path(name, "empty")
        shutil.unpack_archive(archive, empty / "crate")
        for path in (empty, *empty.rglob("*")):
            os.chown(path, user.uid, user.gid)
        again = orchestrator("run", "crate", "--db", "again.db", "--json", cwd=empty, user=user)
        assert (empty / "again.db").stat().st_uid == user.uid, again.stderr
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert (document["crate"]["runs"], document["crate"]["bit_identical"]) == (4, 4)
    assert [run["digest"] for run in document["runs"]] == digests
    assert [run["fidelity"]["verdict"] for run in document["runs"]] == ["faithful"] * 4
