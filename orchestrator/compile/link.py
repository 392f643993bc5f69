"""Builds the specification of a link's transmitter and delay, and of its changes."""

from __future__ import annotations

from orchestrator.network import Channel
from orchestrator.protocol.link import Transmitter
from orchestrator.protocol.qdisc import Setting
from orchestrator.protocol.specification import LinkQdiscSpec, LinkStep


def link_document(channel: Channel) -> LinkQdiscSpec | None:
    """Return the sch_link of one direction, None when packets pass it at once.

    Where packets are impaired, the delay is netem's.
    """
    if channel.rate_bps is None and not (
        channel.delay_s or channel.delay_changes or channel.impaired
    ):
        return None
    delay_s = 0.0 if channel.impaired else channel.delay_s
    return Transmitter(channel.rate_bps, delay_s).qdisc().document()


def link_step(time_ns: int, channel: str, setting: Setting) -> LinkStep:
    """Return the step that changes one setting of a channel's link."""
    return {
        "time_ns": time_ns,
        "do": "link",
        "channel": channel,
        "settings": [setting.document()],
    }
