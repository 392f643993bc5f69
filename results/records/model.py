"""Records that the store takes and returns: a run before it begins, and a stored run.

Each field of a run is declared here and nowhere else; see docs/developing.md. Flows, queues and
checks have the records of ``orchestrator.recording.model``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from orchestrator.files.scenario_files import ResolvedScenario
from orchestrator.recording.model import Verdict
from orchestrator.repetitions import RepetitionRule
from orchestrator.windows import Window
from results.records.columns import (
    COMPARED,
    FLAG,
    LINKS,
    OBJECT,
    OPTIONAL_FLAG,
    RULE,
    WINDOWS,
)
from results.records.links import LinkSummary

Status = Literal["running", "ok", "failed", "interrupted"]

State = Literal["faithful", "doubtful", "unfaithful", "failed", "running"]
"""What became of a run: its verdict, or why it has none; an interrupted run has failed."""

Variant = Mapping[str, Any]
"""The values of a variant, as they stand in the scenario, by the paths of the axes."""

VariantSets = Mapping[str, Mapping[str, Any]]
"""What the named values of a variant set, by axis and path."""

Number = int | float
"""The value of a metric that can be computed: finite, in the metric's unit."""

Values = dict[str, Number | None]
"""Metrics of one subject by name; None where a value cannot be computed."""

WHOLE = ""
"""Name of the metrics over [warmup, duration], beside the names of the windows."""


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """The fields of a run that are known before it begins and read with each list of runs.

    ``variant`` has the values of the matrix. ``variant_sets`` has, for each axis of named values,
    the values that it sets by path. ``unconfined`` is set for a guest without a sandbox.
    ``link_model`` and ``digest_version`` are those of ``orchestrator.protocol.version`` when the
    run was made. Digests are comparable only where both are equal. ``digest_depends_on_sampling``
    tells whether another sampling period may give another digest (see docs/trust.md). It is None
    where digests do not repeat, as on real machines.

    ``experiment_sha256`` is that of ``orchestrator.planning.identity``, ``repetition_rule`` the
    scenario's rule for the number of repetitions (None for a fixed number).

    ``metrics_grid_s`` is the period at which TCP senders were read for metrics, in seconds; None in
    runs without senders that have one connection at a time.
    """

    experiment: Annotated[str, COMPARED]
    scenario: str
    description: str
    variant: Annotated[Variant, OBJECT, COMPARED]
    variant_sets: Annotated[VariantSets, OBJECT, COMPARED] = field(default_factory=dict)
    repetition: Annotated[int, COMPARED]
    seed: Annotated[int, COMPARED]
    backend: Annotated[str, COMPARED]
    duration_s: float
    warmup_s: float
    windows: Annotated[Sequence[Window], WINDOWS]
    scenario_sha256: Annotated[str, COMPARED]
    link_model: Annotated[int, COMPARED]
    digest_version: Annotated[int, COMPARED]
    digest_depends_on_sampling: Annotated[bool | None, OPTIONAL_FLAG, COMPARED] = None
    experiment_sha256: str | None = None
    repetition_rule: Annotated[RepetitionRule | None, RULE] = None
    git_commit: Annotated[str | None, COMPARED] = None
    unconfined: Annotated[bool, FLAG, COMPARED] = False
    metrics_grid_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunHead(RunIdentity):
    """All fields of a run that are known before it begins.

    ``links`` are those of the network.
    """

    scenario_text: str
    resolved: Annotated[ResolvedScenario, OBJECT]
    links: Annotated[Sequence[LinkSummary], LINKS] = ()


@dataclass(frozen=True, kw_only=True)
class RunRow(RunIdentity):
    """One line of the list of runs. Fields that the run's end sets are None before.

    ``kernel_warnings`` is the number of warnings that a guest's kernel printed while traffic ran.
    ``started_utc`` and ``finished_utc`` are ISO 8601. ``status`` is ``interrupted``, too, for a run
    whose process has ended and that is not marked yet.
    """

    id: str
    status: Annotated[Status, COMPARED]
    error: str | None
    kernel: Annotated[str | None, COMPARED]
    started_utc: str
    finished_utc: str | None
    wall_s: float | None
    simulated_s: float | None
    digest: Annotated[str | None, COMPARED]
    kernel_warnings: int | None
    verdict: Annotated[Verdict | None, COMPARED]

    @property
    def failed(self) -> bool:
        """Tell whether the run ended, and not well."""
        return self.status in ("failed", "interrupted")

    @property
    def counts(self) -> bool:
        """Tell whether means have the run: it ended ok, and is faithful or doubtful."""
        return self.status == "ok" and self.verdict != "unfaithful"


@dataclass(frozen=True)
class RunEvent:
    """An event of a run. ``requested`` is what the scenario asks for, without the time.

    Times are in seconds since the start of traffic. ``applied_s`` is when it took place, None in a
    plan.
    """

    time_s: float
    applied_s: float | None
    requested: Mapping[str, Any]


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
