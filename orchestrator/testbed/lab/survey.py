"""What a lab host is and has: ``python3 -m orchestrator.testbed.lab.survey PLACE``.

Standard input is a question as JSON: {"interfaces": names, "congestion": names, "routes_to":
addresses, "echoes": [[own address, other's], ...], "ports": [first, last], "udp": whether a
flow is UDP, "programs": names, "links": what a router is to emulate, "sysctls": names}.

The answer is one line of JSON. It changes nothing: modules that it loads to look at are unloaded,
and what a router is to emulate is tried in a namespace that goes with this process. What a run that
was killed has left behind is undone, and told.
"""

import glob
import json
import os
import shutil
import sys
import threading
import time

from orchestrator.protocol.version import check_version
from orchestrator.testbed import machines
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.kernel.sysctl import read_sysctl
from orchestrator.testbed.lab import icmp_probe, modules
from orchestrator.testbed.lab.agent import PREFIX, Locked, clean, lock, namespace, undo_log_of
from orchestrator.testbed.lab.bed import LabBed, spare_namespace
from orchestrator.testbed.lab.undo_log import UndoLog, undo_all
from orchestrator.testbed.network import qdisc, readback, rtnl
from orchestrator.testbed.network.ethtool import Ethtool

_ECHOES = 5
_YOUNG_S = 60
"""A folder that is younger, without a ledger, may be of a run that is about to begin."""
_TCP_TABLE, _LISTENING, _CLOSED_STATES = "/proc/net/tcp", "0A", ("06", "07")
_IO_URING_OFF = "kernel.io_uring_disabled"


def main():
    """Answer the question."""
    place = sys.argv[1]
    question = json.load(sys.stdin)
    check_version(question)
    answer = survey(question, place)
    print(json.dumps(answer, separators=(",", ":")), flush=True)
    os._exit(0)  # threads inside other namespaces have nothing left to do


def survey(question, place):
    """Return what was asked for; see the package's ``labcheck`` on the controller's side."""
    held = None
    try:
        held = lock()
        locked, leftovers = None, recover(place)
    except Locked as error:
        locked, leftovers = str(error), []
    route = netlink.Netlink()
    kernel = os.uname()
    answer = {
        "kernel": kernel.release,
        "machine": kernel.machine,
        "locked": locked,
        "leftovers": leftovers,
        "forwards": read_sysctl("net.ipv4.ip_forward") == "1",
        "interfaces": _interfaces(route, question["interfaces"]),
        "comes_in_by": _comes_in_by(route),
        "congestion": {name: _congestion(name, place) for name in question["congestion"]},
        "missing_sysctls": [name for name in question["sysctls"] if read_sysctl(name) is None],
        "ports_in_use": sorted(_ports_in_use(*question["ports"])),
        "routes": {to: _way(route, to) for to in question["routes_to"]},
        "echoes": [_echo(*ends) for ends in question["echoes"]],
        "programs": {name: shutil.which(name) is not None for name in question["programs"]},
        "io_uring": _io_uring() if question["udp"] else None,
        "emulation": next(filter(None, (_trial(each, place) for each in question["links"])), None),
        "clock_source": _clock_source(),
    }
    route.close()
    if held is not None:
        held.close()
    return answer


def recover(own):
    """Undo what runs of this host have left whose agents were killed; return what they were."""
    found = []
    for place in glob.glob(f"{PREFIX}.*/"):
        place = place.rstrip("/")
        try:
            with open(os.path.join(place, "namespace")) as text:
                mine = int(text.read()) == namespace()
            age_s = time.time() - os.stat(place).st_mtime
        except (OSError, ValueError):
            continue
        begun = os.path.exists(undo_log_of(place))
        if mine and place != own and (begun or age_s > _YOUNG_S):
            problems = clean(place)
            found.append(f"{place}: {'; '.join(problems)}" if problems else place)
    return found


