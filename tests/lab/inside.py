"""What is tried with five lab hosts, as root.

Each step begins and ends with the hosts as they were, which is looked at. Those that need netem run
in the guest's kernel in real time (tests/guest/test_lab.py), the others on this machine
(tests/lab/test_lab.py). By hand: ``python -m tests.lab.inside FOLDER [STEP...]``.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from results.documents import run_document
from results.store.store import Store
from tests.lab.captured import counts
from tests.lab.namespaces import Lab, ip
from tests.support.sshd import sessions

SERVER = Path(__file__).parents[2] / "scenarios" / "tutorial" / "program"
PROGRAM = str(Path(sys.executable).parent / "orchestrator")
_RETRY_TIME_S = 180.0
"""In the guest, on a busy machine, two minutes pass before traffic."""
_TRAFFIC_BYTES = 50_000
"""A receiver gets a tenth of this before traffic: echoes, ARP, and IPv6's messages of interfaces
that have just come up. The number of these depends on the time that passes until then."""
_UNREADABLE_CLOCK = "its clock can be read to within"
"""A lab refuses a host whose clock cannot be read exactly: here, because this machine is busy."""
_HALTED = "datagrams leave later than they are due"
"""A run fails when a sender halts for 0.1 s, as all hosts do here while this machine halts."""
_TRIES = 3

ENDS = """\
  senders: [{host: sender1, interface: eth1}, {host: sender2, interface: eth1}]
  receivers: [{host: receiver1, interface: eth1}, {host: receiver2, interface: eth1}]
"""
EMULATED = (
    """\
version: 1
name: emulated
duration: 12s
warmup: 4s
topology:
  kind: dumbbell
  bottleneck:
    rate: 5mbit
    delay: 20ms
    loss:
      forward: {kind: list, packets: [300, 302-303], flow: "bulk[0]", count: data}
      reverse: 0
    queue: {kind: droptail, limit: 40p}
  access: {delay: 0ms}
  groups: [{name: a, hosts: 2}]
flows:
  - {name: bulk, group: a, congestion: reno, tcp: {initial_window: 4}}
  - {name: voice, group: a, direction: reverse, traffic: {kind: cbr, rate: 200kbit}}
events:
  - {kind: link, at: 9s, link: bottleneck, rate: 3mbit}
lab:
  inventory: INVENTORY
  router: {host: router, left: eth1, right: eth2}
"""
    + ENDS
)
LIVE = (
    """\
version: 1
name: live
duration: 6s
warmup: 1s
topology:
  kind: live-path
  groups: [{name: a, hosts: 2}]
flows:
  - {name: slow, group: a, stop: 5s, traffic: {kind: cbr, rate: 500kbit}}
  - name: turns
    group: a
    traffic: {kind: campaign, controls: [reno, cubic], turn: 1s, idle: 200ms, bytes: 100kB}
  - {name: files, group: a, traffic: {kind: uploads, files: [20kB, 50kB], gap: 500ms}}
lab:
  inventory: INVENTORY
"""
    + ENDS
)


CAPTURED = """\
capture: {trace: [packets]}
flows:
  - {name: bytes, group: a, congestion: cubic, traffic: {kind: bulk, bytes: 2MB}}
"""
CUT = """\
capture: {trace: [packets], window: 4s..10s, limit: 1MiB, snap: 9216B}
flows:
"""
"""Buffers with room for 28 frames of each host."""

PROGRAMS = """\
flows:
  - name: page
    group: a
    congestion: cubic
    start: 5s
    traffic:
      kind: program
      files: www
      server: [sh, -c, "sleep 1000 & exec $FILES/serve.py"]
      ready: {port: 8000}
      client:
        - sh
        - -c
        - >-
          curl -sSf -o page -w 'took %{time_total}' http://server:8000/SIZE && python3 -c
          'import socket; s = socket.socket(2, 2); [s.sendto(bytes(100), ("server", 9)) for _ in
          range(20)]'
      extract: {page: 'took (?P<s>[0-9.]+)'}
      keep: [page]
