"""The files that a scenario names: its modules' sources and its traces, each read once.

A scenario names a file by a path, relative to its own folder. What is stored of a run has a *place*
instead, which shows no folder of the author: the path below the scenario's folder, or
``outside-HASH/NAME`` of what lies elsewhere. With the content of all places, the scenario can be
loaded again anywhere; see :class:`StoredFiles`.
"""

from __future__ import annotations

import hashlib
import os.path
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.files.user_files import FileError, named, read, read_folder
from orchestrator.units import shown

HOSTS_OF_A_LAB = "lab"
"""The key of a scenario that says how the hosts of a lab are reached."""
HASHED = {
    "module": "sources", "trace": "sha256", "patch": "sha256", "files": "files_sha256",
    "cdf": "sha256", "file": "sha256",
}  # fmt: skip
"""Keys of a scenario that name a file or a folder, and the key beside each with its SHA-256."""
_FOLDERS = ("module", "files")
"""Those that name a folder."""

ResolvedScenario = Mapping[str, Any]
"""A whole scenario after overrides and matrix, as its user wrote it: JSON-ready values by key."""

MOST_FILE_BYTES = 64_000_000
"""Most bytes of one file that a scenario names."""

_OUTSIDE = "outside-"
_HASH_DIGITS = 12


@dataclass(frozen=True)
class NamedFile:
    """A file that a scenario names, by its place, with its content."""

    place: str
    content: bytes = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class NamedFolder:
    """A folder that a scenario names: its place, its path on this machine, and its files.

    ``files`` has contents by their paths below the folder.
    """

    place: str
    path: Path
    files: Mapping[str, bytes] = field(repr=False)


class ScenarioFiles:
    """Reads what a scenario in the folder ``base`` names.

    A path is absolute or relative to ``base``. The place of what was read is a path, too.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._read: dict[str, NamedFile] = {}
        self._folders: dict[str, NamedFolder] = {}
        self._paths: dict[str, Path] = {}
        self._places: dict[str, str] = {}

    def remember(self, given: str, path: Path) -> str:
        """Return the place of a file that is not stored; the place stands for its path here."""
        place = self.place(given) or f"{_OUTSIDE}here/{path.name}"
        self._paths[place] = path
        self._places[given] = place
        return place

    def path(self, given: str) -> Path:
        """Return the absolute path that is named; ValueError when it is none."""
        if given in self._paths:
            return self._paths[given]
        try:
            return (self._base / given).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a NUL
            raise ValueError(f"{shown(given)} is not a path: {error}") from None

    def file(self, given: str, most_bytes: int) -> NamedFile:
        """Return the file at a path or place.

        Raises:
            ValueError: it cannot be read, or is no regular file of up to ``most_bytes``.
        """
        if given not in self._read:
            content = read(self.path(given), most_bytes)
            place = self.place(given) or _outside(hashlib.sha256(content).hexdigest(), given)
            self._read[given] = self._read[place] = NamedFile(place, content)
            self._places[given] = place
        return self._read[given]

    def folder(
        self, given: str, wanted: Callable[[str], bool], most_entries: int, most_bytes: int
    ) -> NamedFolder:
        """Return the folder at a path or place, with the files whose names are ``wanted``.

        Raises:
            FileError: as ``read_folder``.
            ValueError: ``given`` is no path.
        """
        if given not in self._folders:
            path = self.path(given)
            files = read_folder(path, wanted, most_entries, most_bytes)
            place = self.place(given) or _outside(hash_of(files), str(path))
            self._folders[given] = self._folders[place] = NamedFolder(place, path, files)
            self._places[given] = place
        return self._folders[given]

    def place(self, given: str) -> str | None:
        """Return the path below the scenario's folder, None of what lies elsewhere."""
        base = os.path.abspath(self._base)  # noqa: PTH100 - links stay as they are written
        pairs = [(os.path.join(base, given), base), (str(self.path(given)), str(self.path(".")))]  # noqa: PTH118
        for path, folder in pairs:
            relative = os.path.relpath(path, folder)
            first = PurePosixPath(relative).parts[:1]
            if first != ("..",) and not (first and first[0].startswith(_OUTSIDE)):
                return relative
        return None

    def in_places(self, text: str) -> str:
        """Return a scenario's text that names what was read by places, where a path shows folders.

        A path below the scenario's folder stays as it is written, unless it is absolute.
        """
        for given, place in sorted(self._places.items(), key=lambda pair: -len(pair[0])):
            if _shows_folders(given):
                alone = rf"(?<![^\s\[{{,:'\"]){re.escape(given)}(?![^\s\]}},'\"])"
                text = re.sub(alone, place.replace("\\", r"\\"), text)
        return text

    def named_in(self, scenario: Any) -> dict[str, NamedFile]:
        """Return the files that a resolved scenario names, by their places.

        Each of them has been read by the validation of the scenario.
        """
        by_place: dict[str, NamedFile] = {}
        for mapping, key in _hashed(scenario):
            place = mapping[key]
            if key in _FOLDERS:
                for name, content in self._folders[place].files.items():
                    below = name if place == "." else f"{place}/{name}"
                    known = self._read.get(below)
                    same = known is not None and known.content == content
                    by_place[below] = known if known and same else NamedFile(below, content)
                    self._read[below] = by_place[below]  # equal runs share it
            else:
                by_place[place] = self._read[place]
        return by_place