def _interfaces(route, names):
    """Return {name: what it is}, None for one that is not there."""
    present, addresses, tool = rtnl.interfaces(route), rtnl.addresses(route), Ethtool()
    flags = rtnl.flags_and_mtu(route)
    found = dict.fromkeys(names)
    for name in found:
        if name not in present:
            continue
        index = present[name][0]
        up, mtu = flags[index]
        found[name] = {
            "up": up,
            "mtu": mtu,
            "addresses": addresses.get(index, []),
            "speed_mbitps": tool.speed_mbitps(name),
            "offloads": tool.offloads(name),
            "qdisc": qdisc.root_kind(route, index),
            "foreign": qdisc.foreign(route, index),
        }
    tool.close()
    return {**found, "": sorted(present)}


def _comes_in_by(route):
    """Return the interface that has the address to which the controller has connected."""
    told = os.environ.get("SSH_CONNECTION", "").split()
    if len(told) != 4:
        return None
    names = {index: name for name, (index, _counters) in rtnl.interfaces(route).items()}
    for index, pairs in rtnl.addresses(route).items():
        if told[2] in [address for address, _prefix in pairs]:
            return names[index]
    return None


def _congestion(name, place):
    """Return what the kernel has of that name, None when it has none; see modules.describe."""
    ledger_path = os.path.join(place, f"survey.{name}")
    if name not in modules.present():
        UndoLog(ledger_path).note("module", module=f"tcp_{name}")
    try:
        return modules.describe(name) if modules.provide(name) else None
    finally:
        undo_all(ledger_path)


def _ports_in_use(first, last):
    """Yield the ports of flows that other sockets have."""
    with open(_TCP_TABLE) as table:
        next(table)
        for line in table:
            _number, local, _remote, state = line.split()[:4]
            port = int(local.rpartition(":")[2], 16)
            if first <= port <= last and state not in _CLOSED_STATES:
                yield port


def _way(route, destination):
    """Return {"interface", "gateway", "source"} of how packets leave, None when they do not."""
    way = rtnl.way_to(route, destination)
    if way is None:
        return None
    names = {index: name for name, (index, _counters) in rtnl.interfaces(route).items()}
    interface = names.get(way["index"], str(way["index"]))
    return {"interface": interface, "gateway": way["gateway"], "source": way["source"]}


def _echo(source, destination):
    best_ns, ttl = icmp_probe.round_trips(source, destination, _ECHOES, awake=True)
    return {"source": source, "destination": destination, "round_trip_ns": best_ns, "ttl": ttl}


def _io_uring():
    """Tell whether UDP sources can be had: they send by io_uring."""
    return read_sysctl(_IO_URING_OFF) in (None, "0", "1")


def _clock_source():
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    try:
        with open(path) as text:
            return text.read().strip()
    except OSError:
        return None


class _Nowhere:
    """Takes facts of a trial."""

    def fact(self, _name, **_values):
        """Forget it."""


def _trial(link, place):
    """Emulate in a namespace of its own; return what went wrong, None when nothing did."""
    problem = []

    def attempt():
        try:
            spare_namespace()
            route = netlink.Netlink()
            rtnl.add_veth(route, rtnl.End(link["left"]), rtnl.End(link["right"]))
            route.flush()
            spec = {"nodes": [], "addresses": {}, "interfaces": [], "offloads_off": False,
                    "links": [link], "flows": [], "sysctls": {}, "namespaces": {}, "modules": [],
                    "route_metrics": {}, "ports": [1, 1]}  # fmt: skip
            machines.fit_to_machine(spec)
            bed = LabBed(spec, _Nowhere(), UndoLog(os.path.join(place, "trial")))
            bed.build()
            readback.verify_channels(bed)
        except (OSError, BuildError) as error:
            problem.append(str(error))

    # Of a thread, whose namespace is its own; never undone by the ledger, but with the thread.
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return problem[0] if problem else None


if __name__ == "__main__":
    main()
