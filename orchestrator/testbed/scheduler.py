"""Applies planned steps while traffic runs: each at its exact time, in one thread.

The steps are those of protocol/specification.py (PlannedStep), and two kinds for the traces that
channels follow. Each step also changes the bed's specification. So the network at the end of the
run is compared with what the last step requested. A step is applied one nanosecond early: what
happens at the step's own time finds it applied, whichever thread wakes up first.
"""

from __future__ import annotations

import heapq
import itertools
import threading

from orchestrator.protocol.links.netem import LOSS_PREFIX
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network import link
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network.switch import openflow
from orchestrator.testbed.sampling.impairment_counters import ImpairmentCounters, is_counted

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Iterable, Iterator
    from typing import Literal

    from orchestrator.protocol.specification import (
        ChannelSpec,
        LinkStep,
        NetemStep,
        PlannedStep,
        QueueSpec,
        QueueStep,
        SettingSpec,
        TimedStep,
    )
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.network.chosen_losses import ChosenLosses

    class StopStep(TimedStep):
        """Let packets leave a trace's link by grants only."""

        do: Literal["stop"]
        granted: link.GrantedLink

    class GrantStep(TimedStep):
        """Let that many full-size frames leave a trace's link."""

        do: Literal["grant"]
        granted: link.GrantedLink
        frames: int

    Step = PlannedStep | StopStep | GrantStep

_EARLY_NS = 1
_NS_PER_MS = 1_000_000
_FAILURES = (OSError, BuildError, openflow.OpenFlowError)


