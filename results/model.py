"""What the store is told of a run before it begins, and what it answers about a stored one.

Flows, queues and checks are kept and handed out as the records of ``orchestrator.recording.model``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.network import Channel, Link
from orchestrator.recording.model import Verdict
from orchestrator.windows import Window

Status = Literal["running", "ok", "failed", "interrupted"]

Number = int | float
"""What a metric's value is, when it can be computed: finite, in the metric's unit."""

Values = dict[str, Number | None]
"""Metrics of one subject by name; None where a value cannot be computed."""

WHOLE = ""
"""Name under which the metrics of [warmup, duration] are kept beside those of the windows."""


@dataclass(frozen=True)
class RunHead:
    """Everything known of a run before it begins.

    ``variant`` holds the values of the matrix, ``resolved`` the whole scenario after overrides
    and matrix, ``links`` the network (see :func:`summarise_links`); all three are JSON-ready.
    ``unconfined`` tells that the guest ran without a boundary.
    """

    experiment: str
    scenario_name: str
    description: str
    variant: Mapping[str, Any]
    repetition: int
    seed: int
    backend: str
    duration_s: float
    warmup_s: float
    windows: Sequence[Window]
    scenario_text: str
    scenario_sha256: str
    resolved: Mapping[str, Any]
    links: Sequence[Mapping[str, Any]] = ()
    git_commit: str | None = None
    unconfined: bool = False


@dataclass(frozen=True)
class RunRow:
    """One line of the list of runs; None where the run has not got that far.

    ``started_utc`` and ``finished_utc`` are ISO 8601. ``status`` is ``interrupted`` too for a
    run whose owner is gone though nobody has marked it yet.
    """

    id: str
    experiment: str
    scenario: str
    description: str
    variant: dict[str, Any]
    repetition: int
    seed: int
    status: Status
    error: str | None
    backend: str
    kernel: str | None
    started_utc: str
    finished_utc: str | None
    wall_s: float | None
    simulated_s: float | None
    digest: str | None
    verdict: Verdict | None
    duration_s: float
    warmup_s: float
    windows: tuple[Window, ...]
    scenario_sha256: str
    git_commit: str | None
    unconfined: bool


@dataclass
class WindowMetrics:
    """Metrics of one window: of the run, of each flow by index, of each queue by its channel."""

    run: Values = field(default_factory=dict)
    flows: list[Values] = field(default_factory=list)
    links: dict[str, Values] = field(default_factory=dict)

    def of(self, flow: int | None, link: str | None) -> Values:
        """Return the metrics of a flow or a link, of the run when neither is given."""
        if flow is not None:
            return self.flows[flow]
        return self.links[link] if link is not None else self.run


def summarise_links(links: Iterable[Link]) -> list[dict[str, Any]]:
    """Return the links as JSON-ready dictionaries, for ``RunHead.links``."""
    return [
        {
            "name": link.name,
            "a": link.a,
            "b": link.b,
            "forward": _summarise(link.forward),
            "reverse": _summarise(link.reverse),
        }
        for link in links
    ]


def _summarise(channel: Channel) -> dict[str, Any]:
    queue = channel.queue
    return {
        "rate_bps": channel.rate_bps,
        "delay_s": channel.delay_s,
        "loss": channel.mean_loss,
        "bottleneck": channel.is_bottleneck,
        "queue_kind": queue.kind if queue else None,
        "limit_packets": queue.limit_packets if queue else None,
        "limit_bytes": queue.limit_bytes if queue else None,
    }
