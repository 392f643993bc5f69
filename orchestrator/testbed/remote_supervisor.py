"""Supervises a test bed that was sent to another machine; started as root.

Command: ``python3 -B -m orchestrator.testbed.remote_supervisor PLACE``.

The folder PLACE holds this package, and ``in`` as ``local.py`` describes it. The supervisor makes
``out``. While the bed runs, it prints ``progress PHASE NANOSECONDS BYTES`` at each change, where
BYTES is the size of all files in ``out``. At the end it prints ``ended STATUS``, and the controller
can fetch ``out``. When standard input ends, the controller has fetched it or is gone. The bed is
then ended and PLACE is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

_PERIOD_S = 0.5


def main(run_folder: str) -> int:
    """Run the bed of that folder, and remove it; return the exit status."""
    try:
        given, output = f"{run_folder}/in", f"{run_folder}/out"
        os.mkdir(output)
        command = [sys.executable, "-B", "-m", "orchestrator.testbed.local", given, output]
        with subprocess.Popen(command) as bed:
            _follow(bed, output)
        _print(f"ended {bed.returncode}")
        while os.read(0, 4096):
            pass
        return 0
    finally:
        shutil.rmtree(run_folder, ignore_errors=True)


def _follow(bed: subprocess.Popen[bytes], output: str) -> None:
    """Print the bed's progress until it ends."""
    last = None
    while True:
        try:
            bed.wait(_PERIOD_S)
            return
        except subprocess.TimeoutExpired:
            now = _progress(output)
            if now not in (None, last):
                last = now
                _print(f"progress {now}")


def _progress(output: str) -> str | None:
    """Return the phase, its time in ns, and the bytes written; None before the first phase."""
    try:
        with open(f"{output}/progress") as file:
            phase, time_ns = file.read().split()
    except (FileNotFoundError, ValueError):
        return None
    return f"{phase} {time_ns} {sum(entry.stat().st_size for entry in os.scandir(output))}"


def _print(text: str) -> None:
    # The controller may be gone. The bed then ends by itself, at the end of its standard input.
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
