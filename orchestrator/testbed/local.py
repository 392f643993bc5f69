"""Runs a test bed on a real machine, in real time; started as root.

Command: ``python3 -B -m orchestrator.testbed.local IN OUT``.

PYTHONPATH must name the folder that holds this package; the bed needs nothing else of the project.
IN holds ``spec.json`` and, where the run uses modules that are not installed, ``modules/NAME.ko``.
It is only read. OUT exists and is empty. The bed writes the files of ``records.py`` there, and
``bed.log``. If it fails, it writes the reason to ``failure`` in one line. ``OUT/progress`` always
has the phase.

Standard input must be a pipe or a socket. When it ends, the process that started the bed has
ended, and the run is ended too. Exit status: 0 when the run is complete, else 1.

This process changes what is global to the machine, and undoes the changes in every case. It
allows one bed at a time (LOCK), loads modules, sets their parameters and restores them. Everything
else is inside new namespaces (``confine.py``).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import select
import signal
import sys
import traceback

from orchestrator.protocol.version import check_version
from orchestrator.testbed.errors import write_failure
from orchestrator.testbed.kernel import confine, modules, system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator

    from orchestrator.protocol.reports.machine_facts import Machine
    from orchestrator.protocol.specification import TestbedSpec

LOCK = "/run/orchestrator-local.lock"


def main(given: str, output: str) -> int:
    """Run the bed; return its exit status."""
    try:
        with _locked_machine(), open(f"{given}/spec.json") as text:
            spec: TestbedSpec = json.load(text)
            check_version(spec)
            with modules.loaded(spec, given) as module_facts:
                machine = _machine()
                machine["modules"] = module_facts
                return _run(spec, given, output, machine)
    except (OSError, RuntimeError, ValueError) as error:
        traceback.print_exc()
        write_failure(output, error)
        return 1


@contextlib.contextmanager
def _locked_machine() -> Iterator[None]:
    """Hold the lock that keeps other beds off this machine.

    The bed's first process inherits it, so it lasts until both processes have ended.
    """
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                "another run in real time is using this machine; wait until it has ended"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _run(spec: TestbedSpec, given: str, output: str, host: Machine) -> int:
    """Run the bed until it ends or standard input does; return the exit status."""
    bed = confine.start(given, output, lambda: _bed(spec, host))
    bed_end = os.pidfd_open(bed)
    events = select.poll()
    events.register(bed_end, select.POLLIN)
    events.register(0, select.POLLIN)
    while bed_end not in {descriptor for descriptor, _event in events.poll()}:
        if not os.read(0, 4096):
            os.kill(bed, signal.SIGKILL)
            break
    os.close(bed_end)
    _pid, status = os.waitpid(bed, 0)
    if os.WIFSIGNALED(status):
        write_failure(output, RuntimeError(f"the bed was ended by signal {os.WTERMSIG(status)}"))
    return 0 if status == 0 else 1


def _machine() -> Machine:
    """Return facts about the machine."""
    with open("/proc/uptime") as text:
        uptime_s = float(text.read().split()[0])
    with open("/proc/cpuinfo") as text:
        models = [line.partition(":")[2].strip() for line in text if line.startswith("model name")]
    return {
        "node": platform.node(),
        "uptime_s": uptime_s,
        "processor": models[0] if models else platform.machine(),
        "python": platform.python_version(),
    }


def _bed(spec: TestbedSpec, host: Machine) -> None:
    """Run as the bed's first process, in its namespaces."""
    descriptor = os.open(f"{confine.OUTPUT}/bed.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        spare = system.prefer_this_session()
        from orchestrator.testbed.sampling.host_load import LoadMonitor

        load = LoadMonitor(spare)
        from orchestrator.testbed.machines import RealMachine
        from orchestrator.testbed.run import run
        from orchestrator.testbed.sampling.records import Records

        spec["folder"] = confine.INPUT
        run(spec, Records(confine.OUTPUT, far=False), RealMachine(host, load))
    except BaseException as error:
        traceback.print_exc()
        write_failure(confine.OUTPUT, error)
        raise
    finally:
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
