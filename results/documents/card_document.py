"""Reads report cards and matrices of harm from files, which may come from strangers."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.errors import UsageError
from orchestrator.files.user_files import FileError
from orchestrator.files.user_files import read as read_file
from results.contract.evaluations import Card, HarmMatrix

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
        UsageError: it cannot be read, or is no matrix of harm.
    """
    return _read(path, HarmMatrix, "matrix of harm")


def _read(path: Path, model: type[M], what: str) -> M:
    try:
        return model.model_validate_json(read_file(path, MOST_BYTES))
    except FileError as error:
        raise UsageError(str(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"{path}: is no {what}: {where}: {first['msg']}") from None
