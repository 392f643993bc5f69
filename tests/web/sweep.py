"""A store with the quickstart's runs and a small sweep, whose answer is known."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from results.store.store import Store
from tests.support import experiments
from tests.web import synthetic

LIMIT, RATE = "topology.bottleneck.queue.limit", "topology.bottleneck.rate"
LIMITS = (0.25, 0.5, 1, 2, 4, 6)
QUESTION = "Does BBR leave CUBIC its share of a bottleneck, whatever the buffer?"


def goodput(draw: random.Random, variant: Mapping[str, Any]) -> dict[str, float]:
    """Return goodputs: bbr's share falls with the buffer, to one half at 3 BDP."""
    limit, rate_bps = float(variant[LIMIT][:-3]), float(variant[RATE][:-4]) * 1e6
    share = min(max(0.8 - 0.1 * limit + draw.gauss(0, 0.015), 0.05), 0.95)
    return {"bbr": rate_bps * share, "cubic": rate_bps * (1 - share)}


def fill(path: Path, repetitions: int = 5) -> dict[str, str]:
    """Make the store with a run of each kind, too; return their ids by kind."""
    ids = synthetic.fill(path)
    add(path, repetitions)
    return ids


def add(path: Path, repetitions: int = 5) -> None:
    """Add the sweep to a store."""
    draw = random.Random(1)
    variants = [{LIMIT: f"{limit}bdp", RATE: "50mbit"} for limit in LIMITS]
    with Store(path) as store:
        experiments.make(
            store, lambda variant, _repetition: goodput(draw, variant), variants, repetitions,
            name="bbr-vs-cubic", description=QUESTION,
        )  # fmt: skip
