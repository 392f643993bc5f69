"""Settings of channels and hosts at the end, compared with those that were set last."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: the number of settings that something else than the bed has changed.

    These are rate, queue, delay and loss of channels, and sysctls of hosts.
    """
    end = evidence.one(facts.Channels, at="end")
    changed = [
        f"{channel}: {setting} is {applied}, requested was {requested}"
        for channel, setting, requested, applied in end["differences"]
    ]
    last = {(fact["host"], fact["sysctl"]): fact["value"] for fact in evidence.all(facts.Namespace)}
    at_end = evidence.one(facts.Namespaces, at="end")["values"]
    changed += [f"{h} {name}" for (h, name), value in last.items() if at_end[h][name] != str(value)]
    detail = "; ".join(changed[:3]) if changed else f"{len(end['channels'])} channels"
    if last and not changed:
        detail += f", {len(last)} settings of hosts"
    yield Check("settings_changed", "", 0, len(changed), 0, not changed, detail)
