"""Finds out what a lab host has: ``python3 -m orchestrator.testbed.lab.survey PLACE``.

Standard input is a ``SurveySpec`` and standard output a ``SurveyAnswer``, both as JSON on one line;
see protocol/examination.py.

The survey leaves the host as it was. It unloads the modules that it loads for inspection. It tries
out a router's emulation in a network namespace that disappears with this process. Only what killed
runs have left behind is undone, and the answer names it.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import sys
import threading
import time

from orchestrator.protocol.kernel_modules import COUNTS
from orchestrator.protocol.programs import SEARCH_PATH
from orchestrator.protocol.version import SPECIFICATION_VERSION, check_version
from orchestrator.testbed import machines
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.kernel.modules import can_be_there
from orchestrator.testbed.kernel.sysctl import read_sysctl
from orchestrator.testbed.lab import icmp_probe, modules
from orchestrator.testbed.lab.agent import PREFIX, HostLocked, clean, lock, namespace, undo_log_of
from orchestrator.testbed.lab.bed import LabBed, spare_namespace
from orchestrator.testbed.lab.undo_log import UndoLog, undo_all
from orchestrator.testbed.network import readback, rtnl
from orchestrator.testbed.network.chosen_losses import ChosenLosses
from orchestrator.testbed.network.ethtool import Ethtool
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator

    from orchestrator.protocol.examination import (
        CongestionState,
        EchoResult,
        InterfaceState,
        InterfaceStates,
        RouteState,
        SurveyAnswer,
        SurveySpec,
    )
    from orchestrator.protocol.specification import AgentLinkSpec, AgentSpec
    from orchestrator.testbed.kernel.netlink import Netlink

_ECHOES = 5
_YOUNG_S = 60
"""A younger folder without an undo log may belong to a run that is about to begin."""
_TCP_TABLE, _LISTENING, _CLOSED_STATES = "/proc/net/tcp", "0A", ("06", "07")
_NET, _BOUND = "/proc/net", ("0A", "07")
"""TCP_LISTEN, and TCP_CLOSE of a UDP socket that is bound."""
_IO_URING_OFF = "kernel.io_uring_disabled"


def main() -> None:
    """Print the answer to the question."""
    run_folder = sys.argv[1]
    question: SurveySpec = json.load(sys.stdin)
    check_version(question)
    answer = survey(question, run_folder)
    print(json.dumps(answer, separators=(",", ":")), flush=True)
    os._exit(0)  # without waiting for threads inside other namespaces


def survey(question: SurveySpec, run_folder: str) -> SurveyAnswer:
    """Return the answer; backends/lab/check.py of the controller judges it."""
    held = None
    locked, leftovers = None, list[str]()
    try:
        held = lock()
        leftovers = recover(run_folder)
    except HostLocked as error:
        locked = str(error)
    route = netlink.Netlink()
    kernel = os.uname()
    answer: SurveyAnswer = {
        "kernel": kernel.release,
        "machine": kernel.machine,
        "locked": locked,
        "leftovers": leftovers,
        "forwards": read_sysctl("net.ipv4.ip_forward") == "1",
        "interfaces": _interfaces(route, question["interfaces"]),
        "comes_in_by": _comes_in_by(route),
        "congestion": {name: _congestion(name, run_folder) for name in question["congestion"]},
        "missing_sysctls": [name for name in question["sysctls"] if read_sysctl(name) is None],
        "ports_in_use": sorted(
            {*_ports_in_use(*question["ports"]), *_servers_there(question["servers"])}
        ),
        "routes": {to: _route(route, to) for to in question["routes_to"]},
        "echoes": [_echo(*ends) for ends in question["echoes"]],
        "programs": {name: shutil.which(name) is not None for name in question["programs"]},
        "users_programs": {
            name: shutil.which(name, path=SEARCH_PATH) is not None
            for name in question["users_programs"]
        },
        "counts": can_be_there(COUNTS) if question["counts"] else None,
        "io_uring": _io_uring() if question["udp"] else None,
        "emulation": _emulation_problem(question["links"], run_folder),
        "clock_source": _clock_source(),
    }
    route.close()
    if held is not None:
        held.close()
    return answer


def recover(own: str) -> list[str]:
    """Undo what killed runs have left on this host; return their folders and what is left.

    Args:
        own: the folder of this survey, which stays.
    """
    leftovers = []
    for run_folder in glob.glob(f"{PREFIX}.*/"):
        run_folder = run_folder.rstrip("/")
        try:
            with open(os.path.join(run_folder, "namespace")) as text:
                mine = int(text.read()) == namespace()
            age_s = time.time() - os.stat(run_folder).st_mtime
        except (OSError, ValueError):
            continue
        begun = os.path.exists(undo_log_of(run_folder))
        if mine and run_folder != own and (begun or age_s > _YOUNG_S):
            problems = clean(run_folder)
            leftovers.append(f"{run_folder}: {'; '.join(problems)}" if problems else run_folder)
    return leftovers


def _interfaces(route: Netlink, names: Iterable[str]) -> InterfaceStates:
    """Return the states of these interfaces, and the names of all interfaces."""
    present, addresses, tool = rtnl.interfaces(route), rtnl.addresses(route), Ethtool()
    flags = rtnl.links(route)
    states: dict[str, InterfaceState | None] = dict.fromkeys(names)
    for name in states:
        if name not in present:
            continue
        index = present[name][0]
        _name, up, mtu = flags[index]
        states[name] = {
            "up": up,
            "mtu": mtu,
            "addresses": addresses.get(index, []),
            "speed_mbitps": tool.speed_mbitps(name),
            "offloads": tool.offloads(name),
            "qdisc": qdisc.root_kind(route, index),
            "foreign": qdisc.foreign(route, index),
        }
    tool.close()
    return {**states, "": sorted(present)}


def _comes_in_by(route: Netlink) -> str | None:
    """Return the interface with the address that the controller connected to."""
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) != 4:
        return None
    names = {index: name for name, (index, _counters) in rtnl.interfaces(route).items()}
    for index, pairs in rtnl.addresses(route).items():
        if connection[2] in [address for address, _prefix in pairs]:
            return names[index]
    return None


def _congestion(name: str, run_folder: str) -> CongestionState | None:
    """Return a congestion control's description, None where the kernel has none of that name."""
    undo_log_path = os.path.join(run_folder, f"survey.{name}")
    if name not in modules.present():
        UndoLog(undo_log_path).note("module", module=f"tcp_{name}")
    try:
        return modules.describe(name) if modules.provide(name) else None
    finally:
        undo_all(undo_log_path)


