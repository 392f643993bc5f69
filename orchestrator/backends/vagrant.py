"""The back end ``vagrant``: the bed of ``local`` inside the project's Vagrant machine.

The machine needs only Debian's packages and the modules: each run copies the test bed's code there.
The remote supervisor (``testbed/remote_supervisor.py``) watches the bed there. The bed's files are
copied back, and decoded and stored as if the bed had run on this machine.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.backends import local, process
from orchestrator.backends.bed_code import PROJECT, bed_code
from orchestrator.backends.contract import (
    WATCHDOG_S,
    BackendOptions,
    Examination,
    Finding,
    Report,
    RunContext,
    Traits,
)
from orchestrator.backends.progress import ProgressMonitor, parse_progress
from orchestrator.backends.remote.ssh import (
    Address,
    RemoteMachine,
    RemoteProgram,
    SshConnections,
    files_of,
)
from orchestrator.decode.assemble import Machine, assemble, decoder
from orchestrator.decode.output import malformed
from orchestrator.errors import BedError, MachineError, RemoteError
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import examination
from orchestrator.recording.model import Recording

NAME = "orchestrator"
WHAT = "the Vagrant machine"
_STORE = "/var/tmp"
"""A folder on the machine's disk, because a long run's files may not fit into memory (/run)."""
_VAGRANT_S = 120.0
_PREFLIGHT_S = 120.0
_WAKE_S = 0.2
_GONE_S = 30.0
_MOST_DIGITS = 18


TRAITS = local.TRAITS


@dataclass
class Vagrant:
    """One run at a time in the machine."""

    watchdog_s: float = WATCHDOG_S
    name: str = field(default="vagrant", init=False)
    traits: Traits = field(default=TRAITS, init=False)
    unconfined: bool = field(default=False, init=False)
    _address: Address | None = field(default=None, init=False)
    _memory_bytes: int = field(default=0, init=False)

    def prepare(self, plan: Plan) -> None:
        """Check that the machine is running and has what the plan's runs need."""
        needs = local.needs(plan.runs)
        self._address = address()
        with SshConnections() as fleet:
            try:
                remote = fleet.connect(self._address)
                findings = _ask(remote, needs)
                self._memory_bytes = _memory_bytes(remote)
            except RemoteError as error:
                raise MachineError(str(error), "vagrant reload") from None
        local.require_all(_with_fix_here(findings), WHAT)

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Run one planned run in the machine and return its recording.

        Raises:
            RemoteError: the machine was lost.
            BedError: the bed ended early, hung or failed; with its last output.
        """
        assert self._address is not None, "prepare comes first"
        folder = context.folder
        modules = local.write_input(spec, folder, memory_bytes=self._memory_bytes)
        (folder / "out").rmdir()  # fetched from the machine
        with SshConnections() as fleet:
            monitor = ProgressMonitor(
                "the bed", spec.duration_s, context.bounds.wall_s, self.watchdog_s
            )
            bed = _BedInMachine(fleet.connect(self._address), context, report, monitor)
            try:
                bed.go()
            finally:
                text = "".join(f"{line}\n" for line in bed.error_lines)
                (folder / "console").write_text(text, encoding="utf-8")
        process.require_done(context, spec.duration_s, "the bed")
        machine = Machine(_provenance())
        return assemble(
            spec, context.output, context.console, decoder(spec, context.output), modules, machine
        )

    def close(self) -> None:
        """Do nothing: no resource outlives a run."""


def make(_options: BackendOptions) -> Vagrant:
    """Return the back end."""
    return Vagrant()


def examine() -> Examination:
    """Return what the machine lacks for any run at all."""
    if shutil.which("vagrant") is None:
        return Examination([], "Vagrant is not installed")
    if _machine_folder() is None:
        return Examination([], "there is no machine: vagrant up")
    try:
        there = address()
        with SshConnections() as fleet:
            findings = _ask(fleet.connect(there), local.ANY_RUN)
    except MachineError as error:
        return Examination([Finding("machine", False, str(error).partition("\n")[0], error.fix)])
    except RemoteError as error:
        return Examination([Finding("machine", False, str(error), "vagrant reload")])
    up = Finding("machine", True, str(there))
    return Examination([up, *(Finding(**finding) for finding in _with_fix_here(findings))])


def address() -> Address:
    """Return the machine's SSH address, which Vagrant prints.

    Raises:
        MachineError: Vagrant is not installed, or the machine is not running.
    """
    command = ["vagrant", "ssh-config", NAME]
    try:
        completed = subprocess.run(
            command,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_VAGRANT_S,
        )
    except FileNotFoundError:
        raise MachineError(
            "Vagrant is not installed", "install it with VirtualBox or libvirt, then: vagrant up"
        ) from None
    except subprocess.TimeoutExpired:
        text = f"`{' '.join(command)}` gave no answer within {_VAGRANT_S:.0f} s"
        raise MachineError(text, "see what `vagrant status` says") from None
    if completed.returncode:
        error_lines = [line for line in completed.stderr.splitlines() if line.strip()]
        reason = error_lines[0].strip() if error_lines else f"status {completed.returncode}"
        raise MachineError(f"{WHAT} is not running: {reason}", f"vagrant up, in {PROJECT}")
    return read_ssh_config(completed.stdout)


def read_ssh_config(text: str) -> Address:
    """Return the address in what ``vagrant ssh-config`` prints.

    Raises:
        MachineError: the text has no usable address.
    """
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        values.setdefault(key, value.strip().strip('"'))
    try:
        return Address(
            WHAT,
            values["HostName"],
            int(values["Port"]),
            values["User"],
            Path(values["IdentityFile"]),
            any_host_key=True,  # Vagrant created the machine and its key on this host
            root_by_sudo=True,
        )
    except (KeyError, ValueError) as error:
        text = f"`vagrant ssh-config` gives no usable address: {error}"
        raise MachineError(text, "see what `vagrant ssh-config` says") from None


class _BedInMachine:
    """A bed in the machine: copies its code there, runs it, and fetches its files."""

    def __init__(
        self, remote: RemoteMachine, context: RunContext, report: Report, monitor: ProgressMonitor
    ) -> None:
        self._remote, self._context, self._report = remote, context, report
        self._monitor = monitor
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._program: RemoteProgram | None = None

    @property
    def error_lines(self) -> list[str]:
        """The last lines of the supervisor's standard error."""
        return [] if self._program is None else self._program.error_lines

    def go(self) -> None:
        """Run the bed and fetch its ``out``.

        Raises:
            RemoteError: the machine was lost, or the run was interrupted.
            BedError: the bed made no progress, or took too long.
        """
        folder = self._context.folder
        self._report("setup", 0.0)
        there = _new_folder(self._remote)
        files = [*bed_code(), *files_of(folder / "in", "in")]
        self._remote.put(files, there, root=True)
        command = _python(there, "orchestrator.testbed.remote_supervisor", there)
        self._program = self._remote.start(
            command, self._lines.put, lambda _status: self._lines.put(None), root=True
        )
        self._follow()
        self._remote.fetch(
            f"{there}/out", folder / "out", root=True, most_bytes=self._context.bounds.total_bytes
        )
        self._program.end_input()
        if not self._program.wait(_GONE_S):
            raise RemoteError(f"{self._remote.address}: {there} was not removed in time")

    def _follow(self) -> None:
        """Report the bed's progress until the bed has ended."""
        while True:
            try:
                line = self._lines.get(timeout=_WAKE_S)
            except queue.Empty:
                line = b""
            if self._context.stopping.is_set():
                raise RemoteError(f"{self._remote.address}: the run was interrupted")
            if line is None:
                reason = "; ".join(self.error_lines[-3:]) or "the connection ended"
                where = f"lost in phase {self._monitor.phase}"
                raise RemoteError(f"{self._remote.address}: {where}: {reason}")
            parts = line.split()
            if parts[:1] == [b"ended"]:
                return
            try:
                if parts[:1] == [b"progress"]:
                    self._take_progress(parts[1:])
                self._monitor.check()
            except BedError as error:
                raise BedError(str(error), self.error_lines) from None

    def _take_progress(self, parts: list[bytes]) -> None:
        """Note the phase, nanoseconds of traffic and bytes written, from a supervisor's line."""
        phase, simulated_s = parse_progress(b" ".join(parts[:2]), self._monitor.duration_s)
        written = parts[2] if len(parts) == 3 else b""
        if not written.isdigit() or len(written) > _MOST_DIGITS:
            raise malformed(f"the remote supervisor says {b' '.join(parts)[:80]!r}")
        self._report(phase, simulated_s)
        self._monitor.update(phase, simulated_s, int(written))


