"""What is tried on the machine that ``boot.py`` boots: everything into ``results.json``.

The order matters little: each step begins and ends on the machine as it was.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from orchestrator.backends import local
from orchestrator.errors import MachineError
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.plan import Plan, plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
PROGRAMS = ROOT / "scenarios" / "tutorial" / "80-program.yaml"
_SERVE = "python3 -m http.server -d /tmp 8000"
OF_BOTH_VERSIONS = f"truncate -s 500000 /tmp/500000; {_SERVE} -b :: || exec {_SERVE} -b 0.0.0.0"
"""A server that has a socket of both versions of IP, or of IPv4 where there is no IPv6."""
KNOWN_PROGRAMS = [
    ROOT / "scenarios" / "programs" / f"{name}.yaml"
    for name in ("dns", "iperf3-udp", "nginx", "ping", "rsync", "ssh", "wget")
]
WORKLOADS = [
    ROOT / "scenarios" / "tutorial" / f"{name}.yaml"
    for name in ("44-udp-replay", "45-ping", "83-schedule")
]
PROGRAM = str(Path(sys.executable).parent / "orchestrator")
PARAMETER = Path("/sys/module/tcp_logwestwood/parameters/alpha_max")
LENGTH = ("duration=10s", "warmup=4s")
SHORT = ("duration=3s", "warmup=1s", "start_jitter=0ms")
LONG = ("duration=300s",)
CAPTURED = "capture={window: 4s..6s, trace: [packets], limit: 64MiB}"
CUT = "capture={trace: [packets], limit: 1MiB, snap: 9216B}"
"""Buffers with room for 28 frames of each host."""
TUNED = "flows.westwood.congestion={name: logwestwood, parameters: {alpha_max: 64}}"
LISTED = (
    "topology.bottleneck.loss="
    "{forward: {kind: list, packets: [50, 60-61], flow: reno, count: data}, reverse: 0}"
)
_RETRY_TIME_S = 20.0


class Watch:
    """Calls ``then`` once traffic runs."""

    def __init__(self, then: Callable[[], None] | None = None) -> None:
        self._then = then

    def progress(self, progress: Progress) -> None:
        if progress.phase == "traffic" and self._then is not None:
            then, self._then = self._then, None
            then()


def machine() -> dict[str, Any]:
    """Return all of the machine that a run could leave something in."""
    processes, namespaces = {}, set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            namespaces |= {str(each.readlink()) for each in (entry / "ns").iterdir()}
        except OSError:
            continue
        if words:  # not a thread of the kernel, which come and go
            processes[entry.name] = words
    return {
        "processes": processes,
        "namespaces": sorted(namespaces),
        "interfaces": sorted(each.name for each in Path("/sys/class/net").iterdir()),
        "mounts": Path("/proc/self/mounts").read_text(),
        "files": sorted(
            str(path) for folder in ("/run", "/run/tmp") for path in Path(folder).iterdir()
        ),
        "qdisc": Path("/proc/sys/net/core/default_qdisc").read_text(),
        "backlog": Path("/proc/sys/net/core/netdev_max_backlog").read_text(),
    }


def left(before: dict[str, Any]) -> list[str]:
    """Return what is otherwise than before, once that changes no more."""
    until = time.monotonic() + _RETRY_TIME_S
    while True:
        now = machine()
        found = [f"{key}: {before[key]} now {now[key]}" for key in now if now[key] != before[key]]
        if not found or time.monotonic() > until:
            return found
        select.select([], [], [], 0.05)


def planned(*overrides: str) -> Plan:
    return plan(load(QUICKSTART, overrides))


def document(db: Path) -> dict[str, Any]:
    with Store.open_read_only(db) as store:
        (run,) = run_document.of_ids(store, [row.id for row in store.list_runs()])["runs"]
    assert isinstance(run, dict)
    return run


def quickstart(folder: Path) -> dict[str, Any]:
    """The command itself."""
    words = [PROGRAM, "run", str(QUICKSTART), "--backend", "local", "--json"]
    words += ["--db", str(folder / "runs.db")]
    for override in (*LENGTH, CAPTURED):
        words += ["--set", override]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    found = {"status": ended.returncode, "said": ended.stderr}
    return {**found, "document": json.loads(ended.stdout)} if ended.stdout else found


def doctor(folder: Path) -> dict[str, Any]:
    words = [PROGRAM, "doctor", "--backend", "local", "--json", "--db", str(folder / "d.db")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    return {"status": ended.returncode, "said": ended.stderr, "document": json.loads(ended.stdout)}


def programs(folder: Path) -> dict[str, Any]:
    """The tutorial's programs, without and with what allows them.

    This machine's kernel has IPv6. On a busy machine the server needs seconds until it listens, so
    the run lasts longer.
    """
    words = [PROGRAM, "run", str(PROGRAMS), "--reduced", "--backend", "local", "--json"]
    words += ["--set", "duration=15s", "--set", "flows.page.traffic.keep=[page, none]"]
    words += ["--set", f"flows.page.traffic.server=[sh, -c, '{OF_BOTH_VERSIONS}']"]
    words += ["--db", str(folder / "runs.db")]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    ended = subprocess.run(
        [*words, "--allow-programs"], capture_output=True, text=True, check=False
    )
    found = {"refused": [refused.returncode, refused.stderr], "said": ended.stderr}
    return {**found, "document": json.loads(ended.stdout)} if ended.stdout else found


def known_programs(folder: Path) -> dict[str, Any]:
    """Programs of which each has a scenario; see ``programs`` about the duration."""
    words = [PROGRAM, "run", *map(str, KNOWN_PROGRAMS), "--reduced", "--backend", "local", "--json"]
    words += ["--allow-programs", "--set", "duration=15s", "--db", str(folder / "runs.db")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    found = {"said": ended.stderr}
    return {**found, "document": json.loads(ended.stdout)} if ended.stdout else found


def workloads(folder: Path) -> dict[str, Any]:
    """Datagrams and transfers that files list, and echoes."""
    words = [PROGRAM, "run", *map(str, WORKLOADS), "--reduced", "--backend", "local", "--json"]
    ended = subprocess.run(
        [*words, "--db", str(folder / "runs.db")], capture_output=True, text=True, check=False
    )
    found = {"said": ended.stderr}
    return {**found, "document": json.loads(ended.stdout)} if ended.stdout else found


def busy(folder: Path) -> dict[str, Any]:
    """A loop beside the traffic, a parameter that is set, and packets that are lost by number."""
    db = folder / "runs.db"
    subprocess.run(["modprobe", "tcp_logwestwood"], check=True)
    before = PARAMETER.read_text()
    seen: dict[str, str] = {}

    loops: list[subprocess.Popen[bytes]] = []

    def meanwhile() -> None:
        seen["parameter"] = PARAMETER.read_text()
        loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))

    run_plan(planned(*SHORT, TUNED, LISTED, CUT), RunOptions(db, local.Local()), Watch(meanwhile))
    (loop,) = loops
    loop.kill()
    loop.wait()
    return {
        **seen,
        "parameter before": before,
        "parameter after": PARAMETER.read_text(),
        "document": document(db),
        "captured": captured(db),
    }


def captured(db: Path) -> dict[str, Any]:
    """Return what a run's captures say of each host, and how many frames of it are stored."""
    with Store.open_read_only(db) as store:
        (row,) = store.list_runs()
        shown = subprocess.run(
            [PROGRAM, "show", row.id, "--db", str(db)], capture_output=True, text=True, check=True
        ).stdout
        tables = store.trace(row.id, 1).tables
    return {
        "shown": shown,
        "hosts": tables["hosts"][["seen", "lost"]].tolist(),
        "kept": [int((tables["frames"]["host"] == host).sum()) for host in tables["hosts"]["host"]],
    }


