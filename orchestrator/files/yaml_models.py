"""Reads YAML files that one model describes: the files of claims, and those of criteria."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from orchestrator.errors import UsageError
from orchestrator.files.user_files import FileError
from orchestrator.files.user_files import read as read_file

Model = TypeVar("Model", bound=BaseModel)


def read(path: Path, model: type[Model], most_bytes: int) -> Model:
    """Return what a file of up to that many bytes has, as the model.

    Raises:
        UsageError: it cannot be read, or is not valid.
    """
    try:
        return model.model_validate(YAML(typ="safe").load(read_file(path, most_bytes).decode()))
    except (FileError, UnicodeDecodeError, YAMLError) as error:
        raise UsageError(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {first['msg']}") from None
