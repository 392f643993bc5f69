"""The path between two machines of a lab: as many routers after traffic as before."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each pair of machines: the TTL of echo replies.

    A different TTL shows another route. Other changes of a live path are not seen. Without a reply
    at the end the check is in doubt.
    """
    ways = {
        (round_trip["source"], round_trip["sink"]): round_trip
        for round_trip in evidence.all(facts.RoundTripAfter)
    }
    for before in evidence.all(facts.RoundTrip):
        if "ttl" not in before:
            return
        after = ways[before["source"], before["sink"]]["ttl"]
        good = None if after is None else after == before["ttl"]
        detail = "TTL of answers, before and after traffic" if good else "another path, or no reply"
        name = f"path {before['source']} to {before['sink']}"
        yield Check(name, "", before["ttl"], after, None, good, detail)
