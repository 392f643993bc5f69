"""RED on a kernel of its own: whether it notices that its queue is empty cannot be told."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check, in doubt, for each RED queue of a real machine.

    Stock sch_red under sch_tbf never sees its queue idle, so its average stays what it was after a
    burst. The guest's kernel is fixed (guest/patches/0004).
    """
    if not evidence.real_time:
        return
    for queue in evidence.queues:
        if queue.role != "queue":
            continue
        name = f"{queue.link}:{queue.direction}"
        asked = evidence.channel(name).queue
        if asked is not None and asked.qdisc.kind == "red":
            yield Check(
                f"red_idle {name}", "", None, None, None, None,
                "Linux as it comes does not let RED under a token bucket see that its queue is "
                "empty; the back end guest does",
            )  # fmt: skip
