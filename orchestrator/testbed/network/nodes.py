"""Mininet's hosts, switches and links, without its shell per node and command per setting.

Stock Mininet starts a shell in each node and runs a command for every interface setting: 71 s
of set-up for 60 hosts in the guest. Here a host is only a network namespace (its shell starts when
somebody asks for it), and links only note what they need: ``build.py`` sets everything with a
few netlink messages.
"""

from __future__ import annotations

import os
from subprocess import Popen

from mininet.link import Intf, Link
from mininet.node import Host, Node, OVSSwitch

from orchestrator.protocol.numbering import wire_index
from orchestrator.testbed.kernel import system

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
    """A host: one network namespace, held by a descriptor."""

    def __init__(self, name: str, **params: Any) -> None:
        home = system.current_network_namespace()
        self.namespace_fd = system.new_network_namespace()
        system.enter(home)
        os.close(home)
        super().__init__(name, **params)

    def _popen(self, cmd: Sequence[str], **params: Any) -> Popen[Any]:
        """Spawn in the host's namespace, which a child takes over from the spawning thread.

        And with ordinary timers: unlike our own code, a foreign program may poll the clock.
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
    """An Open vSwitch bridge on the kernel datapath; started with all others in one transaction."""

    OVSVersion = "3.1"

    def __init__(self, name: str, **params: Any) -> None:
        # Switch.__init__ configures a control interface by command, unless in a namespace.
        params["inNamespace"] = True
        super().__init__(name, failMode="secure", datapath="kernel", batch=True, **params)
        self.inNamespace = False
        self.controlIntf = None

    def transaction(self) -> list[str]:
        """Return the arguments that ovs-vsctl needs to create the bridge and its ports."""
        words = ["--", "add-br", self.name, "--", "set", "bridge", self.name]
        words += ["fail_mode=secure", f"other_config:datapath-id={self.dpid}"]
        words += ["other_config:disable-in-band=true"]
        for port, interface in sorted(self.intfs.items()):
            words += ["--", "add-port", self.name, interface.name]
            words += ["--", "set", "Interface", interface.name, f"ofport_request={port}"]
        return words


class WireLink(Link):
    """A link through the namespace ``wires``, where everything that impairs it lives.

    Each end is a veth pair with one end in the node and one in ``wires``; there ``w<i>a`` and
    ``w<i>b`` pass packets to each other, through a token bucket and its queue on an ifb and
    then a netem. Neither the sender's interface nor the receiver's carries a qdisc, so a
    drop is never a local congestion signal.
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
        """Return (name, interface index) in ``wires``: ends a, b; f, r the queues' devices."""
        return f"w{self.number}{end}", wire_index(self.number, end)


def _interface(node: Node, link: WireLink) -> Intf:
    """Return the node's new interface for the link; Mininet gives it its port."""
    port = node.newPort()
    name = f"eth{port}" if isinstance(node, NamespaceHost) else f"{node.name}-eth{port}"
    return Intf(name, node=node, port=port, link=link, up=None, moveIntfFn=lambda *_ignored: None)
