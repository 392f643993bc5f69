"""What changes while traffic runs: each step at its exact time, by one thread.

A step is {"time_ns", "do", ...}; OPERATIONS says what each ``do`` means, and "event" which event of
the scenario it is of, if it is. The bed's specification is changed along, so that the end of the
run is compared with what the last step asked for. A step is done a nanosecond early: what happens
at its very time finds it done, whoever is woken first.
"""

import heapq
import itertools
import threading

from orchestrator.protocol.numbering import CHANNEL_ENDS
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network import openflow, ovs, qdisc
from orchestrator.testbed.network.bucket import Bucket
from orchestrator.testbed.sampling.impairment_counters import LOSS, Ledger, judged

_EARLY_NS = 1
_NS_PER_MS = 1_000_000
_FAILURES = (OSError, BuildError, openflow.OpenFlowError)


class Scheduler:
    """Applies steps in the order of their times.

    Args:
        bed: the built network; its specification has the steps ("planned_steps") and what channels
            follow a trace ("traces").
        report: called with a text when a step failed; no other is done then.
        changed: called after a step: counters of qdiscs may lie elsewhere in a dump.
    """

    def __init__(self, bed, report, changed):
        self.bed = bed
        self._report, self._changed = report, changed
        self._applied = 0
        self._events = {}
        self._late_ns = {}
        with system.inside(bed.wires_fd, bed.home_fd):
            self.wires = netlink.Netlink()
        self.ledger = Ledger(bed, self.wires)
        self.netem_changes = {}
        self._buckets, self.changed_buckets = {}, []
        self._traces = {
            self.bucket(trace["channel"]): trace["opportunities"] for trace in bed.spec["traces"]
        }
        self.bridges = _connections(bed)

    def start(self, origin_ns):
        """Start the thread; times of steps count from ``origin_ns``."""
        if self.bed.spec["planned_steps"] or self._traces:
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()

    def fact(self):
        """Return what was done.

        How many steps, and how many were due; the worst lateness of each kind; of each event when
        its last step was done, after the start of traffic; the frames that traces had room for;
        what each channel whose impairments changed did to packets under each setting of them; and
        how often each channel's netem changed.
        """
        due = len(self.bed.spec["planned_steps"]) + len(self._traces)
        due += sum(map(len, self._traces.values()))
        return {
            "steps": self._applied,
            "due": due,
            "late_ns": self._late_ns,
            "events": list(self._events.items()),
            "granted_frames": sum(bucket.granted_frames for bucket in self._traces),
            "impairments": self.ledger.closed(),
            "netem_changes": self.netem_changes,
        }

    def _run(self, origin_ns):
        timer = system.Timer()
        time_ns = 0
        try:
            for time_ns, steps in itertools.groupby(self._schedule(), key=_time_ns):
                timer.sleep_until(origin_ns + time_ns - _EARLY_NS)
                for step in steps:
                    OPERATIONS[step["do"]](self, step)
                    self._note(step, system.monotonic_ns() - origin_ns)
                while self.changed_buckets:
                    self.changed_buckets.pop().look()
        except _FAILURES as error:
            self._report(f"at {time_ns / 1e9} s: {error}")
        except Exception as error:
            self._report(f"at {time_ns / 1e9} s: {type(error).__name__}: {error}")
            raise  # the traceback goes to the log

    def _schedule(self):
        """Return all steps in the order of time; a trace's come after the others."""
        steps = [
            *({"time_ns": 0, "do": "stop", "bucket": bucket} for bucket in self._traces),
            *self.bed.spec["planned_steps"],
        ]
        grants = [_grants(bucket, times) for bucket, times in self._traces.items()]
        return heapq.merge(steps, *grants, key=_time_ns)

    def _note(self, step, now_ns):
        """Note that a step is done, at ``now_ns`` after the start of traffic."""
        self._applied += 1
        if step["do"] != "grant":
            self._changed()
        done_ns = max(now_ns, step["time_ns"])
        if done_ns - step["time_ns"] > self._late_ns.get(step["do"], -1):
            self._late_ns[step["do"]] = done_ns - step["time_ns"]
        if "event" in step:
            self._events[step["event"]] = done_ns

    def channel(self, name):
        """Return (link, specification, device ends) of a channel such as ``bottleneck:forward``."""
        link_name, _, direction = name.rpartition(":")
        link = self.bed.links[link_name]
        return link, link.spec[direction], CHANNEL_ENDS[direction]

    def bucket(self, name):
        """Return the token bucket of a channel."""
        if name not in self._buckets:
            self._buckets[name] = Bucket(self.bed, self.wires, name)
        return self._buckets[name]


