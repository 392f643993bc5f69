"""The parameters that all kinds of requests and responses share."""

from __future__ import annotations

from orchestrator.kinds.distributions import Counts, Durations, Sizes, fixed
from orchestrator.protocol.engine_parameters import ExchangesTraffic


def exchanges(
    request: Sizes,
    response: Sizes,
    think: Durations | None,
    objects: Counts | None = None,
    *,
    pages: Counts | None = None,
    arrivals_per_s: float | None = None,
    number: int | None = None,
) -> ExchangesTraffic:
    """Return the parameters of the engine ``exchanges``.

    Without ``objects`` a page has one object, and without ``pages`` a connection has no end.
    """
    return {
        "request": request.document(1),
        "response": response.document(1),
        "objects": fixed(1) if objects is None else objects.document(1),
        "think": None if think is None else think.document(1e9),
        "gap": None,
        "pages": None if pages is None else pages.document(1),
        "arrivals_per_s": arrivals_per_s,
        "number": number,
    }


def in_rounds(
    parameters: ExchangesTraffic,
    number: int | None,
    gap: Durations | None,
    jitter: Durations | None = None,
) -> ExchangesTraffic:
    """Return the parameters of exchanges that all flows of an entry begin together.

    ``number`` None has no end. ``gap`` is the time between two rounds, and ``jitter`` how much
    later each flow requests. The plan sets the number of the entry.
    """
    return {
        **parameters,
        "rounds": {
            "entry": 0,
            "number": number,
            "gap": None if gap is None else gap.document(1e9),
            "jitter": None if jitter is None else jitter.document(1e9),
        },
    }
