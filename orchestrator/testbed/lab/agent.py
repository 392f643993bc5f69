"""A lab host's part of a run: ``python3 -m orchestrator.testbed.lab.agent PLACE`` over SSH.

PLACE is a folder of this run alone, with ``in/spec.json`` (see bed.LabBed); samples and facts go to
``out``. Lines of JSON are exchanged over standard input and output. The controller says what to
{"do"}: "probe", then "start" with "origin_ns", the begin of traffic on this host's monotonic clock,
and "origins_ns", the same of every host of the network by its own clock. The agent says
{"say": "ready"}, "probed", "progress" with "time_ns", "done", or "failed" with "problem".

There are two processes. The worker does all of that. It ends when its input does, as it does when
the controller or the network between has gone. The guard only waits for its end, whatever that was,
and then undoes what the ledger has, and takes PLACE away. Should the guard be killed instead, the
worker does so.
"""

import errno
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

from orchestrator.protocol.version import check_version
from orchestrator.testbed import machines
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import read_sysctl
from orchestrator.testbed.lab import icmp_probe
from orchestrator.testbed.lab.bed import LabBed
from orchestrator.testbed.lab.undo_log import Ledger, undo_all
from orchestrator.testbed.network import readback
from orchestrator.testbed.sampling.host_load import Watcher
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.sampler import Sampler
from orchestrator.testbed.scheduler import Scheduler
from orchestrator.testbed.traffic import Services, engines

PREFIX = "/run/tcp-orchestrator"
"""How the folders of runs begin; each has a file ``namespace`` with the number of its host's."""
_LOCK = "\0tcp-orchestrator-lab"
ECHOES = 12
_PROGRESS_NS = 500_000_000
_UNDONE, _FAILED, _LOST, _SIGNALLED = 0, 1, 3, 128


class Locked(Exception):
    """Another run uses this host."""


def lock():
    """Return what keeps others off this host as long as this process, or one it forks, has it.

    It is a name in the network namespace, which goes with the last that holds it.

    Raises:
        Locked: somebody else has it.
    """
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(_LOCK)
    except OSError as error:
        held.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise Locked("another run of a lab uses this host") from None
    return held


def namespace():
    """Return the number of this process's network namespace: two of them are two hosts."""
    return os.stat("/proc/self/ns/net").st_ino


def ledger_of(place):
    """Return the path of the ledger of a run."""
    return os.path.join(place, "ledger")


def clean(place):
    """Undo what a run has set here and remove its folder; return what could not be undone."""
    problems = undo_all(ledger_of(place))
    if not problems:
        shutil.rmtree(place, ignore_errors=True)
    return problems


def main():
    """Guard the worker; its status tells how it went."""
    place = sys.argv[1]
    for kind in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(kind, signal.SIG_IGN)
    try:
        held = lock()
    except Locked as error:
        say("failed", problem=str(error))
        shutil.rmtree(place, ignore_errors=True)
        sys.exit(_FAILED)
    worker = os.fork()
    if worker == 0:
        spare = system.prefer_this_session()
        system.die_with_parent(signal.SIGTERM)
        os._exit(work(place, spare))
    signal.signal(signal.SIGTERM, lambda _number, _frame: _kill(worker, signal.SIGKILL))
    _pid, status = os.waitpid(worker, 0)
    _kill(-worker, signal.SIGKILL)
    problems = clean(place)
    for problem in problems:
        print(f"not undone: {problem}", file=sys.stderr)
    held.close()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(_FAILED if problems else code if code >= 0 else _SIGNALLED - code)


def _kill(process, kind):
    """Send a signal to a process, or to the group of that number below zero; it may be gone."""
    try:
        os.kill(process, kind)
    except ProcessLookupError:
        return


def say(what, **values):
    """Tell the controller."""
    line = json.dumps({"say": what, **values}, separators=(",", ":")) + "\n"
    os.write(1, line.encode())


def work(place, spare):
    """Do the host's part; return the status to end with. See ``Watcher`` about ``spare``."""

    leaving = _Leaving(place)
    signal.signal(signal.SIGTERM, lambda _number, _frame: leaving.leave())
    load = Watcher(spare, shared=True)
    told = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(told, leaving), daemon=True).start()
    try:
        with open(os.path.join(place, "in", "spec.json")) as text:
            spec = json.load(text)
        check_version(spec)
        records = LabRecords(os.path.join(place, "out"))
        run(spec, records, Ledger(ledger_of(place)), told, load)
    except Exception as error:  # noqa: BLE001 - whatever it was, the controller has to hear of it
        traceback.print_exc()
        try:
            say("failed", problem=f"{type(error).__name__}: {error}")
        except OSError:
            return _LOST
        return _FAILED
    return _UNDONE


