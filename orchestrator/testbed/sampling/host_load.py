"""Watches a real machine during a run: how late it wakes a process up, and who uses its CPU.

A process of its own, at the priority and on the CPU of the bed's other processes, sleeps until
absolute times and notes how late it woke up: so late come the timers of whatever the bed does.
Every second it reads what the CPU did. Source: proc(5), Documentation/accounting/psi.rst.

It must not be what keeps the CPU busy: on an emulated processor a wake-up takes 0.5 ms, and by way
of a timer's descriptor 1.0 ms.
"""

import contextlib
import json
import os
import threading
import time

from orchestrator.testbed.kernel import system

PERIOD_NS = 10_000_000
SECOND_NS = 1_000_000_000
_STAT_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_GROUP, _USER = 2, 11  # of the words behind the program's name
_TICKS = os.sysconf("SC_CLK_TCK")


class Watcher:
    """The watching process. To be made before any thread is started.

    Args:
        spare: other CPUs that the bed may use; see ``leave``.
        shared: whether /proc has processes of others, too; the bed's are then those of the group
            of this process.
    """

    def __init__(self, spare=(), shared=False):
        self._cpu = min(os.sched_getaffinity(0))
        self._spare = set(spare)
        group = os.getpgid(0) if shared else None
        asked, self._ask = os.pipe()
        self._answer, answers = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self._ask)
                system.die_with_parent()
                _watch(asked, answers, self._cpu, group)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answers)

    def start(self, origin_ns, duration_ns):
        """Watch from ``origin_ns`` of the monotonic clock for ``duration_ns``.

        The calling thread is the one that will ``leave``.
        """
        leaves = threading.get_native_id() if self._spare else None
        os.write(self._ask, json.dumps([origin_ns, duration_ns, leaves]).encode())
        os.close(self._ask)

    def leave(self):
        """Move the calling thread to other CPUs, if there are any, and leave this one to packets.

        For who samples: no packet waits for that, but packets would wait for it. A sample of a
        network of two flows takes 9 ms on an emulated processor, and the kernel's softirq thread
        comes behind all of the bed: with both on one CPU 99 of 100 wake-ups were 15 ms late,
        otherwise 5.
        """
        if self._spare:
            os.sched_setaffinity(0, self._spare)

    @contextlib.contextmanager
    def among_packets(self):
        """Run the body where the packets are, by the thread that did ``leave``.

        For what sends something itself: each CPU has a backlog of its own, so what is sent from
        another CPU may overtake what was sent before.
        """
        if self._spare:
            os.sched_setaffinity(0, {self._cpu})
        try:
            yield
        finally:
            self.leave()

    def result(self):
        """Wait until the time is over and return what was seen.

        {"cpu": the bed's, "cpus": how many the machine has, "wakeups": how many, "missed": how many
        more were due while the CPU's counters were read, "late_ns": how late they were, {"median",
        "p99", "max"}, "seconds": a list of {"late_ns": the worst of that second, "own", "others",
        "softirq", "steal", "idle": shares of the bed's CPU, "pressure":
        share of the time in which anything on the machine waited for a CPU, null where the kernel
        does not tell}}. "own" are the bed's processes, "others" all other processes and interrupts.
        """
        told = b""
        while chunk := os.read(self._answer, 1 << 16):
            told += chunk
        os.waitpid(self._process, 0)
        if not told:
            raise RuntimeError("the process that watched over the machine's load was ended")
        return json.loads(told)


