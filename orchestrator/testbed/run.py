"""One run inside the bed, from the specification to its records."""

import resource
import runpy

from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import build, readback, thresholds
from orchestrator.testbed.sampling import probes
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.sampler import Sampler
from orchestrator.testbed.scheduler import Scheduler
from orchestrator.testbed.traffic import Services, engines

_MOST_FILES = 1 << 18


def run(spec, records: Records, machine):
    """Build, verify, probe, run and sample; all that is found goes to ``records``.

    ``machine`` is one of machines.py.
    """
    records.progress("setup")
    system.set_exact_timers()
    machine.begin(spec)
    readback.verify_modules(spec)
    bed = build.Bed(spec, records)
    bed.build()
    records.fact("channels", at="start", channels=readback.verify_channels(bed))
    records.fact("sysctls", **readback.sysctls(bed))
    records.fact("versions", **readback.versions(spec["flows"]))
    _run_hook(spec, bed)
    _probe(bed, records, machine.echoes)
    thresholds.make_known(bed)
    build.reset_queues(bed)

    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))
    known = engines()
    flows = [
        known[flow["engine"]](bed, flow, Services(records, number, flow["name"]))
        for number, flow in enumerate(spec["flows"])
    ]
    sampler = Sampler(bed, records, flows, machine.among_packets)
    scheduler = Scheduler(
        bed,
        lambda problem: records.fact("timeline_error", problem=problem),
        sampler.forget_places,
    )
    records.fact("queues", **sampler.queues())
    records.fact("interfaces", at="start", interfaces=readback.interfaces(bed))
    records.fact("softnet", at="start", drops=readback.softnet_drops())
    machine.restart_randomness()
    origin_ns = machine.origin_ns()
    machine.watch(origin_ns, spec["duration_ns"])
    scheduler.start(origin_ns)
    for flow in flows:
        flow.start(origin_ns)
    machine.leave_to_packets()
    sampler.run(origin_ns)
    for name, fact in machine.watched().items():
        records.fact(name, **fact)
    _finish(bed, records, scheduler, origin_ns)


def _finish(bed, records, scheduler, origin_ns):
    records.fact("timeline", **scheduler.fact())
    found = readback.channels(bed)
    differences = readback.differences(bed, found)
    records.fact("channels", at="end", channels=found, differences=differences)
    records.fact("namespaces", at="end", values=readback.namespaces(bed))
    records.fact("interfaces", at="end", interfaces=readback.interfaces(bed))
    records.fact("softnet", at="end", drops=readback.softnet_drops())
    if build.corrupts(bed.spec):
        records.fact("checksums", at="end", errors=readback.checksum_errors(bed))
    records.close()
    records.fact("done", origin_ns=origin_ns, duration_ns=bed.spec["duration_ns"])
    records.progress("done", bed.spec["duration_ns"])


def _probe(bed, records, echoes):
    records.progress("probes")
    for probe in bed.spec["probes"]["round_trips"]:
        ends = probe["source"], probe["sink"]
        measured = probes.round_trip_ns(bed, *ends, probe["expected_ns"], probe["attempts"], echoes)
        records.fact("round_trip", **probe, measured_ns=measured)
    for probe in bed.spec["probes"]["bursts"]:
        records.fact("burst", **probe, **probes.queue_burst(bed, probe))
    for probe in bed.spec["probes"]["policers"]:
        records.fact("policer", **probe, **probes.policer_bursts(bed, probe))


def _run_hook(spec, bed):
    """Run the file that a test names to break the finished bed on purpose."""
    if spec.get("hook"):
        runpy.run_path(f"{spec['folder']}/{spec['hook']}", {"bed": bed, "spec": spec})
