"""The drawing of a run's network on its page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from results.drawing import fragment
from results.drawing.captions import MeasuredDrops
from results.drawing.stored import network_of
from results.runs.model import LinkResult
from results.store.stored import StoredRun

QUEUES_AT = "#chart-queue"
"""Where the page shows queues over time."""


def drawing(run: StoredRun, links: Sequence[LinkResult]) -> Markup:
    """Return the drawing of a run that has ended well, empty where its links are not known.

    ``links`` have the drops of each channel.
    """
    network = network_of(run.head.links, run.flows, run.queues)
    if network is None:
        return Markup()
    drops = {link.name: int(link.metrics["drops_packets"] or 0) for link in links}
    queues: dict[str, list[str]] = {}
    busiest = sorted(run.queues, key=lambda one: -drops.get(f"{one.link}:{one.direction}", 0))
    for queue in busiest:
        if queue.role == "queue":
            queues.setdefault(queue.link, []).append(queue.name)
    # All text of the fragment is escaped where it is drawn.
    return Markup(fragment(network, MeasuredDrops(drops), queues, QUEUES_AT))