class StoredFiles(ScenarioFiles):
    """The files of a stored scenario: contents by places, and nothing of this machine."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__(Path())
        self._contents = contents

    def path(self, given: str) -> Path:
        """Raise ValueError: a stored scenario names no path of this machine."""
        raise ValueError(f"{shown(given)} is not stored with the scenario")

    def file(self, given: str, most_bytes: int) -> NamedFile:
        """Return the stored file of a place, or of a path below the scenario's folder."""
        given = os.path.normpath(given)
        if given not in self._read:
            if given not in self._contents:
                raise FileError(Path(given), "is not stored with the scenario")
            if len(self._contents[given]) > most_bytes:
                raise FileError(Path(given), f"is larger than {most_bytes} bytes")
            self._read[given] = NamedFile(given, self._contents[given])
        return self._read[given]

    def folder(
        self, given: str, wanted: Callable[[str], bool], most_entries: int, most_bytes: int
    ) -> NamedFolder:
        """Return the stored folder of a place, or of a path below the scenario's folder."""
        given = os.path.normpath(given)
        if given not in self._folders:
            below = "" if given == "." else f"{given}/"
            files = {
                place.removeprefix(below): content
                for place, content in sorted(self._contents.items())
                if place.startswith(below) and wanted(PurePosixPath(place).name)
            }
            if not files:
                raise FileError(Path(given), "is not stored with the scenario")
            if len(files) > most_entries or sum(map(len, files.values())) > most_bytes:
                raise FileError(Path(given), "holds too much")
            self._folders[given] = NamedFolder(given, Path(given), files)
        return self._folders[given]


