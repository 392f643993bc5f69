"""The model of each congestion control by its name."""

from __future__ import annotations

from tests.guest.peer.estimators import (
    Csfq,
    LogWestwood,
    Tibet,
    Westwood1,
    Westwood2,
    Westwood3,
    WestwoodPlus,
)
from tests.guest.peer.windows import Fast, IdealTcp, Libra, Model, NewRenoNs2

MODELS: dict[str, type[Model]] = {
    "reno": Model,
    "westwoodplus": WestwoodPlus,
    "logwestwood": LogWestwood,
    "tibet": Tibet,
    "westwood1": Westwood1,
    "westwood2": Westwood2,
    "westwood3": Westwood3,
    "csfq": Csfq,
    "libra": Libra,
    "fast": Fast,
    "idealtcp": IdealTcp,
    "newreno_ns2": NewRenoNs2,
}
