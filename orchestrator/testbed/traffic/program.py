"""Any program as traffic: a server at one host, and a client at the other.

The server starts at the flow's start time, and the client when the server is ready: when the kernel
lists a socket at its port. The flow ends when the client does, at its stop time, or when its time
is over. Both programs are killed then, with all processes that they have started.

In a lab the two programs can be on two machines. Each end then starts and ends its own, and the
ends tell each other when the server is ready and when an end is over (lab/peers.py).

How the programs end is a result, and no failure of the run.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import select
import shutil
import threading

from orchestrator.protocol.engines import PROGRAM_PROCESSES
from orchestrator.protocol.programs import (
    CLIENT,
    ENDED,
    NOT_READY,
    OUT_OF_TIME,
    OUTPUT,
    OVER,
    PROGRAM,
    READY,
    SEARCH_PATH,
    SERVER,
    STOPPED,
)
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import read_sysctl
from orchestrator.testbed.programs.extraction import extracted
from orchestrator.testbed.programs.keeping import Kept, KeptFolder
from orchestrator.testbed.programs.launcher import FILES, SCRATCH
from orchestrator.testbed.programs.running import RunningProgram
from orchestrator.testbed.traffic import FlowEngine

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.engine_parameters import ProgramParameters, ReadySpec
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed, Peer
    from orchestrator.testbed.programs.launcher import LaunchRequest
    from orchestrator.testbed.traffic import EngineClass, Services

_SCRATCH_BYTES = 256 << 20
_OPEN_FILES = 4096
_CONTROL = "net.ipv4.tcp_congestion_control"
_FIRST_UID, _MOST_UIDS = 20_000, 65_000
_POLL_NS = 1_000_000
_STATE_OF_READY = {"tcp": "0A", "udp": "07"}
"""TCP_LISTEN, and TCP_CLOSE of a UDP socket that is bound (include/net/tcp_states.h)."""


class ProgramFlow(FlowEngine):
    """A server and a client, of which one sends most data."""

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        self._parameters: ProgramParameters = spec["parameters"]
        self._extract = self._parameters.get("extract", {})
        self._keep_of = self._parameters.get("keep", {})
        self._kept_folders: dict[str, KeptFolder] = {}
        self._bed = bed
        ends = (spec["source"], spec["sink"])
        server, client = ends if spec["server"] == "source" else ends[::-1]
        self._hosts = {SERVER: server, CLIENT: client}
        number = spec.get("number", bed.spec["flows"].index(spec))
        self._here = {role: bed.holds(host) for role, host in self._hosts.items()}
        self._peer: Peer | None = None if all(self._here.values()) else bed.peer(number)
        first = 2 * number
        self._uids = {SERVER: _free_uid(first), CLIENT: _free_uid(first + 1)}
        self._files = None
        if self._parameters["files"] is not None:
            self._files = _own_copy(bed, self._parameters["files"])
        self._origin_ns = 0
        self._programs: dict[str, RunningProgram] = {}
        self._stop_read, self._stop_write = os.pipe()
        self._over = threading.Event()

    def start(self, origin_ns: int) -> None:
        """Start the thread that starts the programs."""
        self._origin_ns = origin_ns
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """End the programs: the flow's stop time has come."""
        os.write(self._stop_write, b"s")
        self._over.wait()

    def finish(self) -> None:
        """End the programs, and record how they ended."""
        self.stop()
        for role, program in self._programs.items():
            self.services.program(role=role, **program.report())
        if CLIENT in self._programs and self._extract:
            self.services.extracted(extracted(self._programs[CLIENT].printed(), self._extract))
        for role, folder in self._kept_folders.items():
            self._keep(role, folder)

    def _keep(self, role: str, folder: KeptFolder) -> None:
        try:
            folder.freeze()
            patterns, room_bytes = self._keep_of[role], self.services.room_to_keep_bytes()
            self.services.kept(role, Kept(folder.path, patterns, room_bytes))
        except OSError as error:
            self.services.problem(f"keep: the files of the {role} cannot be read: {error}")

    def _run(self) -> None:
        try:
            system.Timer().sleep_until(self._origin_ns + self.spec["start_ns"])
            self._run_programs()
        except Exception as error:  # noqa: BLE001 - a thread of its own: the run has to know
            self.services.problem(f"program: {error!r}")
        finally:
            for program in self._programs.values():
                program.end(STOPPED, self._now_ns())
            if self._peer is not None:
                self._peer.tell(OVER)
            self._over.set()

    def _run_programs(self) -> None:
        parameters = self._parameters
        last_ns = None
        if parameters["timeout_ns"] is not None:
            last_ns = self.spec["start_ns"] + parameters["timeout_ns"]
        if self._bed.holds(self.spec["source"]):
            with self._bed.enter(self.spec["source"]):
                self.services.congestion(str(read_sysctl(_CONTROL)))
        if self._here[SERVER] and parameters["server"] is not None:
            self._start_program(SERVER, parameters["server"])
        if not self._may_ask(last_ns):
            return
        if self._here[CLIENT]:
            client = self._start_program(CLIENT, parameters["client"])
            client.end(self._watch(client, last_ns), self._now_ns())
        else:
            self._watch(None, None)  # until the other end is over

    def _may_ask(self, last_ns: int | None) -> bool:
        """Wait until the client may start, here or at the other end; return False if it may not."""
        ready = self._parameters["ready"]
        if ready is None:
            return True
        if not self._here[SERVER]:
            return self._watch(None, last_ns) == READY
        is_ready = self._is_ready_before(ready, last_ns)
        if is_ready and self._peer is not None:
            self._peer.tell(READY)
        return is_ready

    def _start_program(self, role: str, arguments: list[str]) -> RunningProgram:
        has_files = self._files is not None
        if "/" in arguments[0] and not arguments[0].startswith("/"):
            arguments = [f"{FILES}/{arguments[0]}", *arguments[1:]]
        if role in self._keep_of:
            uid = self._uids[role]
            path = f"{self._bed.program_folder}/scratch/{uid}"
            self._kept_folders[role] = KeptFolder(path, uid, _SCRATCH_BYTES)
        request: LaunchRequest = {
            "arguments": arguments,
            "environment": {
                "PATH": SEARCH_PATH,
                "HOME": SCRATCH,
                "TMPDIR": SCRATCH,
                "LANG": "C.UTF-8",
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
                **({"FILES": FILES} if has_files else {}),
                **self._parameters["env"],
            },
            "folder": FILES if has_files and role == SERVER else SCRATCH,
            "files": self._files,
            "names": self._names(),
            "uid": self._uids[role],
            "scratch": self._kept_folders[role].path if role in self._kept_folders else None,
            "scratch_bytes": _SCRATCH_BYTES,
            "processes": PROGRAM_PROCESSES,
            "open_files": _OPEN_FILES,
            "status": -1,
            "rank": None,
            "parent": None if self._peer is None else os.getpid(),
        }
        # Of two programs that wait for each other without a pause, the server runs first.
        kept = {one["stream"] for one in self._extract.values()} if role == CLIENT else ()
        program = RunningProgram(
            self._bed.host(self._hosts[role]), request, role == CLIENT, self._now_ns(), kept
        )
        self._programs[role] = program
        return program

    def _names(self) -> str:
        """Return the text of /etc/hosts: all hosts, and "server" and "client" of this flow."""
        roles = {host: role for role, host in self._hosts.items()}
        lines = [
            f"{address} {host} {roles.get(host, '')}".rstrip()
            for host, address in self._bed.names().items()
        ]
        return "\n".join(["127.0.0.1 localhost", *lines]) + "\n"

    def _is_ready_before(self, ready: ReadySpec, last_ns: int | None) -> bool:
        """Wait for the server's socket; return False when its end or the end of its time comes."""
        server = self._programs.get(SERVER)
        while True:
            # In a guest the server runs to its next wait before this thread goes on.
            ended_by = self._watch(server, self._now_ns() + _POLL_NS)
            if ended_by == OUT_OF_TIME and self._has_socket(ready):
                return True
            if ended_by == OUT_OF_TIME and last_ns is not None and self._now_ns() >= last_ns:
                ended_by = NOT_READY
            if ended_by != OUT_OF_TIME:
                if server is not None:
                    server.end(NOT_READY if ended_by == STOPPED else ended_by, self._now_ns())
                return False

    def _has_socket(self, ready: ReadySpec) -> bool:
        """Tell whether the kernel lists the server's socket."""
        port, state = f":{ready['port']:04X}", _STATE_OF_READY[ready["transport"]]
        with (
            self._bed.enter(self._hosts[SERVER]),
            open(f"/proc/thread-self/net/{ready['transport']}") as table,
        ):
            rows = (line.split() for line in table)
            return any(row[1].endswith(port) and row[3] == state for row in rows)

    def _watch(self, program: RunningProgram | None, until_ns: int | None) -> str:
        """Read what both programs print until one has ended, or a time has come.

        Returns:
            ENDED when ``program`` has ended, OUTPUT when a program has printed too much (which has
            been ended then), STOPPED when the flow ends, here or at the other end, OUT_OF_TIME at
            ``until_ns``, READY when the other end's server is ready.
        """
        watched = {
            stream: running
            for running in self._programs.values()
            if running.is_running
            for stream in running.streams
        }
        timer = system.Timer()
        with contextlib.closing(select.epoll()) as poll:
            for descriptor in (*watched, self._stop_read, timer.fd):
                poll.register(descriptor, select.EPOLLIN)
            if program is not None:
                poll.register(program.exit_fd, select.EPOLLIN)
            if self._peer is not None:
                poll.register(self._peer, select.EPOLLIN)
            if until_ns is not None:
                timer.arm(self._origin_ns + until_ns)
            reasons: set[str] = set()
            while not reasons:
                for descriptor, _events in poll.poll():
                    if descriptor in watched:
                        if self._has_printed_too_much(watched[descriptor], descriptor, poll):
                            reasons.add(OUTPUT)
                            break
                    elif descriptor == self._stop_read:
                        reasons.add(STOPPED)
                    elif descriptor == timer.fd:
                        reasons.add(OUT_OF_TIME)
                    elif self._peer is not None and descriptor == self._peer.fileno():
                        reasons |= {_REASON_OF_SIGNAL[told] for told in self._peer.take()}
                    else:
                        reasons.add(ENDED)
        os.close(timer.fd)
        return next(reason for reason in _BY_WEIGHT if reason in reasons)

    def _has_printed_too_much(
        self, program: RunningProgram, stream: int, poll: select.epoll
    ) -> bool:
        """Read a stream; end its program and return True when that has printed too much."""
        if not program.read(stream):
            poll.unregister(stream)
        elif program.prints_too_much:
            program.end(OUTPUT, self._now_ns())
            return True
        return False

    def _now_ns(self) -> int:
        return system.monotonic_ns() - self._origin_ns


_BY_WEIGHT = (OUTPUT, ENDED, STOPPED, READY, OUT_OF_TIME)
"""Which reason counts of several at a time."""

_REASON_OF_SIGNAL = {READY: READY, OVER: STOPPED}


def _free_uid(number: int) -> int:
    """Return the user id of a program, which no account of the machine has."""
    uid = _FIRST_UID + number
    with contextlib.suppress(KeyError):
        while uid < _MOST_UIDS:
            pwd.getpwuid(uid)
            uid += _FIRST_UID
    return uid


def _own_copy(bed: Bed, folder: str) -> str:
    """Copy a folder of the bed's input to where every user can read it, and return its path.

    A program then reads nothing of the machine that the bed runs on. Flows share a copy.
    """
    source = f"{bed.input_folder}/{folder}"
    target = f"{bed.program_folder}/programs/{source.replace('/', '-')}"
    if not os.path.isdir(target):
        shutil.copytree(source, target)
        for place, _folders, names in os.walk(target):
            for name in (".", *names):
                os.chmod(f"{place}/{name}", 0o755)
    return target


ENGINES: dict[str, EngineClass] = {PROGRAM: ProgramFlow}