def hash_of(files: Mapping[str, bytes]) -> str:
    """Return a SHA-256 over names and contents, in the order of the names."""
    total = hashlib.sha256()
    for name, content in sorted(files.items()):
        total.update(f"{name}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def by_content(scenario: Any) -> Any:
    """Return a resolved scenario without the paths of what it names; the hashes stay.

    An inventory of lab hosts has no hash: it says how hosts are reached, and not what they do.
    """
    if isinstance(scenario, Mapping):
        left_out = {key for key, beside in HASHED.items() if key in scenario and beside in scenario}
        return {
            key: _without_inventory(value) if key == HOSTS_OF_A_LAB else by_content(value)
            for key, value in scenario.items()
            if key not in left_out
        }
    return [by_content(item) for item in scenario] if isinstance(scenario, list) else scenario


Chosen = Callable[[str, Mapping[str, Any], str], str]
"""Returns what stands for a file: of its path as written, its resolved mapping, and its key."""


def place_of(written: str, mapping: Mapping[str, Any], key: str) -> str:
    """Return a path as it is written, or the file's place where the path shows folders."""
    return str(mapping[key]) if _shows_folders(written) else written


def content_of(_written: str, mapping: Mapping[str, Any], key: str) -> str:
    """Return the hash of a file that a resolved mapping names."""
    return f"sha256:{mapping[HASHED[key]]}"


def may_name_files(values: Mapping[str, Any]) -> bool:
    """Tell whether some of the values, by path, may name files."""
    return any(
        path.rpartition(".")[2] in HASHED or isinstance(value, Mapping | list)
        for path, value in values.items()
    )


def values_in(
    values: Mapping[str, Any], resolved: ResolvedScenario, chosen: Chosen
) -> dict[str, Any]:
    """Return values by path, such as those of a variant, with what stands for each file in them.

    ``resolved`` is the scenario that has these values, resolved.
    """
    replaced = {}
    for path, value in values.items():
        *above, last = path.split(".")
        holder: Any = resolved
        for part in above:
            holder = _child(holder, part)
        replaced[path] = _replaced({last: value}, holder, chosen)[last]
    return replaced


def _replaced(written: Any, resolved: Any, chosen: Chosen) -> Any:
    if isinstance(written, Mapping):
        return {
            key: chosen(given, holder, key)
            if isinstance(given, str) and (holder := _naming(resolved, key)) is not None
            else _replaced(given, _child(resolved, key), chosen)
            for key, given in written.items()
        }
    if isinstance(written, list) and isinstance(resolved, list):
        return [_replaced(*pair, chosen) for pair in zip(written, resolved, strict=False)]
    return written


def _naming(resolved: Any, key: str) -> Mapping[str, Any] | None:
    """Return the mapping that names a file by a key: this one, or that of its forward direction."""
    for holder in (resolved, _child(resolved, "forward")):
        if isinstance(holder, Mapping) and key in holder and HASHED.get(key) in holder:
            return holder
    return None


def _child(value: Any, part: str) -> Any:
    """Return what a part of a path names; items of lists are named as in ``--set``."""
    if isinstance(value, list):
        named = [item for item in value if isinstance(item, Mapping) and item.get("name") == part]
        numbered = value[int(part) : int(part) + 1] if part.isdecimal() else []
        return next(iter(named or numbered), None)
    return value.get(part) if isinstance(value, Mapping) else None


def _shows_folders(path: str) -> bool:
    """Tell whether a path shows folders beside or above that of the scenario."""
    return path.startswith("/") or os.path.normpath(path).startswith("..")


def without_lab_hosts(scenario: ResolvedScenario) -> dict[str, Any]:
    """Return a resolved scenario without how the hosts of a lab are reached."""
    return {key: value for key, value in scenario.items() if key != HOSTS_OF_A_LAB}


def require_place(text: object) -> str:
    """Return a place that a stranger gives; ValueError when it may leave its folder."""
    if not isinstance(text, str) or not 0 < len(text) <= 1024 or "\0" in text:
        raise ValueError(f"{shown(text)} is not a path below the scenario's folder")
    if text.startswith("/") or any(part in ("", ".", "..") for part in text.split("/")):
        raise ValueError(f"{named(text)} is not a path below the scenario's folder")
    return text


def _without_inventory(lab: Any) -> Any:
    if not isinstance(lab, Mapping):
        return lab
    return {key: value for key, value in lab.items() if key != "inventory"}


def _hashed(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each mapping that names a file, with the key."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if HASHED.get(key) in value and isinstance(each, str):
                yield value, key
            else:
                yield from _hashed(each)
    elif isinstance(value, list):
        for each in value:
            yield from _hashed(each)


def _outside(sha256: str, given: str) -> str:
    return f"{_OUTSIDE}{sha256[:_HASH_DIGITS]}/{Path(given).name or 'root'}"
