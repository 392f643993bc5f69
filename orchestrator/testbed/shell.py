"""Runs commands in the hosts of a network without flows, for ``orchestrator shell``.

Time passes only while a command runs: at a prompt the controller stops this guest's kernel.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess

from orchestrator.protocol.commands import PROMPT, PROMPT_BYTES, SAID, command_file, interrupt_file
from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import build, channels
from orchestrator.testbed.network.queues import thresholds
from orchestrator.testbed.sampling import probes

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable
    from typing import Any

    from orchestrator.protocol.commands import Command, PingCommand, RunCommand
    from orchestrator.protocol.specification import TestbedSpec
    from orchestrator.testbed.bed import Machine
    from orchestrator.testbed.sampling.records import Records

_MOST_FILES = 1 << 18
_NEXT_COMMAND_NS = 1_000_000
_FIRST_WAIT_MS, _MOST_WAIT_MS = 20, 1000
"""Of virtual time between two looks whether a user wants a command to end."""
_ECHO_FRAME_BYTES = 98
"""Of 64 bytes of ICMP, as ping(8) sends them."""
_ECHO_WAIT_NS = 5 * 10**9
_NOT_FOUND = 127
_NAMES = "/run/hosts"


def serve(spec: TestbedSpec, records: Records, machine: Machine, output: str) -> None:
    """Build the network and run the controller's commands, until the guest is ended.

    Raises:
        BuildError: as ``Bed.build`` raises.
    """
    machine.begin(spec)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))
    bed = build.Bed(spec, records)
    bed.build()
    thresholds.make_known(bed)
    machine.align()
    channels.reset_queues(bed)
    bed.begin_spraying()
    _name_hosts(spec)
    _Shell(bed, spec, output).serve()


def _name_hosts(spec: TestbedSpec) -> None:
    """Let programs find all hosts by their names."""
    lines = ["127.0.0.1 localhost\n"]
    lines += [f"{host['address']} {host['name']}\n" for host in spec["hosts"]]
    with open(_NAMES, "w") as file:
        file.writelines(lines)
    system.mount(_NAMES, "/etc/hosts", "", system.MS_BIND)


class _Shell:
    """Takes the commands, one after the other."""

    def __init__(self, bed: build.Bed, spec: TestbedSpec, output: str) -> None:
        self._bed = bed
        self._input = spec["folder"]
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._said = os.open(f"{output}/{SAID}", flags | os.O_APPEND, 0o644)
        self._prompt = os.open(f"{output}/{PROMPT}", flags, 0o644)
        self._timer = system.Timer()

    def serve(self) -> None:
        number = status = 0
        while True:
            system.hand_out(self._said)
            os.pwrite(self._prompt, f"{number} {status}".ljust(PROMPT_BYTES).encode(), 0)
            system.hand_out(self._prompt)
            number += 1
            path = f"{self._input}/{command_file(number)}"
            while not os.path.exists(path):
                self._sleep(_NEXT_COMMAND_NS)
            with open(path) as text:
                command: Command = json.load(text)
            if command["kind"] == "ping":
                status = self._ping(command)
            else:
                status = self._run(command, f"{self._input}/{interrupt_file(number)}")

    def _sleep(self, time_ns: int) -> None:
        self._timer.sleep_until(system.monotonic_ns() + time_ns)

    def _say(self, line: str) -> None:
        os.write(self._said, line.encode() + b"\n")

    def _run(self, command: RunCommand, interrupt: str) -> int:
        """Run a line in a shell of its own; return its exit status, or 128 and the signal."""
        words = ["/bin/bash", "-c", command["line"]]
        try:
            process = self._start(command["host"], words)
        except OSError as error:
            self._say(f"bash: {error.strerror}")
            return _NOT_FOUND
        end, ended = os.pidfd_open(process.pid), select.poll()
        ended.register(end, select.POLLIN)
        interrupted, wait_ms = False, _FIRST_WAIT_MS
        while not ended.poll(wait_ms):
            system.hand_out(self._said)
            wait_ms = min(2 * wait_ms, _MOST_WAIT_MS)
            if not interrupted and os.path.exists(interrupt):
                os.killpg(process.pid, signal.SIGINT)
                interrupted = True
        os.close(end)
        code = process.wait()
        return code if code >= 0 else 128 - code

    def _start(self, host: str | None, words: list[str]) -> subprocess.Popen[bytes]:
        start: Callable[..., Any] = subprocess.Popen if host is None else self._bed.host(host).spawn
        streams = {"stdin": subprocess.DEVNULL, "stdout": self._said, "stderr": self._said}
        with system.inside(self._bed.wires_fd, self._bed.home_fd):
            # A host starts it in its own namespace.
            process: subprocess.Popen[bytes] = start(
                words, cwd=os.environ["HOME"], start_new_session=True, **streams
            )
        return process

    def _ping(self, command: PingCommand) -> int:
        """Print each round trip; the status is 1 if any echo did not come back."""
        lost = 0
        for number in range(1, command["echoes"] + 1):
            measured_ns = probes.round_trip_ns(
                self._bed,
                {
                    "source": command["source"],
                    "sink": command["sink"],
                    "expected_ns": _ECHO_WAIT_NS,
                    "frame_bytes": _ECHO_FRAME_BYTES,
                    "fill_ns": 0,
                    "attempts": 1,
                },
                echoes=1,
            )
            lost += measured_ns is None
            took = "no answer" if measured_ns is None else f"{measured_ns / 1e6:.6f} ms"
            self._say(f"{command['sink']}: echo {number}: {took}")
        return 1 if lost else 0