def _grants(bucket, opportunities):
    """Yield the steps of one trace."""
    for time_ms, frames in opportunities:
        time_ns = time_ms * _NS_PER_MS
        yield {"time_ns": time_ns, "do": "grant", "bucket": bucket, "frames": frames}


def _time_ns(step):
    return step["time_ns"]


def _connections(bed):
    """Return {switch: connection} of those whose rules will change."""
    switches = {
        rule["switch"]
        for step in bed.spec["planned_steps"]
        if step["do"] == "route"
        for rule in step["rules"]
    }
    return {
        name: openflow.Connection(ovs.control_socket(bed.nodes[name].name)) for name in switches
    }


def _stop(_scheduler, step):
    """Let nothing through {"bucket"} but what grants do."""
    step["bucket"].stop()


def _grant(_scheduler, step):
    """Let {"frames"} through {"bucket"}."""
    step["bucket"].grant(step["frames"])


def _rate(scheduler, step):
    """Set {"channel", "rate_bps"}; the queue keeps its limit in bytes or packets."""
    bucket = scheduler.bucket(step["channel"])
    bucket.set_rate(step["rate_bps"])
    scheduler.changed_buckets.append(bucket)


def _queue(scheduler, step):
    """Set {"channel", "settings"}: those named replace the queue's settings of the same names."""
    link, spec, (_source, queue_end, _sink) = scheduler.channel(step["channel"])
    _replace(spec["queue"], step["settings"])
    name, index = link.device(queue_end)
    qdisc.add_queue(scheduler.wires, index, spec["queue"], name, change=True)
    scheduler.wires.flush()


def _netem(scheduler, step):
    """Set {"channel", "settings"}: those named replace the netem's settings of the same names.

    A loss replaces the loss, whatever its settings are called.
    """
    link, spec, (_source, _queue_end, sink) = scheduler.channel(step["channel"])
    netem = spec["netem"]
    changes = scheduler.netem_changes
    changes[step["channel"]] = changes.get(step["channel"], 0) + 1
    if any(map(judged, step["settings"])):
        scheduler.ledger.note(step["channel"])
    if any(each["name"].startswith(LOSS) for each in step["settings"]):
        netem["settings"] = [one for one in netem["settings"] if not one["name"].startswith(LOSS)]
    _replace(netem, step["settings"])
    name, index = link.device(sink)
    qdisc.add_netem(scheduler.wires, index, netem, name, change=True)
    scheduler.wires.flush()


def _replace(spec, settings):
    """Replace settings by their names, each in its place."""
    new = {setting["name"]: setting for setting in settings}
    kept = [new.pop(setting["name"], setting) for setting in spec["settings"]]
    spec["settings"] = [*kept, *new.values()]


def _route(scheduler, step):
    """Set {"rules"} (protocol/specification.py, RuleSpec) of all switches at once.

    All are told before any answers: Open vSwitch then works them off in one round.
    """
    bed = scheduler.bed
    macs = {host["name"]: host["mac"] for host in bed.spec["hosts"]}
    messages = {}
    for rule in step["rules"]:
        switch, link = rule["switch"], rule["link"]
        port = None if link is None else bed.port(switch, link)
        message = openflow.pair_rule(macs[rule["source"]], macs[rule["sink"]], port)
        messages.setdefault(switch, []).append(message)
    for switch, messages_of_one in messages.items():
        scheduler.bridges[switch].send(messages_of_one)
    for switch in messages:
        scheduler.bridges[switch].wait()


def _sysctl(scheduler, step):
    """Set {"name", "value"} in the namespace of {"host"}."""
    scheduler.bed.set_namespace(step["host"], step["name"], step["value"])


OPERATIONS = {
    "stop": _stop,
    "grant": _grant,
    "rate": _rate,
    "queue": _queue,
    "netem": _netem,
    "route": _route,
    "sysctl": _sysctl,
}