def _ports_in_use(first: int, last: int) -> Iterator[int]:
    """Yield the ports from ``first`` to ``last`` that sockets use."""
    with open(_TCP_TABLE) as table:
        next(table)
        for line in table:
            _number, local, _remote, state = line.split()[:4]
            port = int(local.rpartition(":")[2], 16)
            if first <= port <= last and state not in _CLOSED_STATES:
                yield port


def _servers_there(servers: Iterable[tuple[str, int]]) -> Iterator[int]:
    """Yield the ports of these servers, (transport, port), at which something is bound already.

    A program of the scenario would be taken for ready as soon as it starts.
    """
    for transport, port in servers:
        for version in ("", "6"):
            with (
                contextlib.suppress(FileNotFoundError),
                open(f"{_NET}/{transport}{version}") as table,
            ):
                next(table)
                rows = (line.split()[1:4] for line in table)
                if any(
                    int(local.rpartition(":")[2], 16) == port and state in _BOUND
                    for local, _remote, state in rows
                ):
                    yield port


def _route(route: Netlink, destination: str) -> RouteState | None:
    """Return how packets to an address leave, None where there is no route."""
    way = rtnl.way_to(route, destination)
    if way is None:
        return None
    names = {index: name for name, (index, _counters) in rtnl.interfaces(route).items()}
    interface = names.get(way["index"], str(way["index"]))
    return {"interface": interface, "gateway": way["gateway"], "source": way["source"]}


def _echo(source: str, destination: str) -> EchoResult:
    best_ns, ttl = icmp_probe.round_trips(source, destination, _ECHOES, awake=True)
    return {"source": source, "destination": destination, "round_trip_ns": best_ns, "ttl": ttl}


def _io_uring() -> bool:
    """Return whether this process may use io_uring, which sends datagrams."""
    return read_sysctl(_IO_URING_OFF) in (None, "0", "1")


def _clock_source() -> str | None:
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    try:
        with open(path) as text:
            return text.read().strip()
    except OSError:
        return None


class _NoRecords:
    """Takes the facts of a trial, and writes nothing."""

    def fact(self, name: str, **values: object) -> None:
        """Do nothing."""


def _emulation_problem(links: Iterable[AgentLinkSpec], run_folder: str) -> str | None:
    """Return why this kernel cannot emulate one of the links, None where it can."""
    return next(filter(None, (_trial(link, run_folder) for link in links)), None)


def _trial(link: AgentLinkSpec, run_folder: str) -> str | None:
    """Emulate a link in a new namespace; return the error, None where there is none."""
    problems: list[str] = []

    def attempt() -> None:
        try:
            spare_namespace()
            route = netlink.Netlink()
            rtnl.add_veth(route, rtnl.DeviceEnd(link["left"]), rtnl.DeviceEnd(link["right"]))
            route.flush()
            spec = _trial_spec(link)
            machines.fit_to_machine(spec)
            bed = LabBed(spec, _NoRecords(), UndoLog(os.path.join(run_folder, "trial")))
            bed.build()
            readback.verify_channels(bed)
            ChosenLosses(bed).begin()
        except (OSError, BuildError) as error:
            problems.append(str(error))

    # A thread has a network namespace of its own. The namespace disappears with the thread, so the
    # undo log is never used for undoing.
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return problems[0] if problems else None


def _trial_spec(link: AgentLinkSpec) -> AgentSpec:
    """Return the specification of a router that emulates a link, without any traffic."""
    return {
        "version": SPECIFICATION_VERSION,
        "name": "",
        "nodes": [],
        "addresses": {},
        "interfaces": [],
        "offloads_off": False,
        "links": [link],
        "flows": [],
        "sysctls": {},
        "namespaces": {},
        "modules": [],
        "route_metrics": {},
        "ports": [1, 1],
        "round_trips": [],
        "counts": False,
        "most_kept_bytes": 0,
        "planned_steps": [],
        "traces": [],
        "duration_ns": 0,
        "edges_ns": [],
        "sample": {"tcp_ns": 1, "queue_ns": 1, "readings_ns": 1, "grid_ns": None},
    }


if __name__ == "__main__":
    main()
