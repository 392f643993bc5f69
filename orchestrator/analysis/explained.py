"""What happened to the flows of a run as a value of Python, with data frames of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestrator.application.stored.explain import Explanation
    from results.traces.moments import Moment

_COLUMNS = ("time_s", "until_s", "flow", "kind", "text", "time_ns", "until_ns", "numbers",
            "evidence")  # fmt: skip


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

    def __str__(self) -> str:
        """Return the sentences, one a line."""
        return "\n".join(
            f"{row.flow}: at {row.time_s:.6f} s {row.text}."
            for row in self.moments.itertuples(index=False)
        )
