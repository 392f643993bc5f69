"""Runs Open vSwitch inside the bed: its two daemons with their own paths, bridges and rules."""

from __future__ import annotations

import os
import subprocess

from orchestrator.testbed.kernel import system
from orchestrator.testbed.network.switch import openflow, ovsdb

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Mapping

    from orchestrator.testbed.network.nodes import BedSwitch

RUN_DIRECTORY = "/run/bed-ovs"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
# Open vSwitch 3.1 caches the CPU count at its start and refreshes it only when the monotonic clock
# has passed 10 s (lib/ovs-thread.c). Started earlier, it has no upcall handlers, so that it
# forwards nothing.
EARLIEST_START_NS = 11 * 10**9
_IDLE_MS = str(10**9)
_SETTINGS = {
    # Flows never expire, so the two revalidations a second would be useless wake-ups.
    "max-idle": _IDLE_MS,
    "max-revalidator": _IDLE_MS,
    "n-handler-threads": "1",
    "n-revalidator-threads": "1",
}
_SOCKET = f"{RUN_DIRECTORY}/db.sock"


class OvsError(Exception):
    """A daemon did not start or a command failed; the message has its output."""


_environment = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "OVS_RUNDIR": RUN_DIRECTORY,
    "OVS_LOGDIR": RUN_DIRECTORY,
    "OVS_DBDIR": RUN_DIRECTORY,
}


def _run(arguments: list[str]) -> str:
    done = subprocess.run(
        arguments,
        env=_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OvsError(
            f"{' '.join(arguments[:4])} ... exited with {done.returncode}: {done.stderr}"
        )
    return done.stdout


def start_daemons() -> None:
    """Start ovsdb-server and ovs-vswitchd; both are ready on return, because they have detached."""
    os.makedirs(RUN_DIRECTORY, exist_ok=True)
    database = f"{RUN_DIRECTORY}/conf.db"
    ovsdb.create(database, SCHEMA, _SETTINGS)
    common = ["--no-chdir", "--detach", "--log-file", "-vconsole:off", "-vsyslog:off"]
    _run(["ovsdb-server", database, f"--remote=punix:{_SOCKET}", "--pidfile", *common])
    timer = system.Timer()
    timer.sleep_until(EARLIEST_START_NS)
    _run(["ovs-vswitchd", f"unix:{_SOCKET}", "--pidfile", *common])


def start_bridges(
    switches: Iterable[BedSwitch], flow_tables: Mapping[str, Iterable[tuple[str, int]]]
) -> str:
    """Create all bridges with their ports in one transaction, then give each its rules.

    Returns the version line of ovs-vswitchd.
    """
    bridges = {switch.name: (switch.dpid, switch.ports_by_interface()) for switch in switches}
    with ovsdb.Database(_SOCKET) as database:
        version = ovsdb.add_bridges(database, bridges)
    for name, rules in flow_tables.items():
        openflow.add_rules(control_socket(name), rules)
    return f"ovs-vswitchd (Open vSwitch) {version}"


def control_socket(bridge: str) -> str:
    """Return the path of the socket that accepts OpenFlow messages for a bridge."""
    return f"{RUN_DIRECTORY}/{bridge}.mgmt"


def version() -> str:
    """Return the version line of ovs-vswitchd."""
    return _run(["ovs-vswitchd", "--version"]).splitlines()[0]
