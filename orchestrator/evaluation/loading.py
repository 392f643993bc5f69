"""Reads the criteria, and finds those that a user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.evaluation.model import Criterion
from orchestrator.files import yaml_models
from orchestrator.suggestions import suggest

FOLDER = Path(__file__).resolve().parent / "criteria"
"""The criteria of the card, in the package and so in each wheel."""

ORDER = (
    "utilisation", "collapse", "ack-loss", "bufferbloat", "shallow-buffers", "fairness",
    "rtt-fairness", "short-beside-long", "long-beside-short", "harm", "real-time",
    "random-loss", "reordering", "varying-delay", "transients", "wireless", "satellite",
    "data-centre", "incast", "aqm", "ecn", "ecn-beside", "l4s", "several-bottlenecks", "idle",
    "ack-congestion", "survival", "code",
    "tcpeval-access", "tcpeval-data-centre", "tcpeval-trans-oceanic", "tcpeval-satellite",
    "tcpeval-wireless", "tcpeval-dial-up", "tcpeval-tradeoff", "tcpeval-ramp-up",
    "tcpeval-transients", "tcpeval-impact", "tcpeval-fairness", "tcpeval-bottlenecks",
)  # fmt: skip
"""The order of the card; others come after these, by their names."""

DEFAULT_GROUP = "rfc9743"
"""The group of criteria that are on a card unless others are named."""

_MAX_BYTES = 200_000


def load(path: Path) -> Criterion:
    """Read a file of one criterion.

    Raises:
        UsageError: it cannot be read, or is not valid.
    """
    return yaml_models.read(path, Criterion, _MAX_BYTES)


def load_all(folder: Path = FOLDER) -> dict[str, Criterion]:
    """Return the criteria of a folder by the name of their file, in the order of the card."""
    found = {path.stem: load(path) for path in folder.glob("*.yaml")}
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: (ranks.get(item[0], len(ranks)), item[0])))


def select(
    criteria: Mapping[str, Criterion], names: Sequence[str], option: str
) -> dict[str, Criterion]:
    """Return the named criteria in the order of the card; without names those of ``rfc9743``.

    The name of a group stands for all criteria of it.

    Raises:
        UsageError: there is no such criterion.
    """
    groups = list(dict.fromkeys(one.group for one in criteria.values()))
    valid = [*groups, *criteria]
    for name in names:
        if name not in valid:
            raise UsageError(
                f"{option}: there is no criterion {name or 'without a name'}"
                f"{suggest(name, valid)}; there are {', '.join(criteria)}; and the groups "
                f"{' and '.join(groups)}"
            )
    wanted = set(names) or {DEFAULT_GROUP}
    return {name: one for name, one in criteria.items() if {name, one.group} & wanted}
