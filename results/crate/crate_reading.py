"""Reads a crate that a stranger made: a folder, or a ZIP archive of it.

Every file that the crate lists is compared with its size and its SHA-256. Then ``plan.json`` is
read, with the scenarios and the files that its runs need. Nothing is unpacked, and nothing else of
this machine is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from pydantic import ValidationError

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.files.scenario_files import MOST_FILE_BYTES, require_place
from orchestrator.files.untrusted_tree import (
    TreeError,
    UntrustedFolder,
    UntrustedTree,
    UntrustedZip,
)
from orchestrator.files.user_files import named
from results.crate import crate_plan
from results.crate.crate_files import METADATA
from results.crate.crate_plan import CratePlan, CrateRun

MOST_JSON_BYTES = 128 * 2**20
"""Most bytes of the crate's description, and of its plan."""
MOST_SCENARIO_BYTES = 4_000_000
MOST_NEEDED_BYTES = 512 * 2**20
"""Most bytes of all scenarios and files that the runs need; they are held in memory."""
MOST_LISTED_BYTES = 2**40
"""Most bytes of all files that a crate lists."""


class CrateError(UsageError):
    """A crate is malformed, or its runs cannot be made again; the message names the crate."""


@dataclass(frozen=True)
class Crate:
    """A crate that was read: its plan, and the contents that its runs need, by their paths."""

    path: Path
    plan: CratePlan
    contents: Mapping[str, bytes]

    def files_of(self, run: CrateRun) -> dict[str, bytes]:
        """Return the files that the scenario of a run names, by their places."""
        return {place: self.contents[file.path] for place, file in run.files.items()}


def read_crate(path: Path) -> Crate:
    """Read a crate and check it.

    Raises:
        CrateError: it is malformed, not confined, too large, or a file is not what the crate lists.
    """
    try:
        with UntrustedFolder(path) if path.is_dir() else UntrustedZip(path) as tree:
            listed = dict(_listed(tree))
            for name, sha256 in listed.items():
                _require_content(tree, name, sha256)
            plan = _plan(tree, listed)
            return Crate(path, plan, dict(_needed(tree, plan, listed)))
    except (TreeError, ValueError, RecursionError) as error:
        text = plaintext.visible(plaintext.shortened(_words(error), 1000))
        raise CrateError(
            f"{named(path)} is no crate whose runs can be made again: {text}\n"
            "  fix: get the crate again from its author, who made it with "
            "`orchestrator export EXPERIMENT --format rocrate`"
        ) from error


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        return f"{crate_plan.NAME}: {where}: {first['msg']}"
    return str(error) or type(error).__name__


def _listed(tree: UntrustedTree) -> Iterator[tuple[str, str]]:
    """Yield name and SHA-256 of each file that the crate's description lists."""
    document = _json(tree, METADATA)
    graph = document.get("@graph") if isinstance(document, dict) else None
    if not isinstance(graph, list):
        raise TreeError(f"{METADATA} has no list @graph")
    total = 0
    for entity in graph:
        if not isinstance(entity, dict) or entity.get("@type") != "File":
            continue
        name, size, sha256 = (entity.get(key) for key in ("@id", "contentSize", "sha256"))
        if not (isinstance(name, str) and isinstance(size, str) and isinstance(sha256, str)):
            raise TreeError(f"{METADATA}: a file has no name, size or SHA-256")
        place = require_place(unquote(name))
        if place not in tree.sizes:
            raise TreeError(f"{named(place)} is missing")
        if size != str(tree.sizes[place]):
            raise TreeError(f"{named(place)} has not the size that the crate lists")
        total += tree.sizes[place]
        if total > MOST_LISTED_BYTES:
            raise TreeError(f"it lists more than {MOST_LISTED_BYTES} bytes")
        yield place, sha256


def _require_content(tree: UntrustedTree, name: str, sha256: str) -> None:
    total = hashlib.sha256()
    for chunk in tree.chunks(name):
        total.update(chunk)
    if total.hexdigest() != sha256:
        raise TreeError(f"{named(name)} is not what the crate lists: its SHA-256 differs")


def _plan(tree: UntrustedTree, listed: Mapping[str, str]) -> CratePlan:
    if crate_plan.NAME not in listed:
        raise TreeError(
            f"it lists no {crate_plan.NAME}: an earlier version of the program made it, or another "
            "program"
        )
    document = _json(tree, crate_plan.NAME)
    if isinstance(document, dict) and document.get("format") != crate_plan.FORMAT:
        raise TreeError(
            f"{crate_plan.NAME} has the format {document.get('format')!r:.80}, and this program "
            f"reads {crate_plan.FORMAT}"
        )
    plan = CratePlan.model_validate(document)
    if len({run.id for run in plan.runs}) < len(plan.runs):
        raise TreeError(f"{crate_plan.NAME} names a run twice")
    return plan


def _needed(
    tree: UntrustedTree, plan: CratePlan, listed: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file that the runs need."""
    wanted: dict[str, int] = {}
    for run in plan.runs:
        wanted[run.scenario_file] = MOST_SCENARIO_BYTES
        for place, file in run.files.items():
            require_place(place)
            if listed.get(file.path) != file.sha256:
                raise TreeError(f"run {run.id} needs {named(file.path)}, which it does not list")
            wanted.setdefault(file.path, MOST_FILE_BYTES)
    total = 0
    for path, most_bytes in wanted.items():
        if path not in listed:
            raise TreeError(f"its runs need {named(path)}, which it does not list")
        total += tree.sizes[path]
        if total > MOST_NEEDED_BYTES:
            raise TreeError(f"its runs need more than {MOST_NEEDED_BYTES} bytes of files")
        yield path, tree.read(path, most_bytes)


def _json(tree: UntrustedTree, name: str) -> Any:
    text = tree.read(name, MOST_JSON_BYTES).decode()
    return json.loads(text, parse_constant=_no_number)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