class Scheduler:
    """Applies steps in the order of their times.

    Args:
        bed: the built network. Its specification has the steps ("planned_steps") and the channels
            that follow a trace ("traces").
        report: called with a text when a step failed; no further step is applied then.
        changed: called after a step, because counters of qdiscs may have moved in a dump.
        losses: counts packets that are lost by their numbers; a step may replace the list.
    """

    def __init__(
        self,
        bed: Bed,
        report: Callable[[str], None],
        changed: Callable[[], None],
        losses: ChosenLosses,
    ) -> None:
        self._bed, self._losses = bed, losses
        self._report, self._changed = report, changed
        self._applied = 0
        self._events: dict[int, int] = {}
        self._late_ns: dict[str, int] = {}
        with system.inside(bed.wires_fd, bed.home_fd):
            self._wires = netlink.Netlink()
        self._impairment_counters = ImpairmentCounters(bed, self._wires)
        self._netem_changes: dict[str, int] = {}
        self._traces = {
            self._granted(trace["channel"]): trace["opportunities"] for trace in bed.spec["traces"]
        }

    def start(self, origin_ns: int) -> None:
        """Start the thread; times of steps count from ``origin_ns``."""
        if self._bed.spec["planned_steps"] or self._traces:
            threading.Thread(target=self._run, args=(origin_ns,), daemon=True).start()

    def fact(self) -> dict[str, object]:
        """Return the values of the fact "timeline"; see protocol/facts.py."""
        due = len(self._bed.spec["planned_steps"]) + len(self._traces)
        due += sum(map(len, self._traces.values()))
        return {
            "steps": self._applied,
            "due": due,
            "late_ns": self._late_ns,
            "events": list(self._events.items()),
            "granted_frames": sum(traced_link.granted_frames for traced_link in self._traces),
            "impairments": self._impairment_counters.totals(),
            "netem_changes": self._netem_changes,
            "chosen_losses": self._losses.totals(),
        }

    def _run(self, origin_ns: int) -> None:
        timer = system.Timer()
        time_ns = 0
        try:
            for time_ns, steps in itertools.groupby(self._schedule(), key=_time_ns):
                timer.sleep_until(origin_ns + time_ns - _EARLY_NS)
                for step in steps:
                    self._apply(step)
                    self._note(step, system.monotonic_ns() - origin_ns)
        except _FAILURES as error:
            self._report(f"at {time_ns / 1e9} s: {error}")
        except Exception as error:
            self._report(f"at {time_ns / 1e9} s: {type(error).__name__}: {error}")
            raise  # the traceback goes to the log

    def _schedule(self) -> Iterator[Step]:
        """Return all steps in the order of time; those of traces come after the others."""
        stops: list[Step] = [
            {"time_ns": 0, "do": "stop", "granted": traced_link} for traced_link in self._traces
        ]
        grants = [_grants(traced_link, times) for traced_link, times in self._traces.items()]
        steps = [*stops, *self._bed.spec["planned_steps"]]
        return heapq.merge(steps, *grants, key=_time_ns)

    def _apply(self, step: Step) -> None:
        if step["do"] == "grant":
            step["granted"].grant(step["frames"])
        elif step["do"] == "stop":
            step["granted"].begin()
        elif step["do"] == "link":
            self._set_link(step)
        elif step["do"] == "queue":
            self._set_queue(step)
        elif step["do"] == "netem":
            self._set_netem(step)
        elif step["do"] == "route":
            self._bed.set_rules(step["rules"])
        elif step["do"] == "sysctl":
            self._bed.set_namespace(step["host"], step["name"], step["value"])
        else:
            raise ValueError(f"no step is called {step['do']}")

    def _note(self, step: Step, now_ns: int) -> None:
        """Note that a step is applied, at ``now_ns`` after the start of traffic."""
        self._applied += 1
        if step["do"] != "grant":
            self._changed()
        done_ns = max(now_ns, step["time_ns"])
        if done_ns - step["time_ns"] > self._late_ns.get(step["do"], -1):
            self._late_ns[step["do"]] = done_ns - step["time_ns"]
        if "event" in step:
            self._events[step["event"]] = done_ns

    def _channel(self, name: str) -> tuple[ChannelSpec, str, int]:
        """Return (specification, exit's name and index) of a channel, ``bottleneck:forward``."""
        link_name, direction = link_and_direction(name)
        its_link = self._bed.links[link_name]
        _source, sink = CHANNEL_ENDS[direction]
        return its_link.spec[direction], *its_link.device(sink)

    def _granted(self, name: str) -> link.GrantedLink:
        """Return the link of a channel that follows a trace."""
        channel, device, index = self._channel(name)
        settings = _present(channel["link"], device)["settings"]
        return link.GrantedLink(self._wires, index, device, settings)

    def _set_link(self, step: LinkStep) -> None:
        channel, name, index = self._channel(step["channel"])
        _replace(_present(channel["link"], name), step["settings"])
        link.change(self._wires, index, step["settings"], name)
        self._losses.note(step["channel"], step["settings"])

    def _set_queue(self, step: QueueStep) -> None:
        channel, name, index = self._channel(step["channel"])
        queue = _present(channel["queue"], name)
        _replace(queue, step["settings"])
        qdisc.add_queue(self._wires, index, queue, name, change=True)
        self._wires.flush()

    def _set_netem(self, step: NetemStep) -> None:
        """Replace settings by their names; a loss replaces all settings of the old loss."""
        channel, name, index = self._channel(step["channel"])
        netem = _present(channel["netem"], name)
        changes = self._netem_changes
        changes[step["channel"]] = changes.get(step["channel"], 0) + 1
        if any(map(is_counted, step["settings"])):
            self._impairment_counters.count(step["channel"])
        if any(map(_is_loss, step["settings"])):
            netem["settings"] = [setting for setting in netem["settings"] if not _is_loss(setting)]
        _replace(netem, step["settings"])
        qdisc.add_netem(self._wires, index, netem, name, change=True)
        self._wires.flush()


def _grants(granted: link.GrantedLink, opportunities: Iterable[tuple[int, int]]) -> Iterator[Step]:
    """Yield the steps of one trace."""
    for time_ms, frames in opportunities:
        time_ns = time_ms * _NS_PER_MS
        yield {"time_ns": time_ns, "do": "grant", "granted": granted, "frames": frames}


def _time_ns(step: Step) -> int:
    return step["time_ns"]


def _is_loss(setting: SettingSpec) -> bool:
    return setting["name"].startswith(LOSS_PREFIX)


def _present(qdisc_spec: QueueSpec | None, device: str) -> QueueSpec:
    if qdisc_spec is None:
        raise BuildError(f"{device} has no qdisc that a step could change")
    return qdisc_spec


def _replace(qdisc_spec: QueueSpec, settings: Iterable[SettingSpec]) -> None:
    """Replace settings by their names, each in its place; new ones come last."""
    new = {setting["name"]: setting for setting in settings}
    kept = [new.pop(setting["name"], setting) for setting in qdisc_spec["settings"]]
    qdisc_spec["settings"] = [*kept, *new.values()]
