"""Sets up the directions of links: ways of packets, queues, rates, delays, impairments."""

from __future__ import annotations

from orchestrator.protocol.links.link import bypass_setting, has_ring
from orchestrator.protocol.numbering import CHANNEL_ENDS, link_and_direction
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.network import redirect as redirection
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import ChannelSpec, Direction, PolicerSpec
    from orchestrator.testbed.bed import Link, ShapedNetwork
    from orchestrator.testbed.kernel.netlink import Netlink


def redirect(
    route: Netlink, link: Link, policer: PolicerSpec | None, source: str, sink: str
) -> None:
    """Queue the request that moves packets from end ``source`` to ``sink``, past the policer."""
    name, index = link.device(source)
    redirection.add_redirect(route, index, qdisc.INGRESS, link.device(sink)[1], name, policer)


def shape(route: Netlink, channel: ChannelSpec, name: str, index: int) -> None:
    """Queue the requests for all qdiscs where packets leave a direction of a link."""
    link, queue, netem = channel["link"], channel["queue"], channel["netem"]
    if link is not None:
        qdisc.add_link(route, index, link, name)
        if queue is not None:
            qdisc.add_queue(route, index, queue, name)
        if netem is not None:
            qdisc.add_netem(route, index, netem, name)
    elif queue is not None or netem is not None:
        raise BuildError(f"{name} has a queue or impairments, and no link")


def bypass_netems(bed: ShapedNetwork, on: bool) -> None:
    """Let all packets bypass all netems and receive rings, or no longer."""
    setting = bypass_setting(on).document()
    for link in bed.links.values():
        for direction, (_source, sink) in CHANNEL_ENDS.items():
            spec = link.spec[direction]
            if spec["netem"] is not None or has_ring(spec["link"]):
                name, index = link.device(sink)
                qdisc.change_root(bed.wires, index, "link", qdisc.pack([setting]), name)
    bed.wires.flush()


def reset_queues(bed: ShapedNetwork) -> None:
    """Make every queue that is no FIFO anew, so that it has forgotten all that came before."""
    for link_name in bed.links:
        for direction in CHANNEL_ENDS:
            _reset(bed, link_name, direction)
    bed.wires.flush()


def reset_queue(bed: ShapedNetwork, channel: str) -> None:
    """Make the queue of a channel, such as ``bottleneck:forward``, anew unless it is a FIFO."""
    _reset(bed, *link_and_direction(channel))
    bed.wires.flush()


def _reset(bed: ShapedNetwork, link_name: str, direction: Direction) -> None:
    """Queue the requests that make a queue anew; a FIFO remembers nothing, so it stays."""
    link = bed.links[link_name]
    spec = link.spec[direction]["queue"]
    if spec is not None and spec["kind"] not in qdisc.FIFOS:
        name, index = link.device(CHANNEL_ENDS[direction][1])
        qdisc.remove_queue(bed.wires, index, name)
        qdisc.add_queue(bed.wires, index, spec, name)
