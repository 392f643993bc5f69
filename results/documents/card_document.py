"""Reads report cards and matrices of harm from files, which may come from strangers."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.errors import UsageError
from orchestrator.files.user_files import FileError
from orchestrator.files.user_files import read as read_file
from orchestrator.units import shown
from results.contract.evaluations import Card, HarmMatrix
from results.matrix.axes import key

M = TypeVar("M", bound=BaseModel)
MOST_BYTES = 50_000_000


def read_card(path: Path) -> Card:
    """Read a card from a card.json.

    Raises:
        UsageError: it cannot be read, or is no card.
    """
    return _read(path, Card, "card")


def read_matrix(path: Path) -> HarmMatrix:
    """Read a matrix of harm from a matrix.json.

    Raises:
        UsageError: it cannot be read, or is no matrix of harm, or one that has not each control
            beside each once: a page of it could be far larger than the file.
    """
    found = _read(path, HarmMatrix, "matrix of harm")
    wanted = Counter(itertools.product(found.controls, repeat=2)) if _is_square(found) else None
    for metric in found.metrics:
        pairs: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for cell in metric.cells:
            pairs[key(cell.variant)][cell.newcomer, cell.incumbent] += 1
        if any(each != wanted for each in pairs.values()):
            raise UsageError(
                f"{path}: is no matrix of harm: {shown(metric.metric)}: each control must be "
                "beside each once, in each variant"
            )
    return found


def _is_square(found: HarmMatrix) -> bool:
    """Tell whether a matrix may have all pairs, before as many are made as its controls ask for."""
    fewest = min((len(metric.cells) for metric in found.metrics if metric.cells), default=0)
    return len(found.controls) ** 2 <= fewest


def _read(path: Path, model: type[M], what: str) -> M:
    try:
        return model.model_validate_json(read_file(path, MOST_BYTES))
    except FileError as error:
        raise UsageError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"{path}: is no {what}: {where}: {first['msg']}") from None
