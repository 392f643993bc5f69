"""A lab host's part of a run: ``python3 -m orchestrator.testbed.lab.agent PLACE`` over SSH.

PLACE is a folder of this run alone, with ``in/spec.json`` (AgentSpec of protocol/specification.py);
samples and facts go to ``out``. Controller and agent exchange lines of JSON over standard input and
output. The controller sends commands {"do": ...}: "probe", then "start". The latter has
"origin_ns", when traffic starts on this host's monotonic clock, and "origins_ns", the same of every
host of the network by its own clock. The agent answers {"say": ...}: "ready", "probed", "progress"
with "time_ns", "done", or "failed" with "problem". "signal" with "flow" and "signal" is told in
both directions: what an end of a flow of programs tells the other one (peers.py).

There are two processes. The worker does all of that. It ends when its input ends, which happens
when the controller or the network between them fails. The cleanup process waits for the worker's
end, whatever the reason. Then it undoes what the undo log has, and removes PLACE. If the cleanup
process is killed, the worker does so instead.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import queue
import shutil
import signal
import socket
import sys
import threading
import time
import traceback

from orchestrator.protocol.kept_files import MOST_RUN_BYTES
from orchestrator.protocol.numbering import LINK_ENDS
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.version import check_version
from orchestrator.testbed import machines, sequence
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import read_sysctl
from orchestrator.testbed.lab import flow_filter, icmp_probe
from orchestrator.testbed.lab.bed import LabBed, programs_of
from orchestrator.testbed.lab.peers import Peers
from orchestrator.testbed.lab.undo_log import UndoLog, undo_all
from orchestrator.testbed.network import readback
from orchestrator.testbed.sampling.host_captures import HostCaptures
from orchestrator.testbed.sampling.host_load import LoadMonitor
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.trace import CapturedHost, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from orchestrator.protocol.specification import AgentSpec
    from orchestrator.testbed import bed
    from orchestrator.testbed.bed import LoadWatch

    Commands = queue.SimpleQueue[dict[str, Any]]
    """The commands that the controller has sent."""

PREFIX = "/run/tcp-orchestrator"
"""How the folders of runs begin; each has a file ``namespace`` with the number of its host's."""
_LOCK = "\0tcp-orchestrator-lab"
ECHOES = 12
_PROGRESS_NS = 500_000_000
_UNDONE, _FAILED, _LOST, _SIGNALLED = 0, 1, 3, 128


class HostLocked(Exception):
    """Another run uses this host."""


def lock() -> socket.socket:
    """Return a lock that keeps other runs off this host.

    It is a socket's name in the network namespace. The lock lasts as long as any process has the
    socket: this process, or one that it forks.

    Raises:
        HostLocked: another run has it.
    """
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(_LOCK)
    except OSError as error:
        held.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise HostLocked("another run of a lab uses this host") from None
    return held


def namespace() -> int:
    """Return the number of this process's network namespace: two namespaces are two hosts."""
    return os.stat("/proc/self/ns/net").st_ino


def undo_log_of(run_folder: str) -> str:
    """Return the path of the undo log of a run."""
    return os.path.join(run_folder, "undo_log")


def clean(run_folder: str) -> list[str]:
    """Undo what a run has set here and remove its folder; return what could not be undone."""
    problems = undo_all(undo_log_of(run_folder))
    for kept in glob.glob(f"{glob.escape(programs_of(run_folder))}/scratch/*"):
        with contextlib.suppress(OSError):  # mounted by the worker, and for it alone
            system.unmount(kept)
    if not problems:
        shutil.rmtree(run_folder, ignore_errors=True)
    return problems


def main() -> None:
    """Start the worker and clean up after it; the exit status tells how it ended."""
    run_folder = sys.argv[1]
    for kind in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(kind, signal.SIG_IGN)
    try:
        held = lock()
    except HostLocked as error:
        say("failed", problem=str(error))
        shutil.rmtree(run_folder, ignore_errors=True)
        sys.exit(_FAILED)
    worker = os.fork()
    if worker == 0:
        spare = system.prefer_this_session()
        system.die_with_parent(signal.SIGTERM)
        os._exit(work(run_folder, spare))
    signal.signal(signal.SIGTERM, lambda _number, _frame: _kill(worker, signal.SIGKILL))
    _pid, status = os.waitpid(worker, 0)
    _kill(-worker, signal.SIGKILL)
    problems = clean(run_folder)
    for problem in problems:
        print(f"not undone: {problem}", file=sys.stderr)
    held.close()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(_FAILED if problems else code if code >= 0 else _SIGNALLED - code)


