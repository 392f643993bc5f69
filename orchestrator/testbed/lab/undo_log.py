"""Records how a host was before each change, and restores it at the end.

An undo log is a file of JSON lines, {"undo": name, ...}. The last line is undone first. To undo
what is undone already, or was never done, has no effect. So any process may do it, at any time and
more than once.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os

from orchestrator.protocol.numbering import LINK_HANDLE
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.network import rtnl
from orchestrator.testbed.network.ethtool import Ethtool
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Entry = dict[str, Any]
    """A line of the log, whose keys depend on what is to be undone."""

RTM_DELQDISC, RTM_DELROUTE = 37, 25
_GONE = (errno.ENOENT, errno.ENODEV, errno.EINVAL, errno.ESRCH, errno.EOPNOTSUPP)


class UndoLog:
    """Writes to the file at ``path`` how things were before they are changed."""

    def __init__(self, path: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)

    def note(self, undo: str, **values: object) -> None:
        """Write what will have to be undone, before it is done."""
        os.write(self._file, json.dumps({"undo": undo, **values}).encode() + b"\n")


def undo_all(path: str) -> list[str]:
    """Undo what the log at ``path`` has; return a text for each entry that could not be undone."""
    try:
        with open(path) as lines:
            noted = [json.loads(line) for line in lines if line.endswith("\n")]
    except FileNotFoundError:
        return []
    problems = []
    for entry in reversed(noted):
        try:
            _UNDO[entry["undo"]](entry)
        except OSError as error:
            problems.append(f"{entry}: {error}")
    return problems


def _index(name: str) -> int | None:
    """Return the interface's index, None when there is no interface of that name."""
    route = netlink.Netlink()
    try:
        interface = rtnl.interfaces(route).get(name)
    finally:
        route.close()
    return None if interface is None else interface[0]


def _request(kind: int, body: bytes, what: str) -> None:
    """Request that the kernel removes something; it may be gone already."""
    route = netlink.Netlink()
    try:
        route.request(kind, 0, body, what)
    except netlink.NetlinkError as error:
        if error.errno not in _GONE:
            raise
    finally:
        route.close()


def _queue(entry: Entry) -> None:
    """Remove our root qdisc from an interface, which then gets the kernel's default again."""
    index = _index(entry["interface"])
    if index is not None:
        body = qdisc.TCMSG.pack(0, index, LINK_HANDLE, qdisc.TC_H_ROOT, 0)
        _request(RTM_DELQDISC, body, f"{entry['interface']} qdisc")


def _sysctl(entry: Entry) -> None:
    write_sysctl(entry["sysctl"], entry["value"])


def _parameter(entry: Entry) -> None:
    """Restore a module's parameter, if the module is loaded."""
    with contextlib.suppress(FileNotFoundError), open(entry["file"], "w") as file:
        file.write(entry["value"])


def _offloads(entry: Entry) -> None:
    if _index(entry["interface"]) is None:
        return
    tool = Ethtool()
    for name, on in entry["values"].items():
        tool.set_offload(entry["interface"], name, on)
    tool.close()


def _route(entry: Entry) -> None:
    """Remove our route to one host."""
    _request(
        RTM_DELROUTE, rtnl.host_route(entry["destination"]), f"route to {entry['destination']}"
    )


def _module(entry: Entry) -> None:
    """Unload a module that was not loaded before, unless it is in use by now."""
    try:
        system.unload_module(entry["module"])
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EBUSY, errno.ENOENT):
            raise


_UNDO: dict[str, Callable[[Entry], None]] = {
    "queue": _queue,
    "sysctl": _sysctl,
    "parameter": _parameter,
    "offloads": _offloads,
    "route": _route,
    "module": _module,
}
