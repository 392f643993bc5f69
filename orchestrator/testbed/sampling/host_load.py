"""Monitors a real machine during a run: how late wake-ups are, and what uses the CPU.

A process of its own sleeps until absolute times and notes how late it woke up. It has the priority
and the CPU of the bed's other processes, so the bed's timers are as late as its own. Every second
it reads what the CPU did. Source: proc(5), Documentation/accounting/psi.rst.

The process must use little CPU time itself. On an emulated processor a wake-up from sleep takes
0.5 ms, and a wake-up by a timer descriptor takes 1.0 ms.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time

from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator

    from orchestrator.protocol.reports.machine_facts import Load, Second

PERIOD_NS = 10_000_000
SECOND_NS = 1_000_000_000
MOST_READINGS = 2
"""A reading of the CPU's counters may take so many times the shortest one without being late."""
_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
# Indices among the fields of /proc/PID/stat after the program's name.
_GROUP_FIELD, _USER_TIME_FIELD = 2, 11
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class LoadMonitor:
    """The monitoring process. Create it before any thread is started.

    Args:
        spare: other CPUs that the bed may use; see ``leave``.
        shared: whether /proc also has processes that are not the bed's. The bed's processes are
            then those in the process group of this process.
    """

    def __init__(self, spare: Iterable[int] = (), shared: bool = False) -> None:
        self._cpu = min(os.sched_getaffinity(0))
        self._spare = set(spare)
        group = os.getpgid(0) if shared else None
        requests, self._request_pipe = os.pipe()
        self._result_pipe, results = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self._request_pipe)
                system.die_with_parent()
                _monitor(requests, results, self._cpu, group)
            finally:
                os._exit(0)
        os.close(requests)
        os.close(results)

    def start(self, origin_ns: int, duration_ns: int) -> None:
        """Monitor from ``origin_ns`` of the monotonic clock for ``duration_ns``.

        The calling thread must be the one that calls ``leave`` later.
        """
        moved_thread = threading.get_native_id() if self._spare else None
        os.write(self._request_pipe, json.dumps([origin_ns, duration_ns, moved_thread]).encode())
        os.close(self._request_pipe)

    def leave(self) -> None:
        """Move the calling thread to other CPUs, if there are any, and leave this one to packets.

        The sampling thread calls this: no packet waits for a sample, but on one CPU a sample would
        delay packets. A sample of a network of two flows takes 9 ms on an emulated processor. The
        kernel's softirq thread has a lower priority than the bed's processes. The 99th percentile
        of the wake-ups' lateness was 15 ms with both on one CPU, and 5 ms otherwise.
        """
        if self._spare:
            os.sched_setaffinity(0, self._spare)

    @contextlib.contextmanager
    def among_packets(self) -> Iterator[None]:
        """Run the body on the packets' CPU; only for the thread that called ``leave``.

        The thread needs this to send packets itself. Each CPU has a backlog of its own, so a packet
        that is sent from another CPU may overtake an earlier packet.
        """
        if self._spare:
            os.sched_setaffinity(0, {self._cpu})
        try:
            yield
        finally:
            self.leave()

    def result(self) -> Load:
        """Wait until the monitored time is over and return the measurements.

        Raises:
            RuntimeError: the monitoring process ended early.
        """
        text = b""
        while chunk := os.read(self._result_pipe, 1 << 16):
            text += chunk
        os.waitpid(self._process, 0)
        if not text:
            raise RuntimeError("the process that monitored the machine's load was ended")
        load: Load = json.loads(text)
        return load


def _monitor(requests: int, results: int, cpu: int, group: int | None) -> None:
    """Wait for a request, measure, and write the result; all in the monitoring process."""
    request = os.read(requests, 4096)
    if not request:  # the bed failed before traffic
        return
    origin_ns, duration_ns, moved_thread = json.loads(request)
    load = _measured(origin_ns, duration_ns, moved_thread, cpu, group)
    data = memoryview(json.dumps(load).encode())
    while data:
        data = data[os.write(results, data) :]


