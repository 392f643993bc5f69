"""How much CPU time others took while a theme was measured: processes, and the hypervisor."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

IDLE_CPUS = 0.1
"""CPUs that others may use on average in what is called an idle machine."""

PROC = Path("/proc")
_INIT = 1
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTimes:
    """CPU times until now, in seconds.

    ``others_s`` has the time of each process, with its ended children, by number and start.
    This process is not among them, and neither are the ones that it was started by.
    ``stolen_s`` is what the hypervisor gave to other machines. ``at_s`` is a clock.
    """

    at_s: float
    others_s: Mapping[tuple[int, int], float]
    stolen_s: float


def cpu_times(proc: Path = PROC, own: int | None = None) -> CpuTimes:
    """Return the CPU times until now. The fields of the files are those of proc(5).

    Of the first process its children are left out: it adopts and ends processes of guests.
    """
    total = (proc / "stat").read_text(encoding="ascii").partition("\n")[0].split()
    known = dict(_processes(proc))
    mine = set()
    number = os.getpid() if own is None else own
    while number in known:
        mine.add(number)
        number = int(known[number][1])
    found = {}
    for number, fields in known.items():
        if number not in mine or number == _INIT:
            # utime, stime, cutime and cstime; the 22nd field is the start
            ticks = fields[11 : 13 if number == _INIT else 15]
            found[number, int(fields[19])] = sum(map(int, ticks)) * _TICK_S
    return CpuTimes(time.monotonic(), found, int(total[8]) * _TICK_S)


def _processes(proc: Path) -> list[tuple[int, list[str]]]:
    """Return number and fields of each process, from the third field (its state) on."""
    found = []
    for path in proc.iterdir():
        if path.name.isdecimal():
            try:
                text = (path / "stat").read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
            found.append((int(path.name), text.rpartition(")")[2].split()))
    return found


def between(before: CpuTimes, after: CpuTimes) -> dict[str, float]:
    """Return how many CPUs other processes and the hypervisor took on average, JSON-ready.

    A process that ended counts only if its parent waited for it, and still runs.
    """
    wall_s = after.at_s - before.at_s
    others_s = sum(
        used_s - before.others_s.get(process, 0.0) for process, used_s in after.others_s.items()
    )
    return {
        "processes": round(others_s / wall_s, 2),
        "hypervisor": round((after.stolen_s - before.stolen_s) / wall_s, 2),
    }


def told(others: Mapping[str, float]) -> str:
    """Return a sentence on what others took, and what it means if that was much."""
    processes, hypervisor = others["processes"], others["hypervisor"]
    taken = (
        f"Meanwhile other processes used {processes:g} CPUs, and the hypervisor took {hypervisor:g}"
    )
    if processes + hypervisor <= IDLE_CPUS:
        return f"{taken}: the machine was idle."
    return f"{taken}: the times may be too long."
