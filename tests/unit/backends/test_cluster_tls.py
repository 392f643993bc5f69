"""A cluster as the playbooks start it: certificates, what its ports answer, and who is let in."""

from __future__ import annotations

import functools
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from click.testing import CliRunner

from orchestrator.backends.cluster.address import Certificates, ClusterAddress
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.cli import commands
from orchestrator.errors import MachineError
from orchestrator.execution.runner import RunOptions, run_plan
from results.store.store import Store
from tests.support.cluster_workers import descendants, listening
from tests.support.fake_bed import DIGEST
from tests.support.hostile_texts import Watcher, build_nothing, captured_plan, fake_kernel
from tests.unit.backends import cluster_tasks

pytestmark = [
    pytest.mark.build,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

PROJECT = Path(__file__).resolve().parents[3]
MAKE = PROJECT / "playbooks" / "make_certificates.py"
TEMPLATES = PROJECT / "playbooks/roles/worker/templates"
WAITING = """
import functools, sys
from pathlib import Path
from orchestrator.backends.cluster.address import Certificates, ClusterAddress
from orchestrator.backends.cluster.connection import Cluster
from orchestrator.backends.contract import RunContext
from tests.unit.backends import cluster_tasks
url, folder, marks = sys.argv[1:]
files = [Path(folder, name) for name in ("ca.pem", "client.pem", "client.key")]
task = functools.partial(cluster_tasks.wait_for_nobody, marks)
cluster = Cluster(ClusterAddress(url, Certificates(*files)), 1, task)
cluster.open()
context = RunContext(Path(marks), 0, print, print)
with cluster.computed(b"", context, lambda phase, simulated_s: None) as future:
    pass
"""


def make(folder: Path, *names: str) -> list[str]:
    words = [sys.executable, str(MAKE), str(folder), *names]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        return port


def command_of(unit: str, **more: object) -> list[str]:
    """Return the command of a systemd unit of the playbooks, with the values of a host."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters["basename"] = lambda path: Path(path).name  # Ansible's
    template = environment.from_string((TEMPLATES / unit).read_text())
    text = template.render(ansible_managed="", common_project="", worker_user="", **more)
    (line,) = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    words = shlex.split(line)
    assert words[0].endswith("/venv/bin/dask")
    return [str(Path(sys.executable).with_name("dask")), *words[1:]]


def _wait_for(port: int) -> None:
    """Wait until a scheduler listens there: on a busy machine its start takes most of a minute."""
    end_s = time.monotonic() + 300
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < end_s, "the scheduler does not listen"
            time.sleep(0.1)
        else:
            return


class Started:
    """A scheduler and a worker, with the keys of the host ``host``."""

    def __init__(self, folder: Path) -> None:
        self.keys = folder / "certificates"
        make(self.keys, "host", "client")
        port, dashboard = free_port(), free_port()
        self.url = f"tls://127.0.0.1:{port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        values = {
            "common_folder": folder, "worker_scheduler_port": port, "worker_processes": 1,
            "worker_dashboard_port": dashboard, "worker_scheduler_address": "127.0.0.1",
            "worker_cache": folder, "worker_ports": 0, "worker_nanny_ports": 0,
        }  # fmt: skip
        units = ("orchestrator-scheduler", "orchestrator-worker")
        for command in [command_of(f"{unit}.service.j2", **values) for unit in units]:
            self.processes.append(
                subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=PROJECT
                )
            )
        _wait_for(port)

    def address(self, folder: Path | None = None) -> ClusterAddress:
        keys = folder or self.keys
        files = Certificates(keys / "ca.pem", keys / "client.pem", keys / "client.key")
        return ClusterAddress(self.url, files)

    def close(self) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    folder = tmp_path_factory.mktemp("host")
    made = Started(folder)
    yield made
    made.close()


def test_certificates_are_made_once_and_keys_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert make(folder, "a.example.org", "client") == ["ca", "a.example.org", "client"]
    assert make(folder, "a.example.org", "client", "b") == ["b"]
    assert make(folder, "a.example.org") == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(key.stat().st_mode) for key in folder.glob("*.key")} == {0o600}
    (folder / "ca.pem").unlink()
    assert make(folder, "b") == ["ca", "b"], "another authority has not signed it"
    for wrong in (["ca"], ["../x"], []):
        words = [sys.executable, str(MAKE), str(folder), *wrong]
        assert subprocess.run(words, capture_output=True, check=False).returncode == 1


def test_runs_go_through_tls_and_no_other_way(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.backends.cluster.connection import Cluster
    from orchestrator.backends.guest import Guest

    build_nothing(tmp_path, monkeypatch)
    kernel = fake_kernel(tmp_path)
    kernel.linux.write_bytes(b"kernel")
    planned = captured_plan()
    seeds = {run.seed: "good" for run in planned.runs}
    task = functools.partial(cluster_tasks.play, seeds, str(tmp_path))
    spread = ClusterGuest(Guest(kernel, unconfined=True), Cluster(started.address(), task=task))
    options = RunOptions(tmp_path / "runs.db", spread, slots=spread)
    (run_id,) = run_plan(planned, options, Watcher())
    with Store.open_read_only(options.db) as store:
        row = store.load(run_id).row
    assert (row.status, row.digest) == ("ok", DIGEST), row.error

    # Whoever comes without TLS gets no answer at any address but loopback's.
    pids = {pid for process in started.processes for pid in descendants(process.pid)}
    places = listening(pids)
    assert {port for host, port in places if host != "127.0.0.1"}, "the scheduler is reachable"
    for host, port in places:
        answer = plain_answer(port)
        assert not answer.startswith(b"HTTP") or host == "127.0.0.1", (host, port)


def plain_answer(port: int) -> bytes:
    """Return what a port of this machine answers to a request without TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            return connection.recv(100)
        except (ConnectionResetError, TimeoutError):
            return b""


def test_keys_of_another_authority_are_refused(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.backends.cluster import connection

    monkeypatch.setattr(connection, "CONNECT_S", 3.0)
    make(tmp_path / "other", "client")
    cluster = connection.Cluster(started.address(tmp_path / "other"))
    with pytest.raises(MachineError, match="cannot connect to the Dask scheduler"):
        cluster.open()
    cluster.close()


def test_a_scheduler_that_is_not_there_is_an_error_of_the_machine(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.backends.cluster import connection

    monkeypatch.setattr(connection, "CONNECT_S", 1.0)
    words = ["run", str(PROJECT / "scenarios/quickstart.yaml"), "--db", str(tmp_path / "runs.db")]
    words += ["--executor", f"dask=tls://127.0.0.1:{free_port()}"]
    for name, file in (("ca", "ca.pem"), ("cert", "client.pem"), ("key", "client.key")):
        words += [f"--tls-{name}", str(started.keys / file)]
    ended = CliRunner().invoke(commands, words)
    assert ended.exit_code == MachineError.exit_status, ended.output
    assert "cannot connect to the Dask scheduler" in ended.output


@pytest.mark.long
def test_a_worker_notices_that_its_controller_was_killed(started: Started, tmp_path: Path) -> None:
    words = [sys.executable, "-c", WAITING, started.url, str(started.keys), str(tmp_path)]
    with subprocess.Popen(words, cwd=PROJECT) as controller:
        wait_for(tmp_path / "begun")
        assert not (tmp_path / "cancelled").exists()
        controller.kill()
    wait_for(tmp_path / "cancelled")


def wait_for(path: Path, time_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + time_s
    while not path.exists():
        assert time.monotonic() < deadline_s, path
        threading.Event().wait(0.1)
    assert os.path.lexists(path)