"""
"""Each server has a child that outlives it, unless all its processes are ended. Clients send
datagrams to it at the end."""

_PAGE_BYTES = 300_000
_WRONG = "receiver1, interface: eth7"


Step = Callable[[Lab, Path], dict[str, Any]]
"""Tries one thing with the hosts, in a new folder, and returns what came of it."""


class Trial:
    """One call of the program against the hosts.

    Args:
        hosts: the lab.
        folder: for this trial alone.
        scenario: text with INVENTORY in it.
        overrides: of --set.
        options: further words of the command line.
    """

    def __init__(
        self,
        hosts: Lab,
        folder: Path,
        scenario: str,
        *overrides: str,
        options: Sequence[str] = (),
    ) -> None:
        folder.mkdir()
        self.hosts, self.db = hosts, folder / "runs.db"
        file = folder / "scenario.yaml"
        file.write_text(scenario.replace("INVENTORY", str(hosts.inventory)))
        shutil.copytree(SERVER, folder / "www")
        self.before = hosts.state()
        self._words = [PROGRAM, "run", str(file), "--backend", "lab", "--db", str(self.db)]
        self._words += ["--json", *options]
        for override in overrides:
            self._words += ["--set", override]
        self._said = folder / "said"
        self._started_until = time.monotonic() + _RETRY_TIME_S
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._said.open("w") as said:
            return subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
            )

    def _started_again(self) -> bool:
        """Start the program again if the hosts' clocks were unreadable, and say whether it was.

        Nothing was run then.
        """
        unreadable = self.process.poll() is not None and _UNREADABLE_CLOCK in self.said()
        if not unreadable or time.monotonic() > self._started_until:
            return False
        self.process = self._start()
        return True

    def await_traffic(self) -> None:
        """Return when a receiver has got more than probes."""
        before = self.hosts.received_bytes("receiver1")
        until = time.monotonic() + _RETRY_TIME_S
        while self.hosts.received_bytes("receiver1") < before + _TRAFFIC_BYTES:
            if self._started_again():
                continue
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"no traffic: {self.said()}")
            select.select([], [], [], 0.05)

    def said(self) -> str:
        """Return what was said on standard error."""
        return self._said.read_text()

    def end(self) -> dict[str, Any]:
        """Wait for the end; return status, words, stored runs, and what is not as it was."""
        status = self.process.wait()
        while self._started_again():
            status = self.process.wait()
        runs: list[Any] = []
        found: dict[str, Any] = {}
        if self.db.exists():
            with Store.open_read_only(self.db) as store:
                ids = [row.id for row in store.list_runs()]
                runs = run_document.of_ids(store, ids)["runs"]
                captured = [counts(store.load(run)) for run in ids if store.traces(run)]
            if captured:
                words = [PROGRAM, "show", "last", "--db", str(self.db)]
                found["shown"] = subprocess.run(
                    words, capture_output=True, text=True, check=True
                ).stdout
                (found["captured"],) = captured
        return {**found, "status": status, "said": self.said(), "runs": runs, "left": self.left(),
                "db": str(self.db)}  # fmt: skip

    def left(self) -> list[str]:
        """Return what is otherwise than before, once that changes no more."""
        until = time.monotonic() + _RETRY_TIME_S
        while True:
            now = self.hosts.state()
            found = [
                f"{key}: {self.before[key]} now {now[key]}"
                for key in now
                if now[key] != self.before[key]
            ]
            if not found or time.monotonic() > until:
                return found
            select.select([], [], [], 0.2)


def _undisturbed(hosts: Lab, folder: Path, scenario: str) -> dict[str, Any]:
    """Return a trial's end, of one during which this machine did not halt if there is any."""
    folder.mkdir()
    for number in range(_TRIES):
        found = Trial(hosts, folder / str(number), scenario).end()
        if not any(_HALTED in (run["error"] or "") for run in found["runs"]):
            break
    return found


def emulated(hosts: Lab, folder: Path) -> dict[str, Any]:
    """A bottleneck emulated by the router, with an event, TCP options and traffic both ways."""
    return _undisturbed(hosts, folder, EMULATED.replace("flows:\n", CUT))


def live(hosts: Lab, folder: Path) -> dict[str, Any]:
    """Nothing emulated: a campaign, files and UDP over the path as it is, with captures."""
    return _undisturbed(hosts, folder, LIVE.replace("flows:\n", CAPTURED))


def _of_programs(size_bytes: int) -> str:
    """Return the emulated scenario with programs, and nothing else, as traffic."""
    head, tail = EMULATED.partition("flows:\n")[0], EMULATED.partition("lab:\n")[2]
    lossless = head.partition("    loss:\n")[0] + "    queue" + head.partition("    queue")[2]
    return f"{lossless}{PROGRAMS.replace('SIZE', str(size_bytes))}lab:\n{tail}"