def _measured(
    origin_ns: int, duration_ns: int, moved_thread: int | None, cpu: int, group: int | None
) -> Load:
    """Measure wake-ups and the CPU's use until the end, and return the result."""
    system.set_exact_timers()
    late: list[int] = []
    seconds: list[Second] = []
    missed = 0
    end_ns = origin_ns + duration_ns
    due_ns, edge_ns = origin_ns, origin_ns + SECOND_NS
    _late_ns(origin_ns)
    before, worst_ns = _CpuCounters(cpu, group, moved_thread), 0
    shortest_ns = system.monotonic_ns() - before.time_ns
    while due_ns < end_ns:
        due_ns += PERIOD_NS
        late_ns = _late_ns(due_ns)
        late.append(late_ns)
        worst_ns = max(worst_ns, late_ns)
        if due_ns >= edge_ns or due_ns >= end_ns:
            after = _CpuCounters(cpu, group, moved_thread)
            seconds.append(_second(before, after, worst_ns))
            before, worst_ns = after, 0
            edge_ns += SECOND_NS
            # Wake-ups that were due during the reading were late because of the reading. But only
            # for the time that it needs: a machine that stood still meanwhile was late.
            now_ns = system.monotonic_ns()
            shortest_ns = min(shortest_ns, now_ns - after.time_ns)
            needed_ns = min(now_ns, end_ns, after.time_ns + MOST_READINGS * shortest_ns) - due_ns
            skipped = max(needed_ns, 0) // PERIOD_NS
            missed += skipped
            due_ns += skipped * PERIOD_NS
    late.sort()
    return {
        "cpu": cpu,
        "cpus": os.cpu_count() or 1,
        "wakeups": len(late),
        "missed": missed,
        "late_ns": {
            "median": late[len(late) // 2],
            "p99": late[len(late) * 99 // 100],
            "max": late[-1],
        },
        "seconds": seconds,
    }


def _late_ns(due_ns: int) -> int:
    """Sleep until ``due_ns``, and return by how much later the process woke up."""
    left_ns = due_ns - system.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)  # how late a sleep ends is what is measured
    return system.monotonic_ns() - due_ns


class _CpuCounters:
    """The kernel's counters of one CPU at the time of construction.

    Args:
        cpu: the CPU.
        group: the bed's process group; None counts all processes in /proc as the bed's.
        moved_thread: a thread of the bed that runs on another CPU; None where there is none.
    """

    def __init__(self, cpu: int, group: int | None, moved_thread: int | None) -> None:
        self.time_ns = system.monotonic_ns()
        with open("/proc/stat") as table:
            fields = next(line.split() for line in table if line.startswith(f"cpu{cpu} "))
        times_s = (int(field) / _TICKS_PER_S for field in fields[1:])
        self.cpu_s = dict(zip(_STAT_FIELDS, times_s))  # noqa: B905 - newer kernels have more
        self.own_s = _own_s(group)
        if moved_thread is not None:
            self.own_s -= _spent_s(f"{os.getppid()}/task/{moved_thread}", 2)
        self.pressure_us = _pressure_us()


def _second(before: _CpuCounters, after: _CpuCounters, worst_ns: int) -> Second:
    """Return the shares of the time between two readings."""
    length_s = (after.time_ns - before.time_ns) / 1e9
    spent_s = {name: after.cpu_s[name] - before.cpu_s[name] for name in _STAT_FIELDS}
    own_s = after.own_s - before.own_s
    idle_s = spent_s["idle"] + spent_s["iowait"]
    known_s = own_s + spent_s["softirq"] + spent_s["steal"] + idle_s
    if before.pressure_us is None or after.pressure_us is None:
        pressure = None
    else:
        pressure = round((after.pressure_us - before.pressure_us) / 1e6 / length_s, 4)
    return {
        "late_ns": worst_ns,
        "own": round(own_s / length_s, 4),
        "softirq": round(spent_s["softirq"] / length_s, 4),
        "steal": round(spent_s["steal"] / length_s, 4),
        "idle": round(idle_s / length_s, 4),
        # The rest of the time. A kernel counts the CPU time of processes by ticks, and a kernel
        # that is too busy misses some. User Mode Linux counted 8% of a loop that used all the time.
        "others": round(max(length_s - known_s, 0.0) / length_s, 4),
        "pressure": pressure,
    }


def _own_s(group: int | None) -> float:
    """Return the CPU seconds of all processes of the bed: of its /proc, or of a process group."""
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    # User and system time of each process, and of its children that have ended.
    return sum(_spent_s(name, 4, group) for name in names)


def _spent_s(name: str, times: int, group: int | None = None) -> float:
    """Return the sum of the first ``times`` CPU times in /proc/NAME/stat.

    It is 0 for a process of another process group than ``group``.
    """
    try:
        with open(f"/proc/{name}/stat") as text:
            fields = text.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # it has ended; its parent's counters include its time
    if group is not None and int(fields[_GROUP_FIELD]) != group:
        return 0.0
    spent = fields[_USER_TIME_FIELD : _USER_TIME_FIELD + times]
    return sum(int(field) for field in spent) / _TICKS_PER_S


def _pressure_us() -> int | None:
    """Return the time since boot in which anything waited for a CPU; None where not known."""
    try:
        with open("/proc/pressure/cpu") as text:
            return int(text.readline().rpartition("total=")[2])
    except OSError:
        return None