@contextmanager
def long_run(db: Path) -> Iterator[int]:
    """Yield the process of a controller whose run has traffic; it is reaped at the end."""
    told, tell = os.pipe()

    def say() -> None:
        os.write(tell, b".")

    controller = os.fork()
    if controller == 0:
        try:
            run_plan(planned(*LONG, TUNED), RunOptions(db, local.Local()), Watch(say))
        finally:
            os._exit(0)
    os.close(tell)
    os.read(told, 1)
    os.close(told)
    yield controller
    os.waitpid(controller, 0)


def killed_controller(folder: Path) -> dict[str, Any]:
    before = PARAMETER.read_text()
    with long_run(folder / "runs.db") as controller:
        during, second = PARAMETER.read_text(), ""
        try:
            local.Local().prepare(planned(*SHORT))
        except MachineError as error:
            second = str(error)
        os.kill(controller, signal.SIGKILL)
    db = str(folder / "runs.db")
    return {"before": before, "during": during, "second": second, "db": db}


def killed_bed(folder: Path) -> dict[str, Any]:
    with long_run(folder / "runs.db"):
        bed = [number for number in machine()["processes"] if len(_numbers(number)) > 1]
        addresses = [Path(f"/proc/{number}/net/if_inet6").read_text() for number in bed]
        (first,) = [number for number in bed if _numbers(number)[1] == "1"]
        os.kill(int(first), signal.SIGKILL)
    return {"document": document(folder / "runs.db"), "addresses": addresses}


def _numbers(process: str) -> list[str]:
    """Return a process's numbers, from the machine's PID namespace to its own."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    (numbers,) = [line.split()[1:] for line in status if line.startswith("NSpid:")]
    return numbers


STEPS = (doctor, quickstart, programs, workloads, busy)
KILLED_STEPS = (killed_controller, killed_bed)
KNOWN_STEPS = (known_programs,)


def main(results: Path, names: Sequence[str]) -> None:
    """Do the steps of these names, each in a folder of its own."""
    found: dict[str, Any] = {}
    before: dict[str, Any] | None = None
    Path("/run/orchestrator-local.lock").touch()  # stays: it is of no run
    subprocess.run(["modprobe", "tcp_logwestwood"], check=True)
    home = Path("/run/home")
    for step in (*STEPS, *KILLED_STEPS, *KNOWN_STEPS):
        if step.__name__ not in names:
            continue
        began = time.monotonic()
        folder = home / step.__name__
        folder.mkdir()
        before = machine()
        found[step.__name__] = {**step(folder), "left": left(before)}
        found[step.__name__]["took_s"] = time.monotonic() - began
    if (killed := found.get("killed_controller")) is not None:
        killed["parameter"] = PARAMETER.read_text()
        killed["document"] = document(Path(killed["db"]))
    if "quickstart" in found:
        keep_store(home / "quickstart" / "runs.db", results / "runs.db")
    (results / "results.json").write_text(json.dumps(found))


def keep_store(stored: Path, kept: Path) -> None:
    """Copy a store with all that is in its write-ahead log."""
    whole = stored.with_name("whole.db")
    with closing(sqlite3.connect(stored)) as source, closing(sqlite3.connect(whole)) as target:
        source.backup(target)
    shutil.copy(whole, kept)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
