"""iperf3 as the engine of a bulk flow: one server and one client process each.

The data connection is told from iperf3's control connection by its client port (--cport).
A flow's goodput comes from the kernel's counters, as with the built-in engine; what iperf3
itself reports at its end is kept as a fact. When iperf3 has sent enough it ends the connection
with what is still queued: the receiver gets less than was asked for by bytes. iperf3 exits with 0
after some failures, so its JSON is looked at for "error".
"""

import json
import math
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

    def _command(self):
        spec = self.spec
        words = ["iperf3", "-c", self._sink_address, "-B", self._bed.address(spec["source"])]
        words += ["-p", str(spec["port"]), "--cport", str(spec["client_port"])]
        words += ["-C", spec["congestion"], "-J"]
        if spec["parameters"]["bytes"] is not None:
            return [*words, "-n", str(spec["parameters"]["bytes"])]
        if spec["stop_ns"] is None:
            return [*words, "-t", str(_LONGEST_S)]
        return [*words, "-t", str(math.ceil((spec["stop_ns"] - spec["start_ns"]) / 1e9))]

    def _run(self, origin_ns):
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        self._client = self._bed.host(self.spec["source"]).spawn(self._command(), **_PIPES)
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


_PIPES = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "text": True,
}


ENGINES = {"iperf3": IperfFlow}