def _kill(process: int, kind: int) -> None:
    """Send a signal to a process or, below zero, to the group of that number; it may have ended."""
    try:
        os.kill(process, kind)
    except ProcessLookupError:
        return


def say(message: str, **values: object) -> None:
    """Send a message to the controller."""
    line = json.dumps({"say": message, **values}, separators=(",", ":")) + "\n"
    os.write(1, line.encode())


def work(run_folder: str, spare: Collection[int]) -> int:
    """Do the host's part; return the exit status. See ``LoadMonitor`` about ``spare``."""
    early_end = _EarlyWorkerEnd(run_folder)
    signal.signal(signal.SIGTERM, lambda _number, _frame: early_end.end())
    load = LoadMonitor(spare, shared=True)
    commands: Commands = queue.SimpleQueue()
    peers = Peers(lambda flow, signal: say("signal", flow=flow, signal=signal))
    threading.Thread(target=_listen, args=(commands, peers, early_end), daemon=True).start()
    try:
        with open(os.path.join(run_folder, "in", "spec.json")) as text:
            spec = json.load(text)
        check_version(spec)
        if any(flow["engine"] == PROGRAM for flow in spec["flows"]):
            # Folders that are kept are mounted for this process alone, and are gone with it.
            system.unshare(system.CLONE_NEWNS)
            system.mount("none", "/", "none", system.MS_REC | system.MS_PRIVATE)
        records = LabRecords(os.path.join(run_folder, "out"), spec["most_kept_bytes"])
        undo_log = UndoLog(undo_log_of(run_folder))

        def bed() -> LabBed:
            return LabBed(spec, records, undo_log, run_folder, peers)

        sequence.run(_LabHost(spec, records, bed, commands, load), records)
        say("done")
        commands.get()  # forever: the end of the input ends this process
    except Exception as error:  # noqa: BLE001 - the controller has to know of every failure
        traceback.print_exc()
        try:
            say("failed", problem=f"{type(error).__name__}: {error}")
        except OSError:
            return _LOST
        return _FAILED
    return _UNDONE


class _EarlyWorkerEnd:
    """Ends the worker before its time; to be made in the child of the cleanup process."""

    def __init__(self, run_folder: str) -> None:
        self._place, self._cleanup_process = run_folder, os.getppid()
        self._lock = threading.Lock()

    def end(self) -> None:
        """End at once. The cleanup process undoes everything; without it, that is done here."""
        with self._lock:
            if os.getppid() != self._cleanup_process:
                clean(self._place)
                os.killpg(0, signal.SIGKILL)
            os._exit(_LOST)


def _listen(commands: Commands, peers: Peers, early_end: _EarlyWorkerEnd) -> None:
    """Queue the controller's commands; the worker ends when its input ends."""
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "signal":
            peers.of(command["flow"]).told(command["signal"])
        else:
            commands.put(command)
    early_end.end()


class LabRecords(Records):
    """Records that report progress to the controller, at most every half second of the run."""

    def __init__(self, directory: str, most_kept_bytes: int = MOST_RUN_BYTES) -> None:
        os.makedirs(directory)
        super().__init__(directory)
        self.most_kept_bytes = most_kept_bytes
        self._reported_ns = -_PROGRESS_NS
        self._told_ns = 0

    def progress(self, phase: str, time_ns: int = 0) -> None:
        """Report the time of the run while traffic runs."""
        if phase == "traffic" and time_ns - self._reported_ns >= _PROGRESS_NS:
            self._reported_ns = time_ns
            say("progress", time_ns=time_ns)

    def trace(self, records: bytes) -> None:
        """Write frames that were captured; tell that they are being written, which may take long.

        Traffic is over then.
        """
        super().trace(records)
        now_ns = system.monotonic_ns()
        if now_ns - self._told_ns >= _PROGRESS_NS:
            self._told_ns = now_ns
            say("progress", time_ns=max(self._reported_ns, 0))


