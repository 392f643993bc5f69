"""Builds the specification of a link's transmitter, delay and chosen losses, and of changes."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.network import Channel
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.protocol.links import chosen
from orchestrator.protocol.links.chosen import ChosenPackets
from orchestrator.protocol.links.link import Cuts, Transmitter
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.protocol.specification import LinkQdiscSpec, LinkStep


def link_document(
    channel: Channel, cuts: Cuts | None = None, owned: bool = False
) -> LinkQdiscSpec | None:
    """Return the sch_link of one direction, None when packets pass it at once.

    Where packets are impaired, the delay is netem's. ``cuts`` says when super-packets become frames
    there, and with ``owned`` packets belong to their sockets until they have been sent.
    """
    if channel.rate_bps is None and not (
        channel.delay_s
        or channel.delay_changes
        or channel.impaired
        or channel.ring is not None
        or cuts
        or owned
    ):
        return None
    delay_s = 0.0 if channel.impaired else channel.delay_s
    return Transmitter(channel.rate_bps, delay_s, cuts, owned, channel.ring).qdisc().document()


def chosen_settings(
    packets: ChosenPackets | None, flows: Iterable[PlannedFlow]
) -> tuple[Setting, ...]:
    """Return the settings of packets that are lost by their numbers; None loses none.

    A flow is known by the port of its listener, which is no other flow's.
    """
    packets = packets or chosen.NOTHING
    ports = {flow.name: flow.listening_port for flow in flows}
    return chosen.settings(packets, 0 if packets.flow is None else ports[packets.flow])


def link_step(time_ns: int, channel: str, *settings: Setting) -> LinkStep:
    """Return the step that changes settings of a channel's link."""
    return {
        "time_ns": time_ns,
        "do": "link",
        "channel": channel,
        "settings": [setting.document() for setting in settings],
    }
