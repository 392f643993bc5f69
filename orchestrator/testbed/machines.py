"""What a run does otherwise in a guest's virtual time than on a real machine."""

import contextlib
import fcntl
import os
import time

from orchestrator.protocol.numbering import CHANNEL_ENDS
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.network import ovs

ORIGIN_GRID_NS = 10_000_000_000
ORIGIN_OFFSET_NS = 333_333
"""Keeps samples and starts, on round times, apart from the kernel's ticks, on round times too."""

_SETTLE_NS = 100_000_000
_LEAST_ROUNDS = 3
"""Of a probe, so that one in which the machine halts is one of several."""
_LATE_DATAGRAMS_NS = 100_000_000
"""A datagram that has not left by then after it was due makes a run fail. Less counts into its
delay, and shows as the machine's scheduling delay."""
_SEEDED_NETEM = (6, 6)
"""The first Linux whose netem takes a seed; before, it draws from the kernel's common generator."""
_TRIAL_WAKEUPS, _TRIAL_PERIOD_NS = 250, 2_000_000
_LEAST_LATE_NS, _MOST_LATE_NS, _MARGIN = 500_000, 10_000_000, 4
"""A quiet machine is 0.1 ms late; with a bucket for 0.34 ms one that was 1 ms late in 1 of 100
cases lost 1% of a link's rate. Deeper than 10 ms the bursts would matter more."""
_SOFTIRQ_ROUNDS = 20
"""What has come meanwhile the kernel sees to up to ten times before a timer's turn comes again
(MAX_SOFTIRQ_RESTART in kernel/softirq.c), and a packet costs about what a wake-up does; but ten
were too few. An emulated processor that had been 0.45 ms late when idle was 5 ms late in the run,
where a wake-up took 1 ms. On one where it took 0.3 ms, a 10 Mbit/s link lost 1% of its rate with a
bucket for 3 ms, and less than 0.1% with one for 5.5."""


class Guest:
    """A guest in virtual time, all of which is the bed's.

    ``echoes`` is how many round trips are measured for a base RTT, the least of which counts.
    """

    echoes = 3

    def begin(self, spec):
        """Prepare the whole machine, before anything is built."""
        system.prefer_softirqs()
        self.restart_randomness()
        for name, value in spec["global_sysctls"].items():
            write_sysctl(name, value)
        if spec["switches"]:
            ovs.start_daemons()
        # However long this took: timers of queues (PIE's) then run in step with traffic.
        system.Timer().sleep_until(ovs.EARLIEST_START_NS)

    def restart_randomness(self):
        """Begin a new epoch of the kernel's seeded generator (our guest's patch).

        Whatever number of random values was drawn before, what follows depends on the seed alone.
        """
        descriptor = os.open("/dev/urandom", os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, system.RNDCLEARPOOL)
        finally:
            os.close(descriptor)

    def origin_ns(self):
        """Return when traffic starts: on a coarse grid of the clock, however long set-up took."""
        soonest = system.monotonic_ns() + _SETTLE_NS
        grid_ns = max(2 * ORIGIN_GRID_NS, -(-soonest // ORIGIN_GRID_NS) * ORIGIN_GRID_NS)
        return grid_ns + ORIGIN_OFFSET_NS

    def watch(self, origin_ns, duration_ns):
        """Watch over nothing: computing takes no time in a guest."""

    def leave_to_packets(self):
        """Do nothing: a guest has one CPU."""

    def among_packets(self):
        """Return a context for what the sampling thread sends: none is needed."""
        return contextlib.nullcontext()

    def watched(self):
        """Return the facts of what ``watch`` began: none."""
        return {}


class Real:
    """A real machine in real time, on which the bed is a guest itself: nothing global is touched.

    Args:
        host: facts about the machine, JSON-ready.
        load: a ``hostload.Watcher``.
    """

    # Each wake-up of the process that waits for an answer may be late: the least of three echoes
    # over 100 ms was once 1.8 ms too long on a busy virtual machine.
    echoes = 12

    def __init__(self, host, load):
        self._host, self._load = host, load

    def begin(self, spec):
        """Start the switches' daemons, and size the token buckets for how late timers are here.

        What is global has been seen to by local.py.
        """
        late_ns, seeded = fit_to_machine(spec)
        self._host |= {"late_timers_ns": late_ns, "netem_seeded": seeded}
        for probe in spec["probes"]["bursts"]:
            probe["rounds"] = max(probe["rounds"], _LEAST_ROUNDS)
        if spec["switches"]:
            ovs.start_daemons()

    def restart_randomness(self):
        """Do nothing: the machine's own randomness is not the bed's to touch."""

    def origin_ns(self):
        """Return when traffic starts: soon."""
        return system.monotonic_ns() + _SETTLE_NS

    def watch(self, origin_ns, duration_ns):
        """Watch the machine's load and the delays of its scheduler during that time."""
        self._load.start(origin_ns, duration_ns)

    def leave_to_packets(self):
        """Go on elsewhere than on the CPU of the packets; for the thread that called ``watch``."""
        self._load.leave()

    def among_packets(self):
        """Return a context for what the sampling thread sends: it is back on the packets' CPU."""
        return self._load.among_packets()

    def watched(self):
        """Return the facts of what was watched, by the names of the facts."""
        return {"host": {**self._host, **self._load.result()}}


def fit_to_machine(spec):
    """Let a specification ask only for what this machine can do.

    Token buckets are made for how late its timers are, netems get no seed that the kernel does not
    know, and datagrams may be as late as a machine is.

    Returns:
        How late timers are expected to be, in ns, and whether netems are seeded.
    """
    late_ns, cost_ns = _trial()
    late_ns = max(_MARGIN * late_ns, _SOFTIRQ_ROUNDS * cost_ns, _LEAST_LATE_NS)
    late_ns = min(late_ns, _MOST_LATE_NS)
    seeded = system.linux_version() >= _SEEDED_NETEM
    spec["real_time"] = True
    spec["late_datagrams_ns"] = _LATE_DATAGRAMS_NS
    for link in spec["links"]:
        for direction in CHANNEL_ENDS:
            link[direction]["late_timers_ns"] = late_ns
            netem = link[direction]["netem"]
            if netem is not None and not seeded:
                netem["settings"] = [one for one in netem["settings"] if one["name"] != "seed"]
    return late_ns, seeded


def _trial():
    """Return how late 99 of 100 wake-ups are, now, and how long one keeps the CPU; both in ns."""
    timer, late = system.Timer(), []
    due_ns = system.monotonic_ns()
    spent_ns = time.thread_time_ns()
    for _wakeup in range(_TRIAL_WAKEUPS):
        due_ns += _TRIAL_PERIOD_NS
        timer.sleep_until(due_ns)
        late.append(system.monotonic_ns() - due_ns)
    spent_ns = time.thread_time_ns() - spent_ns
    return sorted(late)[len(late) * 99 // 100], spent_ns // _TRIAL_WAKEUPS
