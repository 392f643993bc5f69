"""What is known of where two runs part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.comparison.one_sided import OneSided
from results.comparison.runs import DifferingValue
from results.traces.difference.traced_events import Kind, TracedEvent


@dataclass(frozen=True)
class RunSide:
    """One of two runs.

    ``trace`` is the number of the stored trace that shows its events, None where there is none.
    ``there`` is the first event that is not the same in the other run. It is None where the run has
    no such event at that time. ``following`` are the next events. ``in_kind`` is the first event
    after ``there`` that the other run has not in kind (``first_alone``). It is None where the run
    has no such event when the other one has it. ``end_ns`` is when the run ends.
    """

    run_id: str
    digest: str
    end_ns: int
    trace: int | None = None
    there: TracedEvent | None = None
    following: Sequence[TracedEvent] = ()
    in_kind: TracedEvent | None = None


@dataclass(frozen=True)
class RunDifference:
    """Where two runs part.

    ``set_up`` has what differs in their set-ups, and ``in_short`` the same with one element for a
    part that only one of them has. ``time_ns`` is when they part, and ``kind`` of which kind that
    event is. Both are None where the runs are bit-identical, or where no traced event differs.
    ``equal`` counts by table the events before, which are the same in both.
    ``equal_until_ns`` is when the shorter run ends, where neither a traced event nor a sample
    differs before. ``in_kind_time_ns`` is when the runs differ in kind first, after they part. It
    is None where they do not until ``in_kind_until_ns``. Both are None where the runs do not part.
    """

    sides: tuple[RunSide, RunSide]
    set_up: Sequence[DifferingValue] = ()
    in_short: Sequence[DifferingValue | OneSided] = ()
    time_ns: int | None = None
    kind: Kind | None = None
    differing: Sequence[DifferingValue] = ()
    equal: Mapping[str, int] | None = None
    equal_until_ns: int | None = None
    in_kind_time_ns: int | None = None
    in_kind_until_ns: int | None = None

    @property
    def identical(self) -> bool:
        """Whether the runs are bit-identical."""
        return self.sides[0].digest == self.sides[1].digest
