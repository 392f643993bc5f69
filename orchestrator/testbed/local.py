"""A bed on a real machine, in real time; started as root.

Command: ``python3 -B -m orchestrator.testbed.local IN OUT``.

The folder that holds this package is to be on PYTHONPATH; nothing else of the project is needed.
IN holds ``spec.json`` and, where the run uses modules that are not installed, ``modules/NAME.ko``;
it is only read. OUT is there and empty; the bed writes what ``records.py`` says, ``bed.log``, and
``failure`` with the reason in one line if it fails. The phase is in ``OUT/progress`` all along.

Standard input is to be a pipe or a socket: when it ends, because whoever started the bed is
gone, so does the run. Exit status: 0 when the run is whole, else 1.

What is global to the machine is done here and undone whatever happens: one bed at a time (LOCK),
modules are loaded, their parameters set and given back. All else is inside of new namespaces
(``confine.py``).
"""

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
from orchestrator.testbed.kernel import confine, modules, system

LOCK = "/run/orchestrator-local.lock"


def main(given, output):
    """Run the bed; return its exit status."""
    try:
        with _alone(), open(f"{given}/spec.json") as text:
            spec = json.load(text)
            check_version(spec)
            with modules.loaded(spec, given) as found:
                return _run(spec, given, output, {**_machine(), "modules": found})
    except (OSError, RuntimeError, ValueError) as error:
        traceback.print_exc()
        _tell_failure(output, error)
        return 1


@contextlib.contextmanager
def _alone():
    """Keep all other beds off this machine for as long as this process or the bed's runs."""
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


def _run(spec, given, output, host):
    bed = confine.start(given, output, lambda: _bed(spec, host))
    ended = os.pidfd_open(bed)
    watched = select.poll()
    watched.register(ended, select.POLLIN)
    watched.register(0, select.POLLIN)
    while not _happened(watched, ended):
        if not os.read(0, 4096):
            os.kill(bed, signal.SIGKILL)
            break
    os.close(ended)
    _pid, status = os.waitpid(bed, 0)
    if os.WIFSIGNALED(status):
        _tell_failure(output, RuntimeError(f"the bed was ended by signal {os.WTERMSIG(status)}"))
    return 0 if status == 0 else 1


def _happened(watched, descriptor):
    """Wait for anything and tell whether it was this."""
    return descriptor in (ready for ready, _events in watched.poll())


def _machine():
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


def _bed(spec, host):
    """Run as the bed's first process, in its namespaces."""
    descriptor = os.open(f"{confine.OUTPUT}/bed.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        spare = system.prefer_this_session()
        from orchestrator.testbed.sampling.host_load import Watcher

        load = Watcher(spare)
        from orchestrator.testbed.machines import Real
        from orchestrator.testbed.run import run
        from orchestrator.testbed.sampling.records import Records

        run({**spec, "folder": confine.INPUT}, Records(confine.OUTPUT, far=False), Real(host, load))
    except BaseException as error:
        traceback.print_exc()
        _tell_failure(confine.OUTPUT, error)
        raise
    finally:
        sys.stderr.flush()


def _tell_failure(output, error):
    """Hand out what went wrong in one line; the traceback is in the log."""
    with open(f"{output}/failure", "w") as file:
        file.write(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