class _Leaving:
    """How the worker ends before its time; to be made by the guard's child."""

    def __init__(self, place):
        self._place, self._guard = place, os.getppid()
        self._lock = threading.Lock()

    def leave(self):
        """End at once, and let the guard undo everything; undo it here if there is no guard."""
        with self._lock:
            if os.getppid() != self._guard:
                clean(self._place)
                os.killpg(0, signal.SIGKILL)
            os._exit(_LOST)


def _listen(told, leaving):
    """Hand on what the controller says; with its last word the worker ends."""
    for line in sys.stdin:
        told.put(json.loads(line))
    leaving.leave()


class LabRecords(Records):
    """Records that also tell the controller of progress, now and then."""

    def __init__(self, directory):
        os.makedirs(directory)
        super().__init__(directory)
        self._told_ns = -_PROGRESS_NS

    def progress(self, phase, time_ns=0):
        """Say where the run is."""
        if phase == "traffic" and time_ns - self._told_ns >= _PROGRESS_NS:
            self._told_ns = time_ns
            say("progress", time_ns=time_ns)


def _await(told, what):
    """Return the next thing that the controller says, which has to be to do that."""
    command = told.get()
    if command["do"] != what:
        raise ValueError(f"told to {command['do']} when waiting for {what}")
    return command


def run(spec, records, ledger, told, load):
    """Take part in one run, from the specification to the records."""
    system.set_exact_timers()
    late_ns, seeded = machines.fit_to_machine(spec)
    bed = LabBed(spec, records, ledger)
    bed.build()
    records.fact("channels", at="start", channels=readback.verify_channels(bed))
    values = {name: read_sysctl(name) for name in readback.SYSCTLS_THAT_MATTER}
    records.fact("sysctls", values=values)
    records.fact("versions", **versions(spec))
    known = engines()
    flows = [
        known[flow["engine"]](bed, flow, Services(records, flow["number"], flow["name"]))
        for flow in spec["flows"]
        if bed.holds(flow["source"]) or bed.holds(flow["sink"])
    ]
    sampler = Sampler(bed, records, flows, load.among_packets)
    scheduler = Scheduler(
        bed,
        lambda problem: records.fact("timeline_error", problem=problem),
        sampler.forget_places,
    )
    devices = {end: link.device(end)[1] for link in bed.links.values() for end in "abfr"}
    records.fact("queues", devices=devices, **sampler.queues())
    say("ready")
    _await(told, "probe")
    _probe(bed, records, "start")
    records.fact("interfaces", at="start", interfaces=bed.interfaces())
    records.fact("softnet", at="start", drops=readback.softnet_drops())
    say("probed")
    spec |= _await(told, "start")
    origin_ns = spec["origin_ns"]
    missed_ns = system.monotonic_ns() - origin_ns
    if missed_ns > 0:
        raise TimeoutError(f"told to start {missed_ns / 1e9:.3f} s ago")
    load.start(origin_ns, spec["duration_ns"])
    scheduler.start(origin_ns)
    for flow in flows:
        flow.start(origin_ns)
    load.leave()
    sampler.run(origin_ns)
    fitted = {"late_timers_ns": late_ns, "netem_seeded": seeded}
    records.fact("host", node=spec["name"], **fitted, **load.result())
    _finish(bed, records, scheduler, origin_ns)
    say("done")
    told.get()  # for ever: the end of the input ends this process


def _finish(bed, records, scheduler, origin_ns):
    records.fact("timeline", **scheduler.fact())
    found = readback.channels(bed)
    records.fact("channels", at="end", channels=found, differences=readback.differences(bed, found))
    records.fact("namespaces", at="end", values=bed.namespace_values())
    records.fact("interfaces", at="end", interfaces=bed.interfaces())
    records.fact("softnet", at="end", drops=readback.softnet_drops())
    _probe(bed, records, "end")
    records.close()
    records.fact("done", origin_ns=origin_ns, duration_ns=bed.spec["duration_ns"])


def _probe(bed, records, when):
    """Measure the round trips from this host's senders."""
    for probe in bed.spec["round_trips"]:
        ends = (bed.address(probe["source"]), bed.address(probe["sink"]))
        measured_ns, ttl = icmp_probe.round_trips(*ends, ECHOES, awake=when == "start")
        records.fact("round_trip", at=when, **probe, measured_ns=measured_ns, ttl=ttl)


def versions(spec):
    """Return what takes part on this host."""
    kernel = os.uname()
    return {
        "kernel": kernel.release,
        "kernel_build": kernel.version,
        "machine": kernel.machine,
        "python": ".".join(map(str, sys.version_info[:3])),
        "wall_clock_s": time.time(),
        **readback.program_versions(spec["flows"]),
    }


if __name__ == "__main__":
    main()
