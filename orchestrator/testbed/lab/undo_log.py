"""How a host was before: written down first, and given back at the end.

A ledger is a file of JSON lines, {"undo": name, ...}, the last of which is undone first. Undoing
what is undone already, or was never done, does nothing; so anybody may do it, at any time, twice.
"""

import contextlib
import errno
import json
import os

from orchestrator.protocol.numbering import ROOT_HANDLE
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.network import qdisc, rtnl
from orchestrator.testbed.network.ethtool import OFFLOADS, Ethtool

RTM_DELQDISC, RTM_DELLINK, RTM_DELROUTE = 37, 17, 25
_GONE = (errno.ENOENT, errno.ENODEV, errno.EINVAL, errno.ESRCH, errno.EOPNOTSUPP)


class Ledger:
    """Notes how things were, in a file."""

    def __init__(self, path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)

    def note(self, undo, **values):
        """Note what will have to be undone, before it is done."""
        os.write(self._file, json.dumps({"undo": undo, **values}).encode() + b"\n")


def undo_all(path):
    """Undo what a ledger holds; return what could not be, a text each."""
    try:
        with open(path) as lines:
            noted = [json.loads(line) for line in lines if line.endswith("\n")]
    except FileNotFoundError:
        return []
    problems = []
    for one in reversed(noted):
        try:
            _UNDO[one["undo"]](one)
        except OSError as error:
            problems.append(f"{one}: {error}")
    return problems


def _index(name):
    """Return the interface's index, None when there is none of that name."""
    route = netlink.Netlink()
    try:
        found = rtnl.interfaces(route).get(name)
    finally:
        route.close()
    return None if found is None else found[0]


def _request(kind, body, what):
    """Ask for something to be taken away; it may be gone."""
    route = netlink.Netlink()
    try:
        route.request(kind, 0, body, what)
    except netlink.NetlinkError as error:
        if error.errno not in _GONE:
            raise
    finally:
        route.close()


def _queue(one):
    """Take our root qdisc off an interface, which gets the kernel's default one again."""
    index = _index(one["interface"])
    if index is not None:
        body = qdisc.TCMSG.pack(0, index, ROOT_HANDLE, qdisc.TC_H_ROOT, 0)
        _request(RTM_DELQDISC, body, f"{one['interface']} qdisc")


def _hook(one):
    """Take our clsact hook, with its filters, off an interface."""
    index = _index(one["interface"])
    if index is not None:
        handle = qdisc.TC_H_CLSACT & 0xFFFF0000
        body = qdisc.TCMSG.pack(0, index, handle, qdisc.TC_H_CLSACT, 0)
        _request(RTM_DELQDISC, body, f"{one['interface']} clsact")


def _device(one):
    """Take away a device of ours."""
    body = rtnl.link_message(0) + netlink.attribute(rtnl.IFLA_IFNAME, one["device"])
    _request(RTM_DELLINK, body, one["device"])


def _sysctl(one):
    write_sysctl(one["sysctl"], one["value"])


def _parameter(one):
    """Give a module's parameter its value again, while the module is there."""
    with contextlib.suppress(FileNotFoundError), open(one["file"], "w") as file:
        file.write(one["value"])


def _offloads(one):
    if _index(one["interface"]) is None:
        return
    tool = Ethtool()
    for name in OFFLOADS:
        tool.set_offload(one["interface"], name, one["values"][name])
    tool.close()


def _route(one):
    """Take away our route to one host."""
    _request(RTM_DELROUTE, rtnl.host_route(one["destination"]), f"route to {one['destination']}")


def _module(one):
    """Unload a module that was not loaded before, unless somebody uses it by now."""
    try:
        system.unload_module(one["module"])
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EBUSY, errno.ENOENT):
            raise


_UNDO = {
    "queue": _queue,
    "hook": _hook,
    "device": _device,
    "sysctl": _sysctl,
    "parameter": _parameter,
    "offloads": _offloads,
    "route": _route,
    "module": _module,
}