def programs(hosts: Lab, folder: Path) -> dict[str, Any]:
    """Two servers and two clients, refused and allowed, and a busy port."""
    folder.mkdir()
    scenario = _of_programs(_PAGE_BYTES)
    refused = Trial(hosts, folder / "refused", scenario).end()
    holder = subprocess.Popen(
        [*hosts.inside("sender2"), sys.executable, "-c", _HOLD], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.read(1)
    busy = Trial(hosts, folder / "busy", scenario, options=_ALLOWED).end()
    holder.kill()
    holder.wait()
    # On a busy machine a server needs seconds until it listens.
    trial = Trial(hosts, folder / "allowed", scenario, "duration=40s", options=_ALLOWED)
    return {**trial.end(), "refused": refused, "busy": busy}


def lost_programs(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The process that does a server's part is killed while programs run."""
    folder.mkdir()
    trial = Trial(hosts, folder / "a", _of_programs(10**8), "duration=60s", options=_ALLOWED)
    trial.await_traffic()
    users = [user for host in ("sender1", "receiver1") for user in hosts.users(host)]
    os.kill(hosts.agents("sender1")[1], signal.SIGKILL)
    return {**trial.end(), "users": users}


_ALLOWED = ["--allow-programs"]
_HOLD = """
import socket, time
held = socket.create_server(("", 8000))
print(flush=True)
time.sleep(1000)
"""


def _lost(
    hosts: Lab, folder: Path, kill: Callable[[Lab], None], scenario: str = LIVE
) -> dict[str, Any]:
    trial = Trial(hosts, folder, scenario, "duration=60s")
    trial.await_traffic()
    kill(hosts)
    return trial.end()


def _cut(hosts: Lab, host: str) -> None:
    """Kill the server's end of the connections to a host."""
    found = sessions(hosts.servers[host].process.pid)
    assert found, host
    for process in found:
        os.kill(process, signal.SIGKILL)


def lost_router(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The server's end of the connection to the host that emulates is killed."""
    return _lost(hosts, folder, lambda hosts: _cut(hosts, "router"), EMULATED)


def lost_connection(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The server's end of a host's connection is killed."""
    return _lost(hosts, folder, lambda hosts: _cut(hosts, "receiver2"))


def lost_worker(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The process that does a host's part is killed."""
    return _lost(hosts, folder, lambda hosts: os.kill(hosts.agents("sender1")[1], signal.SIGKILL))


def lost_cleanup_process(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The process that would undo everything is killed."""
    return _lost(hosts, folder, lambda hosts: os.kill(hosts.agents("sender2")[0], signal.SIGKILL))


def lost_network(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The wire to a host goes down; it comes back when the run has failed."""
    trial = Trial(hosts, folder, LIVE, "duration=60s")
    trial.await_traffic()
    hosts.run("receiver1", "ip", "link", "set", "eth0", "down")
    trial.process.wait()
    hosts.run("receiver1", "ip", "link", "set", "eth0", "up")
    return trial.end()


def lost_controller(hosts: Lab, folder: Path) -> dict[str, Any]:
    """The controller itself is killed."""
    trial = Trial(hosts, folder, LIVE, "duration=60s")
    trial.await_traffic()
    trial.process.kill()
    return trial.end()


def interrupted(hosts: Lab, folder: Path) -> dict[str, Any]:
    """Ctrl-C."""
    trial = Trial(hosts, folder, LIVE, "duration=60s")
    trial.await_traffic()
    trial.process.send_signal(signal.SIGINT)
    return trial.end()


def unfit(hosts: Lab, folder: Path) -> dict[str, Any]:
    """Faults of three hosts at once."""
    hosts.run("router", "sysctl", "-qw", "net.ipv4.ip_forward=0")
    hosts.run("router", "tc", "qdisc", "add", "dev", "eth2", "root", "handle", "7:", "prio")
    hosts.run("sender2", "ip", "link", "set", "eth1", "mtu", "9000")
    try:
        return Trial(hosts, folder, EMULATED.replace("receiver1, interface: eth1", _WRONG)).end()
    finally:
        hosts.run("sender2", "ip", "link", "set", "eth1", "mtu", "1500")
        hosts.run("router", "tc", "qdisc", "del", "dev", "eth2", "root")
        hosts.run("router", "sysctl", "-qw", "net.ipv4.ip_forward=1")


def no_way(hosts: Lab, folder: Path) -> dict[str, Any]:
    """A host that cannot be reached, and then one whose packets go another way."""
    server = hosts.servers["sender1"]
    server.process.send_signal(signal.SIGSTOP)
    hosts.run("receiver1", "ip", "route", "del", "10.231.0.0/20")
    folder.mkdir()
    try:
        first = Trial(hosts, folder / "unreachable", LIVE).end()
    finally:
        server.process.send_signal(signal.SIGCONT)
    second = Trial(hosts, folder / "routes", LIVE).end()
    ip("-n", hosts.namespace("receiver1"), "route", "add", "10.231.0.0/20", "via", "10.231.2.1",
       "dev", "eth1")  # fmt: skip
    return {"unreachable": first, "routes": second}


NEED_NETEM = (emulated, unfit)
NEED_NETEM_AND_LONG = (lost_router,)
NEED_COUNTS = (programs, lost_programs)
"""They need our module run_counts, too."""
NEED_ROOT_ALONE = (
    live, lost_connection, lost_worker, lost_cleanup_process, lost_network, lost_controller,
    interrupted, no_way,
)  # fmt: skip


def main(folder: Path, names: list[str]) -> None:
    """Try what needs netem, or what is named; results go to ``folder``."""
    results: dict[str, Any] = {}
    with Lab(folder / "lab") as hosts:
        steps = (*NEED_NETEM, *NEED_NETEM_AND_LONG, *NEED_COUNTS, *NEED_ROOT_ALONE)
        chosen = [step for step in steps if step.__name__ in names]
        for step in chosen or NEED_NETEM:
            began = time.monotonic()
            results[step.__name__] = step(hosts, folder / step.__name__)
            sys.stdout.write(f"{step.__name__}: {time.monotonic() - began:.1f} s\n")
            sys.stdout.flush()
            (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
