"""One run inside the bed, from the specification to its records."""

import fcntl
import os
import runpy

from . import build, ovs, probes, readback, system
from .bulk import BulkFlow
from .iperf import IperfFlow
from .records import Records
from .sampling import Sampler

ENGINES: dict[str, type] = {"builtin": BulkFlow, "iperf3": IperfFlow}
ORIGIN_GRID_NS = 10_000_000_000
ORIGIN_OFFSET_NS = 333_333
"""Keeps samples and starts, on round times, apart from the kernel's ticks, on round times too."""

_SETTLE_NS = 100_000_000


def run(spec, records: Records):
    """Build, verify, probe, run and sample; all that is found goes to ``records``."""
    records.progress("setup")
    system.set_exact_timers()
    restart_randomness()
    for name, value in spec["global_sysctls"].items():
        build.write_sysctl(name, value)
    if spec["switches"]:
        ovs.start_daemons()
    readback.verify_modules(spec)
    bed = build.Bed(spec, records)
    bed.build()
    records.fact("channels", at="start", channels=readback.verify_channels(bed))
    records.fact("sysctls", **readback.sysctls(bed))
    iperf = any(flow["engine"] == "iperf3" for flow in spec["flows"])
    records.fact("versions", **readback.versions(iperf))
    _run_hook(spec, bed)
    _probe(bed, records)

    def report(flow, problem):
        records.fact("flow_error", flow=flow, problem=problem)

    def note(flow, values):
        records.fact("engine", flow=flow, **values)

    flows = [ENGINES[flow["engine"]](bed, flow, report, note) for flow in spec["flows"]]
    sampler = Sampler(bed, records)
    records.fact("queues", names=sampler.queue_names)
    records.fact("interfaces", at="start", interfaces=readback.interfaces(bed))
    records.fact("softnet", at="start", drops=readback.softnet_drops())
    restart_randomness()
    origin_ns = _origin()
    for flow in flows:
        flow.start(origin_ns)
    sampler.run(origin_ns, flows)
    _finish(bed, records, origin_ns)


def _finish(bed, records, origin_ns):
    records.fact("channels", at="end", channels=readback.channels(bed))
    records.fact("namespaces", at="end", values=readback.namespaces(bed))
    records.fact("interfaces", at="end", interfaces=readback.interfaces(bed))
    records.fact("softnet", at="end", drops=readback.softnet_drops())
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
        measured = probes.round_trip_ns(bed, probe["source"], probe["sink"], probe["expected_ns"])
        records.fact("round_trip", **probe, measured_ns=measured)
    for probe in bed.spec["probes"]["bursts"]:
        records.fact("burst", **probe, **probes.queue_burst(bed, probe))


def _run_hook(spec, bed):
    """Run the file that a test names to break the finished bed on purpose."""
    if spec.get("hook"):
        runpy.run_path(f"{spec['folder']}/{spec['hook']}", {"bed": bed, "spec": spec})
