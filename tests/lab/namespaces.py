"""Five lab hosts on this machine: network namespaces joined by veth, each with an sshd of its own.

::

    sender1 ─┐                                    ┌─ receiver1
             ├─ left ─ eth1 router eth2 ─ right ──┤
    sender2 ─┘                                    └─ receiver2

``left`` and ``right`` are bridges in namespaces of their own. The controller, outside, reaches each
host by a further pair, ``eth0`` there. Needs root. ``close`` takes everything away. What a killed
process has left, the next ``Lab`` takes away. It waits for another one, as both have the same
addresses.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import sshd

PORT = 2200
HOSTS = ("sender1", "sender2", "router", "receiver1", "receiver2")
SIDES = {
    "left": ("10.231.1", {"router": "eth1", "sender1": "eth1", "sender2": "eth1"}),
    "right": ("10.231.2", {"router": "eth2", "receiver1": "eth1", "receiver2": "eth1"}),
}
_CONTROL = "10.231.{}.{}"
_CARRIER_TIME_S = 60.0
FIRST_USER = 20_000
"""Of users' programs: testbed/traffic/program.py."""
_LOCK = Path("/run/tlab.lock")
_TAG = "tlab"
"""How the names of namespaces, and of the interfaces to them, start."""


def ip(*words: str) -> None:
    """Run iproute2's ip."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)


_STATE = (
    "tc qdisc show; tc filter show dev eth1 egress; ip -o link show; ip -4 route show table all; "
    "grep -H . /proc/sys/net/ipv4/tcp_* /proc/sys/net/ipv4/ip_forward; ethtool -k eth1; "
    "sed 's/^/socket /' /proc/net/tcp"
)


@dataclass
class Lab:
    """The hosts; ``folder`` takes keys, logs and the inventory. A context manager.

    ``ahead_s`` is how far a host's monotonic clock is ahead of ours. Of the folders ``own`` each
    host has an empty one of its own; all other files are this machine's.
    """

    folder: Path
    ahead_s: Mapping[str, int] = field(default_factory=dict)
    own: Sequence[str] = ()
    servers: dict[str, sshd.Server] = field(default_factory=dict, init=False)
    _lock: int = field(default=-1, init=False)

    @property
    def inventory(self) -> Path:
        """The inventory file."""
        return self.folder / "inventory.yml"

    def namespace(self, host: str) -> str:
        """Return the name of a host's, or a bridge's, namespace."""
        return f"{_TAG}-{host}"

    def inside(self, host: str) -> list[str]:
        """Return the words that run a command on a host."""
        return ["ip", "netns", "exec", self.namespace(host)]

    def run(self, host: str, *words: str) -> str:
        """Run a command on a host and return what it says."""
        done = subprocess.run(
            [*self.inside(host), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (host, words, done.stderr)
        return done.stdout

    def __enter__(self) -> Lab:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(_LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._remove_left()
            self._build()
            self._await_carrier()
            self._serve()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _build(self) -> None:
        for name in (*HOSTS, *SIDES):
            ip("netns", "add", self.namespace(name))
            ip("-n", self.namespace(name), "link", "set", "lo", "up")
        for side, (network, ports) in SIDES.items():
            bridge = self.namespace(side)
            ip("-n", bridge, "link", "add", "br0", "type", "bridge")
            ip("-n", bridge, "link", "set", "br0", "up")
            for number, (host, interface) in enumerate(ports.items()):
                address = f"{network}.{1 if host == 'router' else 10 + number}/24"
                self._pair(host, interface, address, bridge, f"p{number}")
                ip("-n", bridge, "link", "set", f"p{number}", "master", "br0")
                if host != "router":
                    ip("-n", self.namespace(host), "route", "add", "10.231.0.0/20", "via",
                       f"{network}.1")  # fmt: skip
        self.run("router", "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for number, host in enumerate(HOSTS):
            outside = f"{_TAG}c{number}"
            address = f"{_CONTROL.format(100 + number, 2)}/30"
            self._pair(host, "eth0", address, None, outside)
            ip("address", "add", f"{_CONTROL.format(100 + number, 1)}/30", "dev", outside)

    def _await_carrier(self) -> None:
        """Return when the kernel has told every interface that its peer is up.

        It does so by a work queue, up to a second later: a state that is read before is another
        than all that follow.
        """
        until = time.monotonic() + _CARRIER_TIME_S
        for host in HOSTS:
            while "LOWERLAYERDOWN" in (links := self.run(host, "ip", "-o", "link", "show")):
                assert time.monotonic() < until, links
                select.select([], [], [], 0.05)

    def _pair(
        self, host: str, interface: str, address: str, peer: str | None, peer_name: str
    ) -> None:
        there = [] if peer is None else ["netns", peer]
        here = self.namespace(host)
        ip("link", "add", f"{_TAG}x", "type", "veth", "peer", "name", peer_name, *there)
        ip("link", "set", f"{_TAG}x", "netns", here, "name", interface)
        ip("-n", here, "address", "add", address, "dev", interface)
        ip("-n", here, "link", "set", interface, "up")
        ip(*([] if peer is None else ["-n", peer]), "link", "set", peer_name, "up")

    def _serve(self) -> None:
        lines = []
        # `ip netns exec` begins a mount namespace, too.
        each = "".join(f"mount -t tmpfs none {shlex.quote(name)} && " for name in self.own)
        mounts = ["sh", "-c", each + 'exec "$@"', "sh"]
        for number, host in enumerate(HOSTS):
            clock: list[str] = []
            if host in self.ahead_s:
                clock = ["unshare", "--time", "--monotonic", str(self.ahead_s[host])]
            self.servers[host] = sshd.start(
                self.folder / host,
                _CONTROL.format(100 + number, 2),
                PORT,
                inside=[*self.inside(host), *clock, *mounts],
            )
            server = self.servers[host]
            lines.append(f"        {host}:\n          ansible_host: {server.host}\n")
            lines.append(f"          ansible_ssh_private_key_file: {server.key}\n")
            known = f"-o UserKnownHostsFile={server.known_hosts}"
            lines.append(f"          ansible_ssh_common_args: {known}\n")
        head = f"all:\n  vars: {{ansible_user: root, ansible_port: {PORT}}}\n"
        head += "  children:\n    lab:\n      hosts:\n"
        self.inventory.write_text(head + "".join(lines))

    def received_bytes(self, host: str) -> int:
        """Return how many bytes have come to a host's eth1."""
        # Read by way of the host's server, without a process for each look.
        process = self.servers[host].process.pid
        table = Path(f"/proc/{process}/net/dev").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in table if line.split()[0] == "eth1:")

    def agents(self, host: str) -> list[int]:
        """Return an agent's processes: cleanup process, worker and the watcher of the load."""
        namespace = Path(f"/run/netns/{self.namespace(host)}").stat().st_ino
        parents = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                here = (entry / "ns" / "net").stat().st_ino == namespace
                if here and b"orchestrator.testbed.lab.agent" in words and b"python3" in words[0]:
                    parents[int(entry.name)] = sshd.parent(int(entry.name))
        return sorted(parents, key=lambda process: _generation(process, parents))

    def users(self, host: str) -> list[int]:
        """Return the users of the processes of users' programs on a host, one for each process."""
        namespace = Path(f"/run/netns/{self.namespace(host)}").stat().st_ino
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                here = entry.name.isdigit() and (entry / "ns" / "net").stat().st_ino == namespace
                if here and entry.stat().st_uid >= FIRST_USER:
                    found.append(entry.stat().st_uid)
        return sorted(found)

    def state(self) -> dict[str, object]:
        """Return what may not be other after a run than before, of all hosts."""
        found: dict[str, object] = {"folders": sorted(map(str, Path("/run").glob("tcp-orch*")))}
        for host in HOSTS:
            said = self.run(host, "sh", "-c", _STATE).splitlines()
            # Of sockets only those that listen: of a run's last ones something is seen for a while.
            found[host] = [line for line in said if not line.startswith("socket ")]
            table = (line.split() for line in said if line.startswith("socket "))
            found[f"{host} listens"] = sorted(words[2] for words in table if words[4] == "0A")
            found[f"{host} users"] = self.users(host)
            found[f"{host} agents"] = self.agents(host)
        return found

    def close(self) -> None:
        """End the servers and take the namespaces away."""
        for server in self.servers.values():
            for process in self._sessions(server.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            server.stop()
        self._remove_namespaces()
        os.close(self._lock)

    def _named(self) -> list[str]:
        """Return the names of the namespaces that there are."""
        names = [self.namespace(name) for name in (*HOSTS, *SIDES)]
        return [name for name in names if Path(f"/run/netns/{name}").exists()]

    def _remove_left(self) -> None:
        """Remove what a killed process has left."""
        for name in self._named():
            words = ["ip", "netns", "pids", name]
            for process in subprocess.run(words, capture_output=True, check=True).stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        self._remove_namespaces()
        _remove_folders_of_ended_namespaces()

    def _remove_namespaces(self) -> None:
        for end in ("x", *(f"c{number}" for number in range(len(HOSTS)))):
            words = ["ip", "link", "del", f"{_TAG}{end}"]
            subprocess.run(words, check=False, stderr=subprocess.DEVNULL)
        for name in self._named():
            ip("netns", "del", name)

    def _sessions(self, server: int) -> list[int]:
        return sshd.children(server)


@contextlib.contextmanager
def lab(folder: Path, ahead_s: Mapping[str, int] | None = None) -> Iterator[Lab]:
    """Yield five hosts."""
    with Lab(folder, ahead_s or {}) as hosts:
        yield hosts


def _remove_folders_of_ended_namespaces() -> None:
    """Remove agents' folders in ``/run`` whose network namespace no process has any more.

    Their hosts are gone, so no agent would. A new namespace may get the number of an old one: an
    agent there would then remove such a folder during a test, which sees a state that changed.
    """
    alive = set()
    for namespace in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            alive.add(str(namespace.stat().st_ino))
    for number in Path("/run").glob("tcp-orchestrator.*/namespace"):
        with contextlib.suppress(FileNotFoundError):
            ours = number.read_text(encoding="ascii")
            if ours and ours not in alive:  # Empty: its host writes it at this moment.
                shutil.rmtree(number.parent)


def _generation(process: int, parents: Mapping[int, int]) -> int:
    """Return how many of them a process descends from; numbers do not say, as they begin anew."""
    parent = parents[process]
    return 1 + _generation(parent, parents) if parent in parents else 0
