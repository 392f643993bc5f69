"""A lab host while a controller is connected to it: a folder of its own there, with our code."""

from __future__ import annotations

import json
from collections.abc import Callable

from orchestrator.backends.bed_code import bed_code
from orchestrator.backends.remote.ssh import Address, Fleet, Program, Remote
from orchestrator.errors import RemoteError
from orchestrator.protocol.examination import SurveyAnswer, SurveySpec
from orchestrator.scenario.inventory import InventoryHost

LEAST_PYTHON = (3, 10)
SURVEY_S = 120.0

_MAKE_PLACE = """
import json, os, sys, tempfile
place = tempfile.mkdtemp(prefix="tcp-orchestrator.", dir="/run") if os.geteuid() == 0 else None
if place is not None:
    with open(place + "/namespace", "w") as file:
        file.write(str(os.stat("/proc/self/ns/net").st_ino))
print(json.dumps([list(sys.version_info[:3]), place]))
"""


class Unfit(RemoteError):
    """A host cannot take part; ``fix`` is what cures it."""

    def __init__(self, message: str, fix: str) -> None:
        self.fix = fix
        super().__init__(message)


def address_of(host: InventoryHost) -> Address:
    """Return how SSH reaches a host of an inventory."""
    return Address(
        host.name, host.address, host.port, host.user, host.key, host.known_hosts,
        root_by_sudo=host.become,
    )  # fmt: skip


class LabConnection:
    """A connected host. ``open`` makes one.

    Args:
        remote: the connection.
        host: what the inventory says of it.
        place: our folder there.
    """

    def __init__(self, remote: Remote, host: InventoryHost, place: str) -> None:
        self.remote, self.host, self.place = remote, host, place

    @classmethod
    def open(cls, fleet: Fleet, host: InventoryHost) -> LabConnection:
        """Connect to a host and lay our code into a new folder there.

        Raises:
            Unfit: it cannot be reached, or has no Python, or not the rights; with the fix.
            RemoteError: it was lost on the way.
        """
        try:
            remote = fleet.connect(address_of(host))
        except RemoteError as error:
            fix = "see that `ssh` gets there with what the inventory says (ansible_host ...)"
            raise Unfit(str(error), fix) from None
        done = remote.run([host.python, "-c", _MAKE_PLACE], root=True)
        if done.status:
            if host.become and "sudo" in done.complaint:
                fix = "let it: `USER ALL=(ALL) NOPASSWD: ALL` in /etc/sudoers.d, or root as user"
                raise Unfit(f"sudo does not let us: {done.complaint}", fix)
            fix = "apt-get install python3, or name it: ansible_python_interpreter"
            raise Unfit(f"{host.python} does not run: {done.complaint}", fix)
        version, place = json.loads(done.stdout)
        if place is None:
            raise Unfit("we are not root there", "ansible_user: root, or ansible_become: true")
        if tuple(version) < LEAST_PYTHON:
            told = ".".join(map(str, version))
            remote.run(["rm", "-rf", "--", place], root=True)
            raise Unfit(f"its Python is {told}", "a system with Python 3.10 or later")
        connection = cls(remote, host, place)
        remote.put(bed_code(), place, root=True)
        return connection

    def survey(self, question: SurveySpec) -> SurveyAnswer:
        """Return the host's answer to a question; testbed/lab/survey.py answers."""
        words = self._words("orchestrator.testbed.lab.survey")
        given = json.dumps(question).encode()
        said = self.remote.require(words, given=given, root=True, timeout_s=SURVEY_S)
        answer: SurveyAnswer = json.loads(said)
        return answer

    def start_agent(
        self, took: Callable[[bytes], None], ended: Callable[[int | None], None]
    ) -> Program:
        """Start the agent (testbed/lab/agent.py), which takes the folder away at its end."""
        return self.remote.start(
            self._words("orchestrator.testbed.lab.agent"), took, ended, root=True
        )

    def remove(self) -> None:
        """Take our folder away."""
        self.remote.require(["rm", "-rf", "--", self.place], root=True)

    def _words(self, module: str) -> list[str]:
        return ["env", f"PYTHONPATH={self.place}", self.host.python, "-m", module, self.place]
