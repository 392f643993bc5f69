"""What happened to the flows of a run as a value of Python, with data frames of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.application.stored.explanation import Explanation
    from results.traces.moments import Moment

_COLUMNS = ("time_s", "until_s", "flow", "kind", "text", "time_ns", "until_ns", "numbers",
            "evidence")  # fmt: skip

_COST_COLUMNS = ("flow", "time_s", "until_s", "cost_bytes", "level_bps", "is_back", "kinds",
                 "events")  # fmt: skip


@dataclass(frozen=True)
class Explained:
    """What happened to each flow, and why.

    ``str()`` of it is the sentences, one a line.
    """

    explanation: Explanation

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.explanation.run_id

    @property
    def trace(self) -> int:
        """The number of the stored trace that shows it; see ``Results.trace``."""
        return self.explanation.trace

    @property
    def flows(self) -> Mapping[str, Sequence[Moment]]:
        """The moments of each flow by its name, in the order of time."""
        return self.explanation.flows

    @property
    def moments(self) -> pd.DataFrame:
        """A row for each moment, in the order of time.

        ``kind`` is the name of the cause and ``text`` the sentence without its time. ``until_s`` is
        NaN for what has no end. ``numbers`` has the values in the text by names that end in their
        units, and ``evidence`` how many rows of which table of the trace show the moment.
        """
        rows = [
            {
                "time_s": moment.time_ns / 1e9,
                "until_s": None if moment.until_ns is None else moment.until_ns / 1e9,
                "flow": name,
                "kind": moment.kind,
                "text": moment.text,
                "time_ns": moment.time_ns,
                "until_ns": moment.until_ns,
                "numbers": moment.numbers,
                "evidence": moment.evidence,
            }
            for name, found in self.flows.items()
            for moment in found
        ]
        frame = pd.DataFrame(rows, columns=list(_COLUMNS))
        frame["until_s"] = frame["until_s"].astype(float)
        frame["until_ns"] = frame["until_ns"].astype("Int64")
        return frame.sort_values("time_ns", kind="stable", ignore_index=True)

    @property
    def counts(self) -> pd.DataFrame:
        """A row for each flow and a column for each kind: how many such moments there are."""
        counts = {
            name: Counter(moment.kind for moment in found) for name, found in self.flows.items()
        }
        kinds = sorted({kind for of_flow in counts.values() for kind in of_flow})
        rows = [[of_flow[kind] for kind in kinds] for of_flow in counts.values()]
        return pd.DataFrame(rows, index=pd.Index(list(counts), name="flow"), columns=kinds)

    @property
    def limits(self) -> pd.DataFrame:
        """A row for each flow of TCP: shares of its time by what limited its sender, 0 to 1.

        It is of whole runs, and has no rows for a part of one.
        """
        found = {
            name: story.limits.shares
            for name, story in self.explanation.stories.items()
            if story.limits is not None
        }
        return pd.DataFrame.from_dict(found, orient="index").rename_axis("flow")

    @property
    def costs(self) -> pd.DataFrame:
        """A row for each of the events that cost a flow most goodput, the costliest first.

        ``cost_bytes`` is how far the flow was behind the rate ``level_bps`` that it had before, at
        ``until_s``; ``is_back`` tells whether it had that rate again then. ``kinds`` are those of
        the event's moments, and ``events`` is 1, or the number of events of a chain, whose costs
        are added. It is of whole runs, and has no rows for a part of one.
        """
        rows = [
            {
                "flow": name,
                "time_s": event.time_ns / 1e9,
                "until_s": event.until_ns / 1e9,
                "cost_bytes": event.cost_bytes,
                "level_bps": event.level_bps,
                "is_back": event.is_back,
                "kinds": list(dict.fromkeys(self.flows[name][at].kind for at in event.moments)),
                "events": event.events,
            }
            for name, story in self.explanation.stories.items()
            for event in story.costliest
        ]
        return pd.DataFrame(rows, columns=list(_COST_COLUMNS))

    @property
    def comparisons(self) -> pd.DataFrame:
        """A row for each moment that only one of two compared flows has, in the order of time."""
        rows = [
            {"run": run, "flow": name, "time_s": moment.time_ns / 1e9, "kind": moment.kind,
             "text": moment.text}
            for comparison in self.explanation.comparisons
            for (run, name), alone in (
                (comparison.first, comparison.difference.only_first),
                (comparison.second, comparison.difference.only_second),
            )
            for moment in alone
        ]  # fmt: skip
        columns = ["run", "flow", "time_s", "kind", "text"]
        frame = pd.DataFrame(rows, columns=columns)
        return frame.sort_values("time_s", kind="stable", ignore_index=True)

    @property
    def compared_kinds(self) -> pd.DataFrame:
        """Rows of both compared flows for each kind, the largest differences first.

        ``count`` is how many such moments a flow had. Means over them are NaN where none has such a
        number: ``mean_duration_s`` (of timeouts the RTO that ran out), ``mean_cwnd_ratio`` (cwnd
        after / before) and ``mean_packets``.
        """
        rows = [
            {"kind": kind, "run": run, "flow": name, **vars(summary)}
            for comparison in self.explanation.comparisons
            for kind, both in comparison.difference.kinds.items()
            for (run, name), summary in zip(
                (comparison.first, comparison.second), both, strict=True
            )
        ]
        means = ["mean_duration_s", "mean_cwnd_ratio", "mean_packets"]
        frame = pd.DataFrame(rows, columns=["kind", "run", "flow", "count", *means])
        return frame.astype(dict.fromkeys(means, float))

    def __str__(self) -> str:
        """Return the sentences, one a line."""
        return "\n".join(
            f"{row.flow}: at {row.time_s:.6f} s {row.text}."
            for row in self.moments.itertuples(index=False)
        )
