"""A connection to a lab host, with a folder there that holds this project's code."""

from __future__ import annotations

import json
from collections.abc import Callable

from orchestrator.backends.bed_code import bed_code
from orchestrator.backends.remote.ssh import Address, RemoteMachine, RemoteProgram, SshConnections
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


class UnfitHost(RemoteError):
    """A host cannot take part; ``fix`` is the command or action that helps."""

    def __init__(self, message: str, fix: str) -> None:
        self.fix = fix
        super().__init__(message)


def address_of(host: InventoryHost) -> Address:
    """Return the SSH address of a host of an inventory."""
    return Address(
        host.name, host.address, host.port, host.user, host.key, host.known_hosts,
        root_by_sudo=host.become,
    )  # fmt: skip


class LabConnection:
    """A connected host, created by ``open``.

    Args:
        remote: the connection.
        host: the host's entry in the inventory.
        place: the path of our folder on the host.
    """

    def __init__(self, remote: RemoteMachine, host: InventoryHost, folder: str) -> None:
        self.remote, self.host, self.place = remote, host, folder

    @classmethod
    def open(cls, fleet: SshConnections, host: InventoryHost) -> LabConnection:
        """Connect to a host and copy our code into a new folder there.

        Raises:
            UnfitHost: it cannot be reached, lacks Python, or does not give root; with the fix.
            RemoteError: the connection was lost.
        """
        try:
            remote = fleet.connect(address_of(host))
        except RemoteError as error:
            fix = "make `ssh` reach it with the values in the inventory (ansible_host ...)"
            raise UnfitHost(str(error), fix) from None
        done = remote.run([host.python, "-c", _MAKE_PLACE], root=True)
        if done.status:
            if host.become and "sudo" in done.error_line:
                fix = "put `USER ALL=(ALL) NOPASSWD: ALL` into /etc/sudoers.d, or log in as root"
                raise UnfitHost(f"sudo refuses: {done.error_line}", fix)
            fix = "apt-get install python3, or name it with ansible_python_interpreter"
            raise UnfitHost(f"{host.python} does not run: {done.error_line}", fix)
        version, folder = json.loads(done.stdout)
        if folder is None:
            raise UnfitHost(
                "the login there is not root", "ansible_user: root, or ansible_become: true"
            )
        if tuple(version) < LEAST_PYTHON:
            python_version = ".".join(map(str, version))
            remote.run(["rm", "-rf", "--", folder], root=True)
            raise UnfitHost(f"its Python is {python_version}", "a system with Python 3.10 or later")
        connection = cls(remote, host, folder)
        remote.put(bed_code(), folder, root=True)
        return connection

    def survey(self, question: SurveySpec) -> SurveyAnswer:
        """Return the host's answer to a question; testbed/lab/survey.py answers."""
        command = self._words("orchestrator.testbed.lab.survey")
        given = json.dumps(question).encode()
        output = self.remote.require(command, stdin=given, root=True, timeout_s=SURVEY_S)
        answer: SurveyAnswer = json.loads(output)
        return answer

    def start_agent(
        self, on_line: Callable[[bytes], None], ended: Callable[[int | None], None]
    ) -> RemoteProgram:
        """Start the agent (testbed/lab/agent.py), which removes the folder when it ends."""
        return self.remote.start(
            self._words("orchestrator.testbed.lab.agent"), on_line, ended, root=True
        )

    def remove(self) -> None:
        """Remove our folder."""
        self.remote.require(["rm", "-rf", "--", self.place], root=True)

    def _words(self, module: str) -> list[str]:
        return ["env", f"PYTHONPATH={self.place}", self.host.python, "-m", module, self.place]
