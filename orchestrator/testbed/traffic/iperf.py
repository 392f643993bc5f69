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
import json
import math
import os
import subprocess
import threading

from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic import FlowEngine
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


class IperfFlow(FlowEngine):
    """A bulk flow that iperf3 sends. iperf3 itself ends it at its stop time."""

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        parameters: BulkParameters = spec["parameters"]
        self._size_bytes = parameters["bytes"]
        self._bed = bed
        self._sink_address = bed.address(spec["sink"])
        if bed.holds(spec["sink"]):
            command = ["iperf3", "-s", "-1", "-p", str(spec["port"]), "-B", self._sink_address]
            # Kept, because its pipes have to stay open until it ends.
            self._server = bed.host(spec["sink"]).spawn([*command, "-J"], **_PIPES)
            system.rank_program(self._server.pid, polls=False)
            self._wait_for_listener()

    def _wait_for_listener(self) -> None:
        """Return when the kernel lists the server's socket as listening.

        Raises:
            OSError: the server ended, or is not listening after a while.
        """
        timer = system.Timer()
        wanted = f":{self.spec['port']:04X} 00000000:0000 0A"
        for _attempt in range(_READY_POLLS):
            with self._bed.enter(self.spec["sink"]), open("/proc/thread-self/net/tcp") as table:
                if wanted in table.read():
                    return
            if self._server.poll() is not None:
                break
            timer.sleep_until(system.monotonic_ns() + _READY_POLL_NS)
        output = self._server.communicate()[0] if self._server.poll() is not None else "no answer"
        raise OSError(f"iperf3 server of flow {self.spec['name']} is not listening: {output}")

    def start(self, origin_ns: int) -> None:
        """Start the thread that runs the client from the flow's start time on."""
        if self._bed.holds(self.spec["source"]):
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()

    def _command(self, file: int | None) -> list[str]:
        """Return the client's command; ``file`` is the descriptor of the bytes to send, or None."""
        spec = self.spec
        words = ["iperf3", "-c", self._sink_address, "-B", self._bed.address(spec["source"])]
        words += ["-p", str(spec["port"]), "--cport", str(spec["client_port"])]
        words += ["-C", congestion_for(spec), "-J"]
        if file is not None:
            words += ["-F", f"/proc/self/fd/{file}"]
        if file is not None or spec["stop_ns"] is None:
            return [*words, "-t", str(_LONGEST_S)]
        return [*words, "-t", str(math.ceil((spec["stop_ns"] - spec["start_ns"]) / 1e9))]

    def _run(self, origin_ns: int) -> None:
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        with _sparse_file(self._size_bytes) as file:
            client = self._bed.host(self.spec["source"]).spawn(
                self._command(file), pass_fds=() if file is None else (file,), **_PIPES
            )
        system.rank_program(client.pid, polls=True)
        output, errors = client.communicate()
        try:
            document = json.loads(output)
        except ValueError:
            document = {"error": f"no JSON: {output[-200:]} {errors[-200:]}"}
        if "error" in document:
            self.services.problem(f"iperf3: {document['error']}")
            return
        end = document["end"]
        self.services.note(
            sent_bytes=end["sum_sent"]["bytes"], received_bytes=end["sum_received"]["bytes"]
        )


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