def _watch(asked, answers, cpu, group):
    request = os.read(asked, 4096)
    if not request:  # the bed failed before traffic
        return
    origin_ns, duration_ns, leaves = json.loads(request)
    system.set_exact_timers()
    late, seconds, missed = [], [], 0
    end_ns = origin_ns + duration_ns
    due_ns, edge_ns = origin_ns, origin_ns + SECOND_NS
    _late_ns(origin_ns)
    before, worst = _Reading(cpu, group, leaves), 0
    while due_ns < end_ns:
        due_ns += PERIOD_NS
        late_ns = _late_ns(due_ns)
        late.append(late_ns)
        worst = max(worst, late_ns)
        if due_ns >= edge_ns or due_ns >= end_ns:
            after = _Reading(cpu, group, leaves)
            seconds.append({"late_ns": worst, **after.since(before)})
            before, worst = after, 0
            edge_ns += SECOND_NS
            # What was due during the reading was late because of it.
            over = max(min(system.monotonic_ns(), end_ns) - due_ns, 0) // PERIOD_NS
            missed += over
            due_ns += over * PERIOD_NS
    late.sort()
    result = {
        "cpu": cpu,
        "cpus": os.cpu_count(),
        "wakeups": len(late),
        "missed": missed,
        "late_ns": {
            "median": late[len(late) // 2],
            "p99": late[len(late) * 99 // 100],
            "max": late[-1],
        },
        "seconds": seconds,
    }
    data = memoryview(json.dumps(result).encode())
    while data:
        data = data[os.write(answers, data) :]


def _late_ns(due_ns):
    """Sleep until then, and return how much later it is."""
    left_ns = due_ns - system.monotonic_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    return system.monotonic_ns() - due_ns


class _Reading:
    """What the kernel's counters are now, of one CPU; ``leaves`` is a thread that is elsewhere."""

    def __init__(self, cpu, group, leaves):
        self.time_ns = system.monotonic_ns()
        with open("/proc/stat") as table:
            words = next(line.split() for line in table if line.startswith(f"cpu{cpu} "))
        counted = (int(word) / _TICKS for word in words[1:])
        self.cpu_s = dict(zip(_STAT_FIELDS, counted))  # noqa: B905 - newer kernels count more
        self.own_s = _own_s(group)
        if leaves is not None:
            self.own_s -= _spent_s(f"{os.getppid()}/task/{leaves}", 2)
        self.waited_us = _pressure()

    def since(self, before):
        """Return the shares of the time since an earlier reading; see ``Watcher.result``."""
        length_s = (self.time_ns - before.time_ns) / 1e9
        spent = {name: self.cpu_s[name] - before.cpu_s[name] for name in _STAT_FIELDS}
        own_s = self.own_s - before.own_s
        shares = {
            "own": own_s,
            "softirq": spent["softirq"],
            "steal": spent["steal"],
            "idle": spent["idle"] + spent["iowait"],
        }
        # What is left. A kernel counts by ticks what processes use, and one that is too busy misses
        # some: User Mode Linux counted 8% of a loop that left it no time at all.
        shares["others"] = max(length_s - sum(shares.values()), 0.0)
        found = {name: round(value / length_s, 4) for name, value in shares.items()}
        waited = self.waited_us
        found["pressure"] = (
            None if waited is None else round((waited - before.waited_us) / 1e6 / length_s, 4)
        )
        return found


def _own_s(group):
    """Return the CPU seconds of all processes of the bed: of its /proc, or of a process group."""
    names = [name for name in os.listdir("/proc") if name.isdigit()]
    # User and system time, its own and that of its children that have ended.
    return sum(_spent_s(name, 4, group) for name in names)


def _spent_s(name, times, group=None):
    """Return the sum of that many times in /proc/NAME/stat, if it is of that process group."""
    try:
        with open(f"/proc/{name}/stat") as text:
            words = text.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # it has ended; its parent has its time
    if group is not None and int(words[_GROUP]) != group:
        return 0.0
    return sum(int(word) for word in words[_USER : _USER + times]) / _TICKS


def _pressure():
    """Return for how many us something has waited for a CPU since boot, None where not known."""
    try:
        with open("/proc/pressure/cpu") as text:
            return int(text.readline().rpartition("total=")[2])
    except (FileNotFoundError, OSError):
        return None
