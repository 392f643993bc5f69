"""Builds the specification of a channel's netem, and of its changes while traffic runs.

Delay, jitter, loss, reordering, duplication and corruption are one sch_netem, which packets pass
after their transmission. A channel without impairments has none: its delay is the link's. Each
sch_netem has one random generator for the whole run, seeded here. A later seed would restart the
generator, so changes do not contain a seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from orchestrator.network import Channel
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links import netem
from orchestrator.protocol.links.qdisc import Setting
from orchestrator.protocol.specification import NetemSpec, NetemStep
from topologies.links import DIRECTIONS


def netem_document(channel: Channel, seed: int, link: int, direction: int) -> NetemSpec | None:
    """Return the netem of one direction, None when no packet is ever impaired."""
    if not channel.impaired:
        return None
    jitter, reordering = channel.jitter, channel.reordering
    whole = netem.Netem(
        delay_s=channel.delay_s,
        seed=channel_seed(seed, "loss", link, direction),
        loss=None if channel.loss is None else channel.loss.impairment(),
        jitter=None if jitter is None else jitter.impairment(),
        reordering=None if reordering is None else reordering.impairment(),
        duplication=channel.duplication or None,
        # The bed prepares hosts also for corruption that begins later.
        corruption=channel.corruption if channel.most_corruption else None,
        keep_order=keeps_order(channel, channel.delay_changes),
    )
    return whole.qdisc().document()


def keeps_order(channel: Channel, delay_changes: bool) -> bool:
    """Return whether to keep the packets' order: as the jitter says, else if delays change."""
    jitter = channel.jitter
    if jitter is not None and any(jitter.reach_ns):
        return jitter.keep_order
    return delay_changes


def impairments(channel: Channel, delay_changes: bool, tabled: bool) -> list[tuple[Setting, ...]]:
    """Return the settings of each impairment except loss, including those that are off.

    ``tabled`` tells whether the netem already has a table of delays.
    """
    jitter, reordering = channel.jitter, channel.reordering
    return [
        netem.jitter_settings(None if jitter is None else jitter.impairment(), tabled),
        netem.order_settings(keeps_order(channel, delay_changes)),
        netem.reordering_settings(None if reordering is None else reordering.impairment()),
        netem.duplication_settings(channel.duplication),
        netem.corruption_settings(channel.corruption),
    ]


def netem_provenance(run: RunSpec) -> dict[str, Any]:
    """Return the impairment models of each channel, with their parameters and seeds."""
    return {
        name: {
            **{key: _described(getattr(channel, key)) for key in ("loss", "jitter", "reordering")},
            "duplication": channel.duplication,
            "corruption": channel.corruption,
            "seeds": {
                "netem": channel_seed(run.seed, "loss", number, direction),
                **{
                    what: channel_seed(run.seed, what, number, way)
                    for what, model, way in (
                        ("states", channel.loss, 0 if channel.rate_model else direction),
                        ("jitter", channel.jitter, direction),
                    )
                    if model is not None and model.states_per_s
                },
            },
        }
        for name, channel, number, direction in channels(run)
        if channel.impaired
    }


def channel_seed(seed: int, what: str, link: int, direction: int) -> int:
    """Return a 64-bit seed of a channel; direction 0 is forward.

    ``what`` is ``loss`` for everything that the kernel draws, ``states`` for the loss model's own
    clock, and ``jitter`` for the link's delays.
    """
    digest = hashlib.sha256(f"{seed}:{what}:{link}:{direction}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def rate_seed(seed: int, link: int) -> int:
    """Return the seed of a link's rate model; both directions have the same draws."""
    return channel_seed(seed, "states", link, 0)


def channels(run: RunSpec) -> Iterator[tuple[str, Channel, int, int]]:
    """Yield each channel's name, the channel, its link's number and its direction's."""
    for number, link in enumerate(run.network.links):
        for direction, name in enumerate(DIRECTIONS):
            yield f"{link.name}:{name}", link.channel(name), number, direction


def netem_step(time_ns: int, channel: str, settings: tuple[Setting, ...]) -> NetemStep:
    """Return the step that changes a channel's netem to those settings."""
    return {
        "time_ns": time_ns,
        "do": "netem",
        "channel": channel,
        "settings": [setting.document() for setting in settings],
    }


def _described(model: object) -> dict[str, Any] | None:
    return model.model_dump(mode="json") if isinstance(model, BaseModel) else None
