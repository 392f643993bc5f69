"""RED on a real machine's kernel, which may not notice that the queue is empty."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check, in doubt, for each RED queue of a real machine.

    Unpatched sch_red below sch_tbf never sees its queue idle, so its average stays high after a
    burst. The guest's kernel is patched (guest/patches/0004).
    """
    if not evidence.real_time:
        return
    for queue in evidence.queues:
        if queue.role != "queue":
            continue
        name = f"{queue.link}:{queue.direction}"
        requested = evidence.channel(name).queue
        if requested is not None and requested.qdisc.kind == "red":
            yield Check(
                f"red_idle {name}", "", None, None, None, None,
                "Linux as it comes does not let RED under a token bucket see that its queue is "
                "empty; the back end guest does",
            )  # fmt: skip
