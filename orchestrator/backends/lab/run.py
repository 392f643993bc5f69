"""Executes one run on lab hosts: starts the agents, sends the origin, watches and ends them.

When an agent's input ends, it undoes all its changes and ends. So closing the connection always
releases a host, whatever fails here.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator import plaintext
from orchestrator.backends import program_files
from orchestrator.backends.contract import Report
from orchestrator.backends.lab.lab_connection import LabConnection
from orchestrator.backends.lab.signals import Signals
from orchestrator.backends.progress import shown_time
from orchestrator.backends.remote.archive import MOST_BYTES, files_of
from orchestrator.backends.remote.ssh import ClockOffset, RemoteProgram, SshConnections, at_once
from orchestrator.errors import RemoteError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.specification import AgentSpec
from orchestrator.protocol.units import nanoseconds
from orchestrator.scenario.inventory import InventoryHost

LEAD_S = 1.0
"""Time between sending the origin and the origin, so that every host gets it before."""
READY_S = 120.0
SILENCE_S = 20.0
"""An agent reports its progress every half second of traffic."""
FREE_S = 20.0
_WAKE_S = 0.2
_SIGNALLED = 128
_GOOD_ENDS = (0, 3)
"""Exit statuses of an agent that has undone all its changes."""

Event = tuple[str, str, Any]
"""(host, "said", line), or (host, "ended", exit status)."""


class Interrupted(RemoteError):
    """The user interrupted the run."""


@dataclass
class LabRun:
    """One run on lab hosts.

    ``documents`` has the specification for each host. ``report`` is called with the progress.
    ``wall_s`` and ``most_bytes`` limit the wall time and the bytes fetched from each host. After
    the run, ``clock_facts`` has the clock measurements of each host.
    """

    fleet: SshConnections
    run: RunSpec
    documents: Mapping[str, AgentSpec]
    stopping: threading.Event
    report: Report
    wall_s: float = math.inf
    most_bytes: int = MOST_BYTES
    clock_facts: list[dict[str, Any]] = field(default_factory=list, init=False)
    _connections: dict[str, LabConnection] = field(default_factory=dict, init=False)
    _programs: dict[str, RemoteProgram] = field(default_factory=dict, init=False)
    _events: queue.SimpleQueue[Event] = field(default_factory=queue.SimpleQueue, init=False)
    _statuses: dict[str, int | None] = field(default_factory=dict, init=False)
    _reached_ns: dict[str, int] = field(default_factory=dict, init=False)
    _began_ns: int | None = field(default=None, init=False)
    _phase: str = field(default="setup", init=False)
    _end_s: float = field(default=math.inf, init=False)

    def __post_init__(self) -> None:
        self._signals = Signals(self.run)

    def go(self, hosts: Mapping[str, InventoryHost], folder: Path) -> dict[str, Path]:
        """Execute the run, and return the folder with each agent's records, by the host's name.

        Raises:
            RemoteError: a host was lost or failed; the others have been released.
        """
        folder.mkdir()
        self._end_s = time.monotonic() + self.wall_s
        with self._freeing():
            self._open(hosts, folder)
            self._start_agents()
            self._all("ready", READY_S)
            self._phase = "probes"
            for name in self._programs:  # one at a time: probes of two hosts would delay each other
                self._send({"do": "probe"}, [name])
                self._all("probed", READY_S, [name])
            before = self._clocks()
            self._begin(before)
            self._traffic()
            self._phase = "the end"
            self._note_clocks(before, self._clocks())
            parts = {name: folder / name for name in self._connections}
            for name, connection in self._connections.items():
                connection.remote.fetch(
                    f"{connection.place}/out", parts[name], root=True, most_bytes=self.most_bytes
                )
        self._require_free()
        return parts

    def write_log(self, path: Path) -> None:
        """Write the lines that the agents printed on standard error."""
        lines = [
            f"{name}: {line}"
            for name, program in self._programs.items()
            for line in program.error_lines
        ]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _open(self, hosts: Mapping[str, InventoryHost], folder: Path) -> None:
        opened = at_once(lambda host: LabConnection.open(self.fleet, host), hosts.values())
        for connection in opened:
            if isinstance(connection, LabConnection):
                self._connections[connection.host.name] = connection
        for name, connection in zip(hosts, opened, strict=True):
            if isinstance(connection, RemoteError):
                raise RemoteError(f"{name}: {connection}")
        for name, connection in self._connections.items():
            given = folder / f"{name}.in"
            given.mkdir()
            program_files.provide(self.run, self.documents[name], given)
            (given / "spec.json").write_text(json.dumps(self.documents[name]), encoding="utf-8")
            connection.remote.put(files_of(given, "in"), connection.place, root=True)

    def _start_agents(self) -> None:
        for name, connection in self._connections.items():

            def on_line(line: bytes, name: str = name) -> None:
                self._events.put((name, "said", line))

            def ended(status: int | None, name: str = name) -> None:
                self._events.put((name, "ended", status))

            self._programs[name] = connection.start_agent(on_line, ended)

    def _send(self, what: Mapping[str, Any], names: Iterable[str] | None = None) -> None:
        """Send a message to these agents, or to all."""
        line = json.dumps(what).encode()
        for name in self._programs if names is None else names:
            self._programs[name].send_line(line)

    def _all(self, word: str, patience_s: float, names: Iterable[str] | None = None) -> None:
        """Wait until these agents, or all, have sent that message."""
        deadline = time.monotonic() + patience_s
        waiting = set(self._programs if names is None else names)
        while waiting:
            event = self._next()
            if event is not None and event[1] == word:
                waiting.discard(event[0])
            if time.monotonic() > deadline:
                raise self._lost(min(waiting), f"it did not send {word!r} within {patience_s:g} s")

    def _next(self) -> tuple[str, str, dict[str, Any]] | None:
        """Return (host, kind of message, message), None when no message came for a moment.

        Raises:
            RemoteError: an agent failed or ended, or the run was interrupted.
        """
        if self.stopping.is_set():
            raise Interrupted("interrupted")
        if time.monotonic() > self._end_s:
            raise RemoteError(
                f"the lab took longer than {shown_time(self.wall_s)} of wall time, the bound of "
                f"this run, and was in phase {self._phase}; --timeout sets another bound"
            )
        try:
            name, kind, what = self._events.get(timeout=_WAKE_S)
        except queue.Empty:
            return None
        if kind == "ended":
            self._statuses[name] = what
            why = "its connection ended" if what is None else f"its agent ended ({_ending(what)})"
            raise self._lost(name, why)
        try:
            message = json.loads(what)
            word = message["say"]
            if word == "progress":
                message["time_ns"] = min(
                    max(int(message["time_ns"]), 0), nanoseconds(self.run.duration_s)
                )
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise self._lost(name, f"its agent sent an invalid message: {what[:200]!r}") from None
        if word == "failed":
            problem = plaintext.visible(plaintext.shortened(str(message.get("problem"))))
            raise RemoteError(f"{self._connections[name].remote.address}: {problem}")
        return name, word, message

    def _lost(self, name: str, why: str) -> RemoteError:
        """Return the error for a lost host, with the time, the reason and its last output."""
        program = self._programs[name]
        program.wait(1.0)  # its last output may still be in transit
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        when = f"during {self._phase}"
        if self._began_ns is not None:
            when = f"{(time.monotonic_ns() - self._began_ns) / 1e9:.1f} s into traffic"
        output = "".join(f"\n  {name}: {line}" for line in program.error_lines[-12:])
        others = ", ".join(other for other in self._programs if other != name)
        return RemoteError(
            f"lost host {self._connections[name].remote.address} {when} ({now}): {why}; "
            f"last output: {output or 'none'}\n  released: {others or 'no other'}"
        )

    def _clocks(self) -> dict[str, ClockOffset]:
        """Measure all clocks in parallel."""
        names = list(self._connections)

        def measure(name: str) -> ClockOffset:
            connection = self._connections[name]
            return connection.remote.clock_offset(connection.host.python)

        offsets: dict[str, ClockOffset] = {}
        for name, offset in zip(names, at_once(measure, names), strict=True):
            if isinstance(offset, RemoteError):
                raise self._lost(name, str(offset))
            offsets[name] = offset
        return offsets

    def _begin(self, clocks: Mapping[str, ClockOffset]) -> None:
        """Send every host the origin, in its own clock's time and in that of each other host."""
        origin_ns = time.monotonic_ns() + nanoseconds(LEAD_S)
        by_host = {name: origin_ns + clock.monotonic_ns for name, clock in clocks.items()}
        origins_ns = {
            node: by_host[name]
            for name, document in self.documents.items()
            for node in document["nodes"]
        }
        for name, program in self._programs.items():
            start = {"do": "start", "origin_ns": by_host[name], "origins_ns": origins_ns}
            program.send_line(json.dumps(start).encode())
        self._began_ns, self._phase = origin_ns, "traffic"

    def _traffic(self) -> None:
        """Wait for the end and report progress; fail when a host sends no progress for too long."""
        waiting = set(self._programs)
        assert self._began_ns is not None, "it has begun"
        heard = dict.fromkeys(waiting, self._began_ns / 1e9)
        self._reached_ns = dict.fromkeys(waiting, 0)
        while waiting:
            event = self._next()
            if event is not None:
                name, word, message = event
                heard[name] = time.monotonic()
                if word == "signal":
                    self._pass_on(name, message)
                    continue
                if word not in ("progress", "done"):
                    raise self._lost(name, f"its agent sent {word!r:.50} while traffic ran")
                if word == "done":
                    waiting.discard(name)
                    message = {"time_ns": nanoseconds(self.run.duration_s)}
                self._reached_ns[name] = message["time_ns"]
                self.report("traffic", min(self._reached_ns.values()) / 1e9)
            for name in waiting:
                if time.monotonic() - heard[name] > SILENCE_S:
                    raise self._lost(name, f"its agent has sent nothing for {SILENCE_S:g} s")

    def _pass_on(self, name: str, message: Mapping[str, Any]) -> None:
        """Tell the other end of a flow of programs what this one has told."""
        try:
            other, command = self._signals.route(name, message)
        except ValueError as error:
            raise self._lost(name, f"its agent sent an invalid signal: {error}") from None
        self._send(command, [other])

    def _note_clocks(
        self, before: Mapping[str, ClockOffset], after: Mapping[str, ClockOffset]
    ) -> None:
        for name, first in before.items():
            last = after[name]
            self.clock_facts.append(
                {
                    "host": name,
                    "offset_ns": first.monotonic_ns,
                    "wall_offset_ns": first.realtime_ns,
                    "uncertainty_ns": max(first.uncertainty_ns, last.uncertainty_ns),
                    "drift_ns": last.monotonic_ns - first.monotonic_ns,
                    "between_ns": last.at_ns - first.at_ns,
                }
            )

    @contextlib.contextmanager
    def _freeing(self) -> Iterator[None]:
        """End all agents at the end of the block, also after an error."""
        try:
            yield
        finally:
            for program in self._programs.values():
                program.end_input()
            deadline = time.monotonic() + FREE_S
            for program in self._programs.values():
                program.wait(max(0.0, deadline - time.monotonic()))
            for name, connection in self._connections.items():
                if name not in self._programs:
                    with contextlib.suppress(RemoteError):  # the host is lost and keeps our folder
                        connection.remove()

    def _require_free(self) -> None:
        """Raise RemoteError unless every agent's exit status says that it undid all changes."""
        while len(self._statuses) < len(self._programs):
            try:
                name, kind, what = self._events.get(timeout=_WAKE_S)
            except queue.Empty:
                missing = sorted(set(self._programs) - set(self._statuses))
                raise RemoteError(f"changes may not be undone on {', '.join(missing)}") from None
            if kind == "ended":
                self._statuses[name] = what
        for name, status in self._statuses.items():
            if status not in _GOOD_ENDS:
                output = "".join(f"\n  {line}" for line in self._programs[name].error_lines[-12:])
                why = _ending(status) if status is not None else "its connection ended"
                raise RemoteError(f"{name}: its changes may not be undone: {why}{output}")


def _ending(status: int) -> str:
    if status > _SIGNALLED:
        status = _SIGNALLED - status
    return f"signal {-status}" if status < 0 else f"status {status}"
