"""Records that the store takes and returns: a run before it begins, and a stored run.

Each field of a run is declared here and nowhere else; see docs/developing.md. Flows, queues and
checks have the records of ``orchestrator.recording.model``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from orchestrator.network import Channel, Link
from orchestrator.recording.model import Verdict
from orchestrator.windows import Window
from results.columns import (
    COMPARED,
    FLAG,
    OBJECT,
    OBJECTS,
    OPTIONAL_FLAG,
    OPTIONAL_OBJECT,
    SHOWN,
    WINDOWS,
)

Status = Literal["running", "ok", "failed", "interrupted"]

Number = int | float
"""The value of a metric that can be computed: finite, in the metric's unit."""

Values = dict[str, Number | None]
"""Metrics of one subject by name; None where a value cannot be computed."""

WHOLE = ""
"""Name of the metrics over [warmup, duration], beside the names of the windows."""


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """The fields of a run that are known before it begins and read with each list of runs.

    ``variant`` has the values of the matrix. ``unconfined`` is set for a guest without a sandbox.
    ``link_model`` and ``digest_version`` are those of ``orchestrator.protocol.version`` when the
    run was made. Digests are comparable only where both are equal. ``digest_depends_on_sampling``
    tells whether another sampling period may give another digest (see docs/trust.md). It is None
    where digests do not repeat, as on real machines, and in runs older than the field.

    ``experiment_sha256`` is that of ``orchestrator.planning.identity``, ``repetition_rule`` the
    scenario's rule for the number of repetitions (None for a fixed number). Both are None in runs
    that are older than the fields.
    """

    experiment: Annotated[str, COMPARED]
    scenario: str
    description: str
    variant: Annotated[Mapping[str, Any], OBJECT, SHOWN, COMPARED]
    repetition: Annotated[int, SHOWN, COMPARED]
    seed: Annotated[int, SHOWN, COMPARED]
    backend: Annotated[str, SHOWN, COMPARED]
    duration_s: float
    warmup_s: float
    windows: Annotated[Sequence[Window], WINDOWS]
    scenario_sha256: Annotated[str, COMPARED]
    link_model: Annotated[int, SHOWN, COMPARED]
    digest_version: Annotated[int, SHOWN, COMPARED]
    digest_depends_on_sampling: Annotated[bool | None, OPTIONAL_FLAG, SHOWN, COMPARED] = None
    experiment_sha256: str | None = None
    repetition_rule: Annotated[Mapping[str, Any] | None, OPTIONAL_OBJECT] = None
    git_commit: Annotated[str | None, COMPARED] = None
    unconfined: Annotated[bool, FLAG, COMPARED] = False


@dataclass(frozen=True, kw_only=True)
class RunHead(RunIdentity):
    """All fields of a run that are known before it begins.

    ``resolved`` is the whole scenario after overrides and matrix, ``links`` the network (see
    :func:`summarise_links`); both are JSON-ready.
    """

    scenario_text: str
    resolved: Annotated[Mapping[str, Any], OBJECT]
    links: Annotated[Sequence[Mapping[str, Any]], OBJECTS] = ()


@dataclass(frozen=True, kw_only=True)
class RunRow(RunIdentity):
    """One line of the list of runs. Fields that the run's end sets are None before.

    ``started_utc`` and ``finished_utc`` are ISO 8601. ``status`` is ``interrupted``, too, for a run
    whose process has ended and that is not marked yet.
    """

    id: Annotated[str, SHOWN]
    status: Annotated[Status, SHOWN, COMPARED]
    error: Annotated[str | None, SHOWN]
    kernel: Annotated[str | None, SHOWN, COMPARED]
    started_utc: str
    finished_utc: str | None
    wall_s: Annotated[float | None, SHOWN]
    simulated_s: Annotated[float | None, SHOWN]
    digest: Annotated[str | None, SHOWN, COMPARED]
    verdict: Annotated[Verdict | None, COMPARED]

    @property
    def counts(self) -> bool:
        """Tell whether means have the run: it ended ok, and is faithful or doubtful."""
        return self.status == "ok" and self.verdict != "unfaithful"


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
