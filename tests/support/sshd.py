"""An SSH server of a test's own: own keys and settings, on loopback or in a network namespace."""

from __future__ import annotations

import contextlib
import getpass
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.backends.remote.ssh import Address

_READY_S = 10.0


@dataclass(frozen=True)
class Server:
    """A running sshd; ``key`` opens it, and ``known_hosts`` knows it."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    key: Path
    known_hosts: Path

    def address(self, name: str = "there") -> Address:
        """Return how it is reached."""
        user = getpass.getuser()
        return Address(name, self.host, self.port, user, self.key, self.known_hosts)

    def stop(self) -> None:
        """End the server; connections that it has accepted go on."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def start(
    folder: Path,
    host: str = "127.0.0.1",
    port: int | None = None,
    *,
    inside: Sequence[str] = (),
    pid_file: str = "none",
) -> Server:
    """Start an sshd on a free port of ``host``, by way of the command ``inside``."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    if port is None:
        with socket.socket() as free:
            free.bind((host, 0))
            port = int(free.getsockname()[1])
    host_key, key = folder / "host_key", folder / "key"
    for each in (host_key, key):
        if not each.exists():
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(each)]
            subprocess.run(words, check=True)
    allowed = folder / "authorized_keys"
    allowed.write_bytes(key.with_name("key.pub").read_bytes())
    public = host_key.with_name("host_key.pub").read_text().split()[:2]
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(f"[{host}]:{port} {' '.join(public)}\n")
    settings = {
        "ListenAddress": f"{host}:{port}",
        "HostKey": str(host_key),
        "AuthorizedKeysFile": str(allowed),
        "PidFile": pid_file,
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "UsePAM": "no",
        "UseDNS": "no",
        "StrictModes": "no",
        # So bash takes itself for one within a shell, and leaves ~/.bashrc of this machine's user
        # alone: what is there may take seconds at each command.
        "SetEnv": "SHLVL=1",
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    Path("/run/sshd").mkdir(exist_ok=True)  # where it confines what is not logged in yet
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen(
            [*inside, "/usr/sbin/sshd", "-D", "-e", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    server = Server(process, host, port, key, known_hosts)
    _await_words(process, folder / "sshd.log", "Server listening on")
    return server


def _await_words(process: subprocess.Popen[bytes], log: Path, words: str) -> None:
    """Return once the log holds these words."""
    deadline = time.monotonic() + _READY_S
    while words not in (said := log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"sshd does not listen: {said}")
        time.sleep(0.01)  # between two looks


def parent(process: int) -> int:
    """Return the process that has started another; OSError: that one has ended."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def children(process: int) -> list[int]:
    """Return the processes that a process has started and that run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                if parent(int(entry.name)) == process:
                    found.append(int(entry.name))
    return found


def sessions(server: int) -> list[int]:
    """Return the processes of a server that hold its connections, not what users run in them.

    From OpenSSH 9.8 on, a connection has a monitor and, below it, the process that serves it.
    """
    found: list[int] = []
    for process in children(server):
        with contextlib.suppress(OSError):  # it has ended
            if Path(f"/proc/{process}/comm").read_text().startswith("sshd"):
                found += [process, *sessions(process)]
    return found
