"""The Vagrant machine of the tests: its commands, their output and durations."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.vagrant import sessions

PROJECT = Path(__file__).resolve().parents[2]
BOX = "orchestrator-test/debian-12"
NAME = "orchestrator"
_RULE = "=========="
ORCHESTRATOR = PROJECT / ".venv" / "bin" / "orchestrator"


@dataclass
class Done:
    """The exit status of a command, and its output."""

    status: int
    said: str
    errors: str = ""


@dataclass
class Machine:
    """``folder`` takes the box, Vagrant's home, logs and ``times.json``.

    ``guest`` is done when the guest kernel is there that the machine is compared to, and
    ``utilisation`` is what is compared. ``sessions`` are those of running commands, by title, that
    were to have one of their own.
    """

    folder: Path
    guest: Future[Done] = field(default_factory=Future)
    utilisation: float | None = None
    sessions: dict[str, int] = field(default_factory=dict)
    times_s: dict[str, float] = field(default_factory=dict)
    _noting: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.environment = {
            **os.environ,
            "VAGRANT_HOME": str(self.folder / "home"),
            "VAGRANT_DEFAULT_PROVIDER": "libvirt",
            "VAGRANT_CHECKPOINT_DISABLE": "1",
            "ANSIBLE_CONFIG": str(PROJECT / "playbooks" / "ansible.cfg"),
            "ORCHESTRATOR_VM_BOX": BOX,
            "ORCHESTRATOR_VM_DRIVER": "qemu",
        }

    def run(
        self, title: str, *words: str | Path, good: tuple[int, ...] = (0,), session: bool = False
    ) -> Done:
        """Run a command in the project's folder, timed; ``title`` names its log."""
        began = time.monotonic()
        said: dict[str, list[str]] = {"stdout": [], "stderr": []}
        with (self.folder / "logs" / f"{title.replace(' ', '-')}.log").open("w") as log:
            log.write(f"$ {' '.join(map(str, words))}\n")

            def follow(name: str, pipe: IO[str]) -> None:
                for line in pipe:
                    said[name].append(line)
                    log.write(f"{time.monotonic() - began:7.1f} {line}")
                    log.flush()  # one step takes a quarter of an hour

            with subprocess.Popen(
                words,
                cwd=PROJECT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=session,
            ) as process:
                if session:
                    self.sessions[title] = process.pid
                assert process.stdout
                assert process.stderr
                readers = [
                    threading.Thread(target=follow, args=pair)
                    for pair in (("stdout", process.stdout), ("stderr", process.stderr))
                ]
                for reader in readers:
                    reader.start()
                for reader in readers:
                    reader.join()
            self.sessions.pop(title, None)  # its number may become another's
        done = Done(process.returncode, "".join(said["stdout"]), "".join(said["stderr"]))
        with self._noting:  # some commands run beside others
            self.times_s[title] = round(time.monotonic() - began, 1)
            (self.folder / "times.json").write_text(json.dumps(self.times_s, indent=1))
        sys.stderr.write(f"{title}: {self.times_s[title]:.0f} s, status {done.status}\n")
        assert done.status in good, (done.said + done.errors)[-6000:]
        return done

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Pause other commands that were started here, so that the machine runs alone."""
        if self.guest.done():
            self.guest.result()  # or what has failed would be known at the end only
        with contextlib.ExitStack() as until_then:
            for session in list(self.sessions.values()):
                until_then.enter_context(sessions.stopped(session))
            yield

    def vagrant(self, title: str, *words: str) -> Done:
        """Run Vagrant."""
        return self.run(title, "vagrant", *words)

    def inside(self, title: str, command: str, good: tuple[int, ...] = (0,)) -> Done:
        """Run a command in the machine, as a user does."""
        return self.run(title, "vagrant", "ssh", NAME, "-c", command, good=good)

    def look(self, title: str, *commands: str) -> list[str]:
        """Run commands by one SSH connection, which takes seconds to open; return their output.

        Only the last one's exit status counts.
        """
        said = self.inside(title, f"; echo {_RULE}; ".join(commands)).said
        return [each.strip() for each in said.split(_RULE)]

    def inventory(self, title: str, groups: Iterable[str]) -> Path:
        """Write a play's inventory, in which the machine is of those groups; return the file.

        `vagrant ssh-config` locks the machine, so no other Vagrant command may run meanwhile.
        """
        told = self.vagrant("ssh-config", "ssh-config", NAME).said.split()
        values = {
            "ansible_host": told[told.index("HostName") + 1],
            "ansible_port": int(told[told.index("Port") + 1]),
            "ansible_user": told[told.index("User") + 1],
            "ansible_ssh_private_key_file": told[told.index("IdentityFile") + 1].strip('"'),
            "ansible_ssh_common_args": "-o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no"
            " -o ControlMaster=auto -o ControlPersist=60s",
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        path = self.folder / f"inventory-{title.replace(' ', '-')}.json"
        path.write_text(
            json.dumps({group: {"hosts": {"machine": values}} for group in groups}),
            encoding="utf-8",
        )
        return path

    def play(self, title: str, playbook: str, inventory: Path, *words: str) -> dict[str, int]:
        """Play a playbook from this host against the machine of an inventory.

        Returns:
            The counts of the recap.
        """
        told = self.run(
            title,
            "/usr/bin/ansible-playbook",  # Debian's, as in the machine; the newest takes longer
            f"--inventory={inventory}",
            *words,
            f"playbooks/{playbook}",
        )
        return recap(told.said)


def recap(said: str) -> dict[str, int]:
    """Return the counts (ok, changed, failed ...) of the last recap in Ansible's output."""
    line = said.rsplit("PLAY RECAP", 1)[1].strip().splitlines()[1]
    counts: dict[str, Any] = dict(word.split("=") for word in line.split() if "=" in word)
    return {name: int(count) for name, count in counts.items()}
