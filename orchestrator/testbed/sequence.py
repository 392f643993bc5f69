"""The sequence of a run inside the bed, for a whole network and for a lab host's part of one."""

from __future__ import annotations

from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import readback
from orchestrator.testbed.network.chosen_losses import ChosenLosses
from orchestrator.testbed.sampling.sampler import Sampler
from orchestrator.testbed.scheduler import Scheduler
from orchestrator.testbed.traffic import Services, engines

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.bed import Bed, Engine, Environment
    from orchestrator.testbed.sampling.records import Records


def run(environment: Environment, records: Records) -> None:
    """Build, verify, probe, run and sample; everything that is found goes to ``records``."""
    records.progress("setup")
    system.set_exact_timers()
    bed = environment.build()
    records.fact("channels", at="start", channels=readback.verify_channels(bed))
    records.fact("versions", **environment.versions())
    environment.probe_before_engines()

    flows = _make_engines(bed, records)
    load = environment.load
    sampler = Sampler(bed, records, flows, load.among_packets)
    losses = ChosenLosses(bed)
    scheduler = Scheduler(
        bed,
        lambda problem: records.fact("timeline_error", problem=problem),
        sampler.forget_places,
        losses,
    )
    records.fact("queues", **environment.queue_devices(), **sampler.queues())
    environment.probe_before_traffic()
    losses.begin()
    records.fact("interfaces", at="start", interfaces=environment.interfaces())
    records.fact("host_state", at="start", **environment.host_state("start"))
    records.fact("sysctls", **environment.sysctls())
    records.fact("softnet", at="start", drops=readback.softnet_drops())
    trace = environment.trace()
    records.fact("counters", **sampler.begin())
    origin_ns = environment.await_origin_ns()
    trace.begin(origin_ns)
    load.watch(origin_ns, bed.spec["duration_ns"])
    scheduler.start(origin_ns)
    for flow in flows:
        flow.start(origin_ns)
    load.leave_to_packets()
    sampler.run(origin_ns)
    for name, values in load.watched().items():
        records.fact(name, **values)

    records.fact("timeline", **scheduler.fact())
    applied = readback.channels(bed)
    differences = readback.differences(bed, applied)
    records.fact("channels", at="end", channels=applied, differences=differences)
    records.fact("namespaces", at="end", values=readback.namespaces(bed))
    records.fact("interfaces", at="end", interfaces=environment.interfaces())
    records.fact("host_state", at="end", **environment.host_state("end"))
    records.fact("softnet", at="end", drops=readback.softnet_drops())
    losses.end()
    environment.measure_after_traffic()
    trace.end(records)
    records.close()
    records.over = True
    environment.probe_after_traffic()
    records.fact("done", origin_ns=origin_ns, duration_ns=bed.spec["duration_ns"])
    records.progress("done", bed.spec["duration_ns"])


def _make_engines(bed: Bed, records: Records) -> list[Engine]:
    """Return the engines of all flows that have an end here, in the specification's order."""
    known = engines()
    return [
        known[flow["engine"]](
            bed, flow, Services(records, flow.get("number", position), flow["name"])
        )
        for position, flow in enumerate(bed.spec["flows"])
        if bed.holds(flow["source"]) or bed.holds(flow["sink"])
    ]