class _LabLoad:
    """Measures the load of this host during traffic; see bed.LoadWatch."""

    def __init__(self, monitor: LoadMonitor, host: dict[str, object]) -> None:
        self._monitor, self._host = monitor, host

    def watch(self, origin_ns: int, duration_ns: int) -> None:
        """Begin to measure the load."""
        self._monitor.start(origin_ns, duration_ns)

    def leave_to_packets(self) -> None:
        """Move the calling thread away from the CPU on which packets are processed."""
        self._monitor.leave()

    def among_packets(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread is on the CPU of the packets."""
        return self._monitor.among_packets()

    def watched(self) -> Mapping[str, Mapping[str, object]]:
        """Return the fact "host"."""
        return {"host": {**self._host, **self._monitor.result()}}


class _LabHost:
    """The environment of a lab host's part of a run; see bed.Environment."""

    def __init__(
        self,
        spec: AgentSpec,
        records: LabRecords,
        make_bed: Callable[[], LabBed],
        commands: Commands,
        monitor: LoadMonitor,
    ) -> None:
        self._spec, self._records, self._make_bed = spec, records, make_bed
        self._commands = commands
        self._host: dict[str, object] = {"node": spec["name"]}
        self._bed: LabBed
        self.load: LoadWatch = _LabLoad(monitor, self._host)

    def build(self) -> LabBed:
        """Set what the run needs of this host, and return the bed."""
        self._host["netem_seeded"] = machines.fit_to_machine(self._spec)
        self._bed = self._make_bed()
        self._bed.build()
        return self._bed

    def versions(self) -> Mapping[str, object]:
        """Return the versions of kernel, Python and the flows' programs, and the wall clock."""
        kernel = os.uname()
        return {
            "kernel": kernel.release,
            "kernel_build": kernel.version,
            "machine": kernel.machine,
            "python": ".".join(map(str, sys.version_info[:3])),
            "wall_clock_s": time.time(),
            **readback.program_versions(self._spec["flows"]),
        }

    def probe_before_engines(self) -> None:
        """Do nothing: hosts are measured when all of them are ready."""

    def queue_devices(self) -> Mapping[str, object]:
        """Return the interface indices of the devices of the emulated link."""
        links = self._bed.links.values()
        return {"devices": {end: link.device(end)[1] for link in links for end in LINK_ENDS}}

    def probe_before_traffic(self) -> None:
        """Measure the round trips when the controller commands it."""
        say("ready")
        self._await("probe")
        self._probe("start")

    def interfaces(self) -> Mapping[str, object]:
        """Return counters and offloads of the interfaces that take part."""
        return self._bed.interfaces()

    def host_state(self, when: str) -> Mapping[str, object]:
        """Compare interfaces, routes and sysctls at the end with those at the start."""
        return self._bed.host_state(when)

    def sysctls(self) -> Mapping[str, object]:
        """Return the sysctls of this host."""
        return {"values": {name: read_sysctl(name) for name in readback.SYSCTLS_THAT_MATTER}}

    def trace(self) -> bed.Trace:
        """Return what captures the frames of flows at the hosts here, if anything."""
        asked = self._spec.get("capture")
        if asked is None:
            return Trace(None)
        (interface,) = self._spec["interfaces"]  # only a router, which captures nothing, has two
        snap_bytes, home_fd = asked["capture"]["snap_bytes"], self._bed.home_fd
        hosts = []
        for host in asked["hosts"]:
            peers = [socket.inet_aton(peer) for peer in host["peers"]]
            ports = [(first, last) for first, last in host["ports"]]
            program = flow_filter.program(peers, ports, snap_bytes)
            address = socket.inet_aton(host["address"])
            hosts.append(CapturedHost(host["name"], address, home_fd, interface, program))
        return HostCaptures(asked["capture"], hosts, home_fd)

    def await_origin_ns(self) -> int:
        """Wait for the controller's command to start; return when traffic starts."""
        say("probed")
        command = self._await("start")
        origin_ns: int = command["origin_ns"]
        self._spec["origin_ns"], self._spec["origins_ns"] = origin_ns, command["origins_ns"]
        missed_ns = system.monotonic_ns() - origin_ns
        if missed_ns > 0:
            raise TimeoutError(f"traffic had to start {missed_ns / 1e9:.3f} s ago")
        return origin_ns

    def measure_after_traffic(self) -> None:
        """Measure the round trips again."""
        self._probe("end")

    def probe_after_traffic(self) -> None:
        """Do nothing: the machines are shared, and the round trips have been measured."""

    def _await(self, expected: str) -> dict[str, Any]:
        """Return the controller's next command, which has to be that one."""
        command = self._commands.get()
        if command["do"] != expected:
            raise ValueError(f"the controller commands {command['do']} instead of {expected}")
        return command

    def _probe(self, when: str) -> None:
        """Measure the round trips from the flows' sources on this host."""
        bed = self._bed
        for probe in self._spec["round_trips"]:
            ends = (bed.address(probe["source"]), bed.address(probe["sink"]))
            measured_ns, ttl = icmp_probe.round_trips(*ends, ECHOES, awake=when == "start")
            self._records.fact("round_trip", at=when, **probe, measured_ns=measured_ns, ttl=ttl)


if __name__ == "__main__":
    main()
