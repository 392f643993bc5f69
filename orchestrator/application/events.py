"""What use cases tell while they work, as data: a terminal, a notebook or a test shows it.

What a listener raises ends the use case. Threads of the runner tell of :class:`RunProgressed`, one
at a time. :class:`Waiting` and :class:`Notice` may come from another thread meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from orchestrator import plaintext
from orchestrator.errors import OrchestratorError

if TYPE_CHECKING:
    from orchestrator.execution.runner import Progress
    from orchestrator.planning.costs.learning import Estimator
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario.variants.matrix import VariantCounts
    from results.experiment.expectations import ExpectationResult
    from results.runs.model import RunResult

EstimatorMaker = Callable[[], "Estimator | None"]


@dataclass(frozen=True)
class Notice:
    """A line for the user, such as that a store is brought to a newer schema."""

    text: str


def notices(listener: Listener) -> Callable[[str], None]:
    """Return a function that tells a line as a :class:`Notice`; line ends in it are escaped."""
    return lambda text: listener(Notice(plaintext.one_line(text)))


@dataclass(frozen=True)
class Preparing:
    """A step takes time before the runs, such as one of the guest kernel's build.

    ``fraction`` is the part that is done, None where it is not known.
    """

    step: str
    fraction: float | None


@dataclass(frozen=True)
class PlanWarned:
    """A value of a scenario is valid but probably a mistake: where it stands, and what is wrong."""

    where: str
    message: str


@dataclass(frozen=True)
class RunsStored:
    """How many of the runs of a plan are stored already with equal content.

    ``resumed`` tells whether these are used. Else all are made again.
    """

    stored: int
    total: int
    resumed: bool


@dataclass(frozen=True)
class RunsBegun:
    """The runs of a plan begin, ``jobs`` at a time; None where that is not known."""

    plan: Plan
    jobs: int | None


@dataclass(frozen=True)
class RunProgressed:
    """A run went on; ``progress.index`` is its place in the plan of :class:`RunsBegun`."""

    progress: Progress


@dataclass(frozen=True)
class RunsEnded:
    """All runs of the plan have ended, and are stored."""


@dataclass(frozen=True)
class Waiting:
    """The first runs go on, and this program has nothing to do: a time to load what it needs later.

    ``estimator`` makes what estimates wall times by earlier runs of the store. It reads the store,
    and returns None where there is no estimate.
    """

    estimator: EstimatorMaker


@dataclass(frozen=True)
class RepetitionsNeeded:
    """What the rule for the number of repetitions says after a round.

    Attributes:
        made: runs so far.
        more: runs that it asks for now.
        too_wide: variants that have an interval, which is wider than asked for.
        hopeless: variants without any value, which are not repeated further.
        without_value: runs that have no value of the metric.
        metric: the metric of the rule.
        least: repetitions of each variant that were made at first.
    """

    made: int
    more: int
    too_wide: int
    hopeless: int
    without_value: int
    metric: str
    least: int

    @property
    def unmet(self) -> bool:
        """Whether no more runs are made although an interval is not as narrow as asked for."""
        return not self.more and bool(self.too_wide or self.hopeless)


@dataclass(frozen=True)
class ScenarioForm:
    """A valid form of a scenario: the whole or the reduced one.

    ``counts`` are those of its matrix, None without one.
    """

    runs: int
    counts: VariantCounts | None
    reduced: bool


@dataclass(frozen=True)
class ScenarioValid:
    """A scenario file is valid, in each of these forms."""

    path: Path
    forms: Sequence[ScenarioForm]


@dataclass(frozen=True)
class ScenarioBegun:
    """A scenario of a suite begins."""

    path: Path


@dataclass(frozen=True)
class ScenarioMeasured:
    """The runs of a scenario have ended, and are stored.

    ``expectations`` is what each expectation of the scenario finds in each variant.
    """

    ids: Sequence[str]
    runs: Sequence[RunResult]
    expectations: Sequence[ExpectationResult]


@dataclass(frozen=True)
class ScenarioFailed:
    """A scenario of a suite could not be run; the others are."""

    path: Path
    error: OrchestratorError


@dataclass(frozen=True)
class FigureDrawn:
    """A figure of a scenario was drawn."""

    path: Path


@dataclass(frozen=True)
class FigureNote:
    """What a figure leaves out, or what a reader must know of it."""

    file: str
    note: str


@dataclass(frozen=True)
class FigureRefused:
    """A figure could not be drawn."""

    file: str
    reason: str


@dataclass(frozen=True)
class DigestCompared:
    """A run was made again; ``equal`` tells whether it has the digest of the stored one."""

    run_id: str
    stored_id: str
    stored_digest: str
    equal: bool


@dataclass(frozen=True)
class MoreRunsNeeded:
    """Rows of statements are open, and so many more runs may decide them."""

    runs: int


@dataclass(frozen=True)
class AblationBegun:
    """The runs of an ablation begin."""

    paper: str
    claim: str
    name: str


Event: TypeAlias = (
    "Notice | Preparing | PlanWarned | RunsStored | RunsBegun | RunProgressed | RunsEnded | "
    "Waiting | RepetitionsNeeded | ScenarioValid | ScenarioBegun | ScenarioMeasured | "
    "ScenarioFailed | FigureDrawn | FigureNote | FigureRefused | DigestCompared | "
    "MoreRunsNeeded | AblationBegun"
)
Listener = Callable[["Event"], None]


def say_nothing(_event: Event) -> None:
    """Ignore an event: the listener of those who want the result alone."""