def _new_folder(remote: RemoteMachine) -> str:
    command = ["mktemp", "--directory", f"{_STORE}/tcp-orchestrator.XXXXXXXX"]
    return remote.require(command, root=True).decode().strip()


def _ask(remote: RemoteMachine, needs: examination.Needs) -> list[examination.Finding]:
    """Return the findings of ``testbed/preflight.py`` in the machine."""
    there = _new_folder(remote)
    try:
        remote.put(bed_code(), there, root=True)
        output = remote.require(
            _python(there, "orchestrator.testbed.preflight"),
            stdin=json.dumps(needs).encode(),
            root=True,
            timeout_s=_PREFLIGHT_S,
        )
    finally:
        remote.require(["rm", "-rf", "--", there], root=True)
    findings: list[examination.Finding] = json.loads(output)
    return findings


def _with_fix_here(findings: list[examination.Finding]) -> list[examination.Finding]:
    """Return findings with the fix outside the machine added to the fix inside it."""
    return [
        finding
        if finding["ok"]
        else {**finding, "fix": f"vagrant provision (inside: {finding['fix']})"}
        for finding in findings
    ]


def _python(there: str, module: str, *arguments: str) -> list[str]:
    path = local.ENVIRONMENT["PATH"]
    return ["env", f"PATH={path}", f"PYTHONPATH={there}", local.SYSTEM_PYTHON, "-B", "-m", module,
            *arguments]  # fmt: skip


def _memory_bytes(remote: RemoteMachine) -> int:
    pages, size = (int(remote.require(["getconf", name])) for name in ("_PHYS_PAGES", "PAGESIZE"))
    return pages * size


def _machine_folder() -> Path | None:
    """Return the folder in which Vagrant keeps the machine's state, None without a machine."""
    ids = sorted((PROJECT / ".vagrant" / "machines" / NAME).glob("*/id"))
    return ids[0].parent if ids else None


def _provenance() -> dict[str, Any]:
    """Return the box and provider of the machine; the bed reports its kernel and programs."""
    folder = _machine_folder()
    if folder is None:
        return {"vagrant": {}}
    meta = folder / "box_meta"
    box = json.loads(meta.read_text(encoding="utf-8")) if meta.exists() else {}
    box_facts = {"provider": folder.name, "box": box.get("name"), "box_version": box.get("version")}
    return {"vagrant": box_facts}
