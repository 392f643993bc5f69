"""One run inside the bed, from the specification to its records."""

import fcntl
import os
import resource
import runpy

from . import build, ovs, probes, readback, system, thresholds
from .records import Records
from .sampling import Sampler
from .timeline import Timeline
from .traffic import Services, engines

ORIGIN_GRID_NS = 10_000_000_000
ORIGIN_OFFSET_NS = 333_333
"""Keeps samples and starts, on round times, apart from the kernel's ticks, on round times too."""

_SETTLE_NS = 100_000_000
_MOST_FILES = 1 << 18


def run(spec, records: Records):
    """Build, verify, probe, run and sample; all that is found goes to ``records``."""
    records.progress("setup")
    system.set_exact_timers()
    system.prefer_softirqs()
    restart_randomness()
    for name, value in spec["global_sysctls"].items():
        build.write_sysctl(name, value)
    if spec["switches"]:
        ovs.start_daemons()
    # However long this took: timers of queues (PIE's) then run in step with traffic.
    system.Timer().sleep_until(ovs.EARLIEST_START_NS)
    readback.verify_modules(spec)
    bed = build.Bed(spec, records)
    bed.build()
    records.fact("channels", at="start", channels=readback.verify_channels(bed))
    records.fact("sysctls", **readback.sysctls(bed))
    iperf = any(flow["engine"] == "iperf3" for flow in spec["flows"])
    records.fact("versions", **readback.versions(iperf))
    _run_hook(spec, bed)
    _probe(bed, records)
    thresholds.make_known(bed)
    build.reset_queues(bed)

    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))
    known = engines()
    flows = [
        known[flow["engine"]](bed, flow, Services(records, number, flow["name"]))
        for number, flow in enumerate(spec["flows"])
    ]
    sampler = Sampler(bed, records, flows)
    timeline = Timeline(
        bed,
        lambda problem: records.fact("timeline_error", problem=problem),
        sampler.forget_places,
    )
    records.fact("queues", **sampler.queues())
    records.fact("interfaces", at="start", interfaces=readback.interfaces(bed))
    records.fact("softnet", at="start", drops=readback.softnet_drops())
    restart_randomness()
    origin_ns = _origin()
    timeline.start(origin_ns)
    for flow in flows:
        flow.start(origin_ns)
    sampler.run(origin_ns)
    _finish(bed, records, timeline, origin_ns)


def _finish(bed, records, timeline, origin_ns):
    records.fact("timeline", **timeline.fact())
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


def restart_randomness():
    """Begin a new epoch of the kernel's seeded generator (our guest's patch; no effect elsewhere).

    Whatever number of random values was drawn before, what follows depends on the seed alone.
    """
    descriptor = os.open("/dev/urandom", os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, system.RNDCLEARPOOL)
    finally:
        os.close(descriptor)


def _origin():
    """Return when traffic starts: on a coarse grid of the clock, however long set-up took."""
    soonest = system.monotonic_ns() + _SETTLE_NS
    grid_ns = max(2 * ORIGIN_GRID_NS, -(-soonest // ORIGIN_GRID_NS) * ORIGIN_GRID_NS)
    return grid_ns + ORIGIN_OFFSET_NS


def _probe(bed, records):
    records.progress("probes")
    for probe in bed.spec["probes"]["round_trips"]:
        ends = probe["source"], probe["sink"]
        measured = probes.round_trip_ns(bed, *ends, probe["expected_ns"], probe["attempts"])
        records.fact("round_trip", **probe, measured_ns=measured)
    for probe in bed.spec["probes"]["bursts"]:
        records.fact("burst", **probe, **probes.queue_burst(bed, probe))
    for probe in bed.spec["probes"]["policers"]:
        records.fact("policer", **probe, **probes.policer_bursts(bed, probe))


def _run_hook(spec, bed):
    """Run the file that a test names to break the finished bed on purpose."""
    if spec.get("hook"):
        runpy.run_path(f"{spec['folder']}/{spec['hook']}", {"bed": bed, "spec": spec})
