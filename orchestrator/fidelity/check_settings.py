"""Settings at the end, of every channel and namespace: those set, or that the last event set."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: what another hand than the bed's has changed since it was set.

    Of a channel that is its rate, queue, delay or loss; of a host what its namespace was told.
    """
    end = evidence.one(facts.Channels, at="end")
    changed = [
        f"{channel}: {setting} is {found}, asked was {asked}"
        for channel, setting, asked, found in end["differences"]
    ]
    last = {(fact["host"], fact["sysctl"]): fact["value"] for fact in evidence.all(facts.Namespace)}
    told = evidence.one(facts.Namespaces, at="end")["values"]
    changed += [f"{h} {name}" for (h, name), value in last.items() if told[h][name] != str(value)]
    detail = "; ".join(changed[:3]) if changed else f"{len(end['channels'])} channels"
    if last and not changed:
        detail += f", {len(last)} settings of hosts"
    yield Check("settings_changed", "", 0, len(changed), 0, not changed, detail)
