"""How a flow ended, as text for people."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Sequence

from orchestrator.protocol.reports.outcomes import ENDED, EXIT_STATUS, OF_PROGRAMS
from orchestrator.recording.model import FlowRecord
from results.wording import quantities


def ended_early(flow: FlowRecord) -> bool:
    """Tell whether a connection of the flow failed, or its program did not end well."""
    return flow.outcome != ENDED


MOST_ENDINGS = 5
"""Ways in which flows of a variant ended that a line names."""


def failures(runs: Sequence[Sequence[FlowRecord]]) -> str | None:
    """Return in how many runs which flows failed and how, None where none did.

    Such as ``connections failed in 2 of 5 runs: a timed_out in 2, b reset in 1``. Where programs
    are among them, it is flows that ended early. ``runs`` has the flows of each run.
    """
    counts = Counter(
        (flow.name, flow.outcome) for flows in runs for flow in flows if ended_early(flow)
    )
    if not counts:
        return None
    number = sum(any(map(ended_early, flows)) for flows in runs)
    named = [f"{name} {outcome} in {count}" for (name, outcome), count in counts.items()]
    more = len(named) - MOST_ENDINGS
    rest = [f"and {more} more"] if more > 0 else []
    listed = ", ".join([*named[:MOST_ENDINGS], *rest])
    of_programs = any(flow.outcome in OF_PROGRAMS for flows in runs for flow in flows)
    what = "flows ended early" if of_programs else "connections failed"
    return f"{what} in {number} of {quantities.plural(len(runs), 'run')}: {listed}"


def ending(flow: FlowRecord) -> str:
    """Return how a flow ended, such as ``timed_out at 945.7 s (ETIMEDOUT)``."""
    words = [flow.outcome]
    if flow.outcome == EXIT_STATUS:
        words.append(str(flow.exit_status))
    if flow.ended_s is not None:
        words.append(f"at {flow.ended_s:.6g} s")
    if flow.errno is not None:
        words.append(f"({errno.errorcode.get(flow.errno, flow.errno)})")
    return " ".join(words)
