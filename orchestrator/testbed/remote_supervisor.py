"""Watches a bed that was sent to another machine; started as root.

Command: ``python3 -B -m orchestrator.testbed.remote_supervisor PLACE``.

PLACE holds this package, and ``in`` as ``local.py`` says; ``out`` is made here. While the bed runs,
its progress is printed whenever it changes, as ``progress PHASE NANOSECONDS BYTES``, where BYTES is
what it has written; then ``ended STATUS``. Then ``out`` can be fetched. When standard input ends,
because the controller has it all or is gone, the bed is ended and PLACE is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

LOOK_S = 0.5


def main(place: str) -> int:
    """Run the bed of that folder, and remove it; return the exit status."""
    try:
        given, output = f"{place}/in", f"{place}/out"
        os.mkdir(output)
        words = [sys.executable, "-B", "-m", "orchestrator.testbed.local", given, output]
        with subprocess.Popen(words) as bed:
            _follow(bed, output)
        _say(f"ended {bed.returncode}")
        while os.read(0, 4096):
            pass
        return 0
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _follow(bed: subprocess.Popen[bytes], output: str) -> None:
    last = None
    while True:
        try:
            bed.wait(LOOK_S)
            return
        except subprocess.TimeoutExpired:
            now = _progress(output)
            if now not in (None, last):
                last = now
                _say(f"progress {now}")


def _progress(output: str) -> str | None:
    try:
        with open(f"{output}/progress") as file:
            phase, time_ns = file.read().split()
    except (FileNotFoundError, ValueError):
        return None
    return f"{phase} {time_ns} {sum(entry.stat().st_size for entry in os.scandir(output))}"


def _say(text: str) -> None:
    # When nobody listens any more, the bed sees the end of its input by itself.
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
