"""Mininet's hosts, switches and links, without its shell per node and command per setting.

Stock Mininet starts a shell in each node and runs a command for every interface setting. In the
guest that takes 71 s for 60 hosts. Here a host is only a network namespace, whose shell starts with
its first command. Links only store their specification. ``build.py`` sets everything by a few
netlink messages.
"""

from __future__ import annotations

import os
from subprocess import Popen

from mininet.link import Intf, Link
from mininet.node import Host, Node, OVSSwitch

from orchestrator.protocol.numbering import wire_index
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network.ethtool import Ethtool

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence
    from typing import Any

    from orchestrator.protocol.specification import LinkSpec

HOST_INDEX = 10


class _LazyShell(Node):
    """A node whose shell starts with the first command that needs one."""

    isSetup = True

    def startShell(self, mnopts: str | None = None) -> None:
        """Start no shell yet; Node.__init__ calls this."""
        self.lastCmd = mnopts

    def cmd(self, *args: str, **kwargs: Any) -> Any:
        """Start the shell on first use, then do as Node does."""
        if self.shell is None:
            Node.startShell(self, "-cd")
        return super().cmd(*args, **kwargs)


class NamespaceHost(_LazyShell, Host):
    """A host: one network namespace, held by a descriptor, and sockets that stay open in it.

    A socket belongs to the namespace in which it was opened, from whatever namespace it is used.

    Args:
        name: Mininet's name of the host.
        home_fd: the namespace of the calling thread, to which it returns.
        params: further ones of Mininet.

    ``route`` and ``tool`` are for one thread, that which builds the network and reads it back.
    """

    _answers = netlink.receive_buffer()

    def __init__(self, name: str, *, home_fd: int, **params: Any) -> None:
        self.namespace_fd = system.new_network_namespace()
        self.route = netlink.Netlink(buffer=self._answers)
        self.tool = Ethtool()
        system.enter(home_fd)
        super().__init__(name, **params)

    def _popen(self, cmd: Sequence[str], **params: Any) -> Popen[Any]:
        """Start a program in the host's namespace, which it inherits from the calling thread.

        The program gets ordinary timers, because it may poll the clock, unlike our own code.
        """
        home = system.current_network_namespace()
        system.set_exact_timers(False)
        try:
            with system.inside(self.namespace_fd, home):
                return Popen(cmd, **params)
        finally:
            system.set_exact_timers()
            os.close(home)

    def spawn(self, arguments: Sequence[str], **params: Any) -> Popen[Any]:
        """Start a program in the host's namespace and return its Popen."""
        return self._popen(arguments, **params)


class BedSwitch(_LazyShell, OVSSwitch):
    """An Open vSwitch bridge on the kernel datapath; one transaction creates all bridges."""

    OVSVersion = "3.1"

    def __init__(self, name: str, **params: Any) -> None:
        # Outside a namespace, Switch.__init__ runs commands to configure a control interface.
        params["inNamespace"] = True
        super().__init__(name, failMode="secure", datapath="kernel", batch=True, **params)
        self.inNamespace = False
        self.controlIntf = None

    def ports_by_interface(self) -> dict[str, int]:
        """Return {interface: number of its OpenFlow port}, in the order of ports."""
        return {interface.name: port for port, interface in sorted(self.intfs.items())}


class WireLink(Link):
    """A link through the namespace ``wires``, where its rate, queues and impairments are.

    Each end is a veth pair, with one device in the node and one in ``wires``. The devices in
    ``wires``, ``w<i>a`` and ``w<i>b``, redirect packets to each other. Packets leave by one of them
    through its qdisc sch_link, which has queue, rate and delay. The nodes' own interfaces have no
    qdisc, so no drop is reported to the sender as local congestion.
    """

    def __init__(
        self,
        node1: Node,
        node2: Node,
        *,
        number: int,
        spec: LinkSpec,
        **_params: Any,
    ) -> None:
        self.number = number
        self.spec = spec
        self.intf1 = _interface(node1, self)
        self.intf2 = _interface(node2, self)

    def device(self, end: str) -> tuple[str, int]:
        """Return (name, interface index) of the device of that end in ``wires``; see bed.Link."""
        return f"w{self.number}{end}", wire_index(self.number, end)


def _interface(node: Node, link: WireLink) -> Intf:
    """Return the node's new interface for the link; Mininet gives it its port."""
    port = node.newPort()
    name = f"eth{port}" if isinstance(node, NamespaceHost) else f"{node.name}-eth{port}"
    return Intf(name, node=node, port=port, link=link, up=None, moveIntfFn=lambda *_ignored: None)
