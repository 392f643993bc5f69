"""iperf3 as the engine of a bulk flow: one server and one client process each.

The data connection is told from iperf3's control connection by its client port (--cport).
A flow's goodput comes from the kernel's counters, as with the built-in engine; what iperf3
itself reports at its end is kept as a fact. iperf3 exits with 0 after some failures, so its JSON
is looked at for "error".

A flow with ``bytes`` sends a sparse file in memory of that size (-F). From version 3.16 on, a
client with -n spins without a system call when it has sent enough, until a timer of its main
thread fires. In a guest a computation takes no time, so that timer would never fire. At the end
of a file the sending thread ends instead. iperf3 then ends the connection with what is still
queued: the receiver gets less than was requested.
"""

import contextlib
import json
import math
import os
import subprocess
import threading

from orchestrator.testbed.kernel import system

_LONGEST_S = 86400
_READY_POLL_NS = 1_000_000
_READY_POLLS = 2000


class IperfFlow:
    """One bulk flow carried by iperf3."""

    def __init__(self, bed, spec, services):
        self.spec = spec
        self._bed, self._services = bed, services
        self._sink_address = bed.address(spec["sink"])
        self._client = None
        if bed.holds(spec["sink"]):
            command = ["iperf3", "-s", "-1", "-p", str(spec["port"]), "-B", self._sink_address]
            self._server = bed.host(spec["sink"]).spawn([*command, "-J"], **_PIPES)
            self._await_listener()

    def _await_listener(self):
        """Return when the kernel lists the server's socket as listening."""
        timer = system.Timer()
        wanted = f":{self.spec['port']:04X} 00000000:0000 0A"
        for _attempt in range(_READY_POLLS):
            with self._bed.enter(self.spec["sink"]), open("/proc/thread-self/net/tcp") as table:
                if wanted in table.read():
                    return
            if self._server.poll() is not None:
                break
            timer.sleep_until(system.monotonic_ns() + _READY_POLL_NS)
        said = self._server.communicate()[0] if self._server.poll() is not None else "no answer"
        raise OSError(f"iperf3 server of flow {self.spec['name']} is not listening: {said}")

    def start(self, origin_ns):
        """Start the thread that runs the client from its start time after ``origin_ns`` on."""
        if self._bed.holds(self.spec["source"]):
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()

    def stop(self):
        """Do nothing: iperf3 was told its own length."""

    def _command(self, file):
        """Return the client's command; ``file`` is the descriptor of the bytes to send, or None."""
        spec = self.spec
        words = ["iperf3", "-c", self._sink_address, "-B", self._bed.address(spec["source"])]
        words += ["-p", str(spec["port"]), "--cport", str(spec["client_port"])]
        words += ["-C", spec["congestion"], "-J"]
        if file is not None:
            words += ["-F", f"/proc/self/fd/{file}"]
        if file is not None or spec["stop_ns"] is None:
            return [*words, "-t", str(_LONGEST_S)]
        return [*words, "-t", str(math.ceil((spec["stop_ns"] - spec["start_ns"]) / 1e9))]

    def _run(self, origin_ns):
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        with _sparse_file(self.spec["parameters"]["bytes"]) as file:
            self._client = self._bed.host(self.spec["source"]).spawn(
                self._command(file), pass_fds=() if file is None else (file,), **_PIPES
            )
        output, complaint = self._client.communicate()
        try:
            document = json.loads(output)
        except ValueError:
            document = {"error": f"no JSON: {output[-200:]} {complaint[-200:]}"}
        if "error" in document:
            self._services.problem(f"iperf3: {document['error']}")
            return
        end = document["end"]
        self._services.note(
            sent_bytes=end["sum_sent"]["bytes"], received_bytes=end["sum_received"]["bytes"]
        )


@contextlib.contextmanager
def _sparse_file(size_bytes):
    """Yield the descriptor of a file of zeros in memory that takes no room, or None for None."""
    if size_bytes is None:
        yield None
        return
    file = os.memfd_create("iperf3")
    try:
        os.ftruncate(file, size_bytes)
        yield file
    finally:
        os.close(file)


_PIPES = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
}


ENGINES = {"iperf3": IperfFlow}
