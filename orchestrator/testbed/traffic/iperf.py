"""iperf3 as the engine of bulk flows: each flow has a server process and a client process.

The client port (--cport) tells the data connection from iperf3's control connection. The goodput
comes from the kernel's counters, as with the built-in engine. A fact records what iperf3 itself
reports. iperf3 exits with 0 after some failures, so its JSON is searched for "error".

A flow with ``bytes`` sends a sparse file in memory of that size (-F). From version 3.16 on, a
client with -n spins without a system call when it has sent enough, until a timer of its main
thread fires. In a guest a computation takes no time, so that timer would never fire. At the end
of a file the sending thread ends instead. iperf3 then closes the connection and drops what is still
queued, so the receiver gets fewer bytes.

A client whose data socket is connected waits for the server's message that the test runs. It polls
meanwhile, for a round trip: select() returns at once, because the socket can be written. The fair
scheduler would choose between client, server and sampler. So both programs are ranked below the
bed's own threads; see ``system.rank_before_programs``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import subprocess
import threading

from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.outcomes import ONLY
from orchestrator.testbed.traffic.sockets import congestion_for

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator
    from typing import Any

    from orchestrator.protocol.engine_parameters import BulkParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services

_LONGEST_S = 86400
_READY_POLL_NS = 1_000_000
_READY_POLLS = 2000
_NOT_CONNECTED = "unable to connect to server"
"""What iperf3 says when it cannot connect."""
_SAID = {
    "control socket has closed unexpectedly": errno.ECONNRESET,
    "idle timeout for receiving data": errno.ETIMEDOUT,
}
"""What iperf3 says of its server without an error of the kernel. The server has closed the
connections, or got no data for two minutes."""


class IperfFlow(FlowEngine):
    """A bulk flow that iperf3 sends. iperf3 itself ends it at its stop time."""

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        parameters: BulkParameters = spec["parameters"]
        self._size_bytes = parameters["bytes"]
        self._bed = bed
        self._server: subprocess.Popen[str] | None = None
        self._sink_address = bed.address(spec["sink"])
        if bed.holds(spec["sink"]):
            command = ["iperf3", "-s", "-1", "-p", str(spec["port"]), "-B", self._sink_address]
            # Kept, because its pipes have to stay open until it ends.
            self._server = server = bed.host(spec["sink"]).spawn([*command, "-J"], **_PIPES)
            system.rank_program(server.pid, polls=False)
            self._wait_for_listener(server)

    def _wait_for_listener(self, server: subprocess.Popen[str]) -> None:
        """Return when the kernel lists the server's socket as listening.

        Raises:
            OSError: the server ended, or is not listening after a while.
        """
        timer = system.Timer()
        listening = f":{self.spec['port']:04X} 00000000:0000 0A"
        for _attempt in range(_READY_POLLS):
            with self._bed.enter(self.spec["sink"]), open("/proc/thread-self/net/tcp") as table:
                if listening in table.read():
                    return
            if server.poll() is not None:
                break
            timer.sleep_until(system.monotonic_ns() + _READY_POLL_NS)
        output = server.communicate()[0] if server.poll() is not None else "no answer"
        raise OSError(f"iperf3 server of flow {self.spec['name']} is not listening: {output}")

    def start(self, origin_ns: int) -> None:
        """Start the thread that runs the client from the flow's start time on."""
        if self._bed.holds(self.spec["source"]):
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()

    def _command(self, file: int | None) -> list[str]:
        """Return the client's command; ``file`` is the descriptor of the bytes to send, or None."""
        spec = self.spec
        command = ["iperf3", "-c", self._sink_address, "-B", self._bed.address(spec["source"])]
        command += ["-p", str(spec["port"]), "--cport", str(spec["client_port"])]
        command += ["-C", congestion_for(spec), "-J"]
        if file is not None:
            command += ["-F", f"/proc/self/fd/{file}"]
        if file is not None or spec["stop_ns"] is None:
            return [*command, "-t", str(_LONGEST_S)]
        return [*command, "-t", str(math.ceil((spec["stop_ns"] - spec["start_ns"]) / 1e9))]

    def _run(self, origin_ns: int) -> None:
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        self.outcomes.begins(ONLY, self.spec["start_ns"])
        with _sparse_file(self._size_bytes) as file:
            client = self._bed.host(self.spec["source"]).spawn(
                self._command(file), pass_fds=() if file is None else (file,), **_PIPES
            )
        system.rank_program(client.pid, polls=True)
        output, errors = client.communicate()
        now_ns = system.monotonic_ns() - origin_ns
        try:
            document = json.loads(output)
        except ValueError:
            document = {"error": f"no JSON: {output[-200:]} {errors[-200:]}"}
        if "error" in document:
            self._client_failed(document["error"], now_ns)
            return
        self.outcomes.connected(ONLY)
        self.outcomes.ended(ONLY, now_ns)
        end = document["end"]
        self.services.note(
            sent_bytes=end["sum_sent"]["bytes"], received_bytes=end["sum_received"]["bytes"]
        )

    def _client_failed(self, text: str, now_ns: int) -> None:
        """Note that the network ended the client's connections, or report any other failure."""
        code = _code_of(text)
        if code is None or self._server_was_killed():
            self.services.problem(f"iperf3: {text}")
            return
        if _NOT_CONNECTED not in text:
            self.outcomes.connected(ONLY)
        self._note_stop(now_ns)
        self.outcomes.failed(ONLY, now_ns, code)

    def _note_stop(self, now_ns: int) -> None:
        """Note that the flow's stop time has come, after which a failure is no part of it."""
        stop_ns = self.spec["stop_ns"]
        if stop_ns is not None and now_ns >= stop_ns:
            self.outcomes.stopped(stop_ns, ONLY)

    def _server_was_killed(self) -> bool:
        return self._server is not None and (self._server.poll() or 0) < 0

    def finish(self) -> None:
        """Record how the flow ended; a server that was killed fails the run."""
        if self._server_was_killed():
            self.services.problem("iperf3: a signal ended the server")
        if self._is_established():
            self.outcomes.connected(ONLY)
        self._note_stop(self._bed.spec["duration_ns"])
        super().finish()

    def _is_established(self) -> bool:
        """Tell whether the data connection exists at the source."""
        if not self._bed.holds(self.spec["source"]):
            return False
        ends = f":{self.spec['client_port']:04X} ", f":{self.spec['port']:04X} 01 "
        with self._bed.enter(self.spec["source"]), open("/proc/thread-self/net/tcp") as table:
            return any(all(end in line for end in ends) for line in table)


def _code_of(text: str) -> int | None:
    """Return the errno of an error of iperf3's client that the network caused, or None."""
    reported = next((code for phrase, code in _SAID.items() if phrase in text), None)
    kernel = (code for code in sorted(NETWORK_ERRORS) if text.endswith(os.strerror(code)))
    return reported or next(kernel, None)


@contextlib.contextmanager
def _sparse_file(size_bytes: int | None) -> Iterator[int | None]:
    """Yield the descriptor of a sparse file in memory of that size, or None for None."""
    if size_bytes is None:
        yield None
        return
    file = os.memfd_create("iperf3")
    try:
        os.ftruncate(file, size_bytes)
        yield file
    finally:
        os.close(file)


_PIPES: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
}


ENGINES: dict[str, EngineClass] = {"iperf3": IperfFlow}
