"""Parses YAML text into a tree in which every key and value has its line and column.

The tree is built from ruamel.yaml's events, not from its objects. Events have the position of every
scalar, and the tree can be limited in depth and follows no alias. Plain scalars are typed by the
core schema of YAML 1.2 (section 10.3.2) only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from orchestrator.errors import Fault
from orchestrator.kinds.fields import Path
from orchestrator.units import printable, shown

MAX_DEPTH = 32
MAX_DIGITS = 40
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass(frozen=True)
class Mark:
    """A position: line and column are 1-based, columns count characters."""

    file: str
    line: int
    column: int

    def fault(self, message: str) -> Fault:
        """Return a fault at this position, with unprintable characters replaced in its message."""
        return Fault(self.file, self.line, self.column, printable(message))


@dataclass(frozen=True, eq=False)
class Scalar:
    """A single value: text, int, float, bool or None."""

    mark: Mark
    value: object


@dataclass(frozen=True, eq=False)
class Entry:
    """A key's position and its value."""

    key: Mark
    node: Node


@dataclass(frozen=True, eq=False)
class Mapping:
    """Keys in the order of the text; a repeated key keeps its first value."""

    mark: Mark
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Sequence:
    """A list."""

    mark: Mark
    items: list[Node] = field(default_factory=list)


Node: TypeAlias = Scalar | Mapping | Sequence


def plain(node: Node) -> object:
    """Return the tree as dicts, lists and single values."""
    match node:
        case Scalar(value=value):
            return value
        case Sequence(items=items):
            return [plain(item) for item in items]
        case Mapping(entries=entries):
            return {key: plain(entry.node) for key, entry in entries.items()}


def find(node: Node, path: Path) -> Node | None:
    """Return the value at exactly that path, None when there is none."""
    for part in path:
        match node:
            case Mapping(entries=entries) if isinstance(part, str) and part in entries:
                node = entries[part].node
            case Sequence(items=items) if isinstance(part, int) and part < len(items):
                node = items[part]
            case _:
                return None
    return node


def nearest(node: Node, path: Path) -> Mark:
    """Return the position of the value at a path, or of what encloses it when it is missing.

    A missing part ``forward`` or ``reverse`` is skipped, because one value may stand for both
    directions.
    """
    for part in path:
        match node:
            case Mapping(entries=entries) if isinstance(part, str) and part in entries:
                node = entries[part].node
            case Sequence(items=items) if isinstance(part, int) and part < len(items):
                node = items[part]
            case _ if part not in ("forward", "reverse"):
                break
    return node.mark


def parse(text: str, file: str, column: int = 1) -> tuple[Node | None, list[Fault]]:
    """Return the tree of one YAML document, None for an empty text, and every fault found.

    ``column`` is the column of ``file`` at which the text's first line starts.
    """
    builder = _Builder(file, column)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except _Stopped:
        return None, builder.faults
    except ReaderError as error:
        mark = builder.at(*end_of(text[: error.position]))
        builder.faults.append(mark.fault("this character is not allowed in YAML"))
        return None, builder.faults
    except MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(builder, error))
        return None, builder.faults
    except (YAMLError, ValueError, OverflowError) as error:
        # A fault outside of the grammar has no position: a directive such as `%YAML 9.9`.
        builder.faults.append(builder.at(0, 0).fault(f"not YAML: {str(error).splitlines()[0]}"))
        return None, builder.faults
    return builder.root, builder.faults


def end_of(text: str) -> tuple[int, int]:
    """Return the 0-based line and column that follow the text, as YAML breaks lines."""
    lines = re.split(r"\r\n|\r|\n", text)
    return len(lines) - 1, len(lines[-1])


def _syntax_fault(builder: _Builder, error: MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    position = builder.at(mark.line, mark.column) if mark else builder.at(0, 0)
    context = f"{error.context}: " if error.context else ""
    return position.fault(f"not YAML: {context}{error.problem or 'syntax error'}")


class _Stopped(Exception):
    """A fault after which the rest of the text cannot be read."""


@dataclass
class _Open:
    """A mapping or list whose end has not come yet.

    ``key_mark`` is set while a key waits for its value; ``key`` is None when that key was
    refused, and its value is then dropped.
    """

    node: Mapping | Sequence
    key: str | None = None
    key_mark: Mark | None = None


class _Builder:
    """Builds the tree from events, without recursion."""

    def __init__(self, file: str, column: int) -> None:
        self.root: Node | None = None
        self.faults: list[Fault] = []
        self._file = file
        self._column = column
        self._open: list[_Open] = []
        self._documents = 0

    def at(self, line: int, column: int) -> Mark:
        """Return the position of a 0-based line and column of the text."""
        return Mark(self._file, line + 1, column + (self._column if line == 0 else 1))

    def take(self, event: Event) -> None:
        """Add one event."""
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(self._mark(event), "only one YAML document is allowed")
            if event.version or event.tags:
                self._fault(self._mark(event), "YAML directives are not supported")
        elif isinstance(event, CollectionEndEvent):
            self._place(self._open.pop().node)
        elif isinstance(event, NodeEvent):
            self._node(event)

    def _node(self, event: NodeEvent) -> None:
        mark = self._mark(event)
        if isinstance(event, AliasEvent):
            self._fault(mark, f"YAML aliases such as {shown(f'*{event.anchor}')} are not supported")
            self._place(Scalar(mark, None))
            return
        if event.anchor:
            self._fault(mark, f"YAML anchors such as {shown(f'&{event.anchor}')} are not supported")
        if tag := getattr(event, "tag", None):
            self._fault(mark, f"YAML tags such as {shown(tag)} are not supported")
        if isinstance(event, ScalarEvent):
            self._place(self._scalar(event, mark))
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            if len(self._open) >= MAX_DEPTH:
                self._stop(mark, f"nested deeper than {MAX_DEPTH} levels")
            is_mapping = isinstance(event, MappingStartEvent)
            self._open.append(_Open(Mapping(mark) if is_mapping else Sequence(mark)))

    def _scalar(self, event: ScalarEvent, mark: Mark) -> Scalar:
        text: str = event.value
        if any("\ud800" <= char <= "\udfff" for char in text):
            text = self._paired(text, mark)
        if not event.implicit[0] or event.style:
            return Scalar(mark, text)
        if not text and self._open and self._open[-1].key_mark:
            # An empty value has no position of its own.
            mark = self._open[-1].key_mark
        if _INT.fullmatch(text) and len(text) > MAX_DIGITS:
            self._fault(mark, f"{shown(text)}: a number may have {MAX_DIGITS} digits at most")
            return Scalar(mark, None)
        return Scalar(mark, _typed(text))

    def _paired(self, text: str, mark: Mark) -> str:
        """Join the halves that JSON's escapes make of a character beyond U+FFFF."""
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self._fault(mark, "half a character: a lone surrogate is no text")
            return ""

    def _place(self, node: Node) -> None:
        """Add a finished node to its parent."""
        if not self._open:
            self.root = node
            return
        holder = self._open[-1]
        if isinstance(holder.node, Sequence):
            holder.node.items.append(node)
        elif holder.key_mark is None:
            self._key(holder, holder.node, node)
        else:
            if holder.key is not None:
                holder.node.entries[holder.key] = Entry(holder.key_mark, node)
            holder.key, holder.key_mark = None, None

    def _key(self, holder: _Open, mapping: Mapping, node: Node) -> None:
        holder.key_mark = node.mark
        key = node.value if isinstance(node, Scalar) else None
        if not isinstance(key, str):
            what = shown(plain(node))
            self._fault(node.mark, f"a key must be text, not {what}: put it in quotes")
        elif key == "<<":
            self._fault(node.mark, "YAML merge keys (`<<`) are not supported")
        elif key in mapping.entries:
            first = mapping.entries[key].key
            self._fault(
                node.mark,
                f"key {shown(key)} is given twice; first at line {first.line}, "
                f"column {first.column}",
            )
        else:
            holder.key = key

    def _mark(self, event: Event) -> Mark:
        return self.at(event.start_mark.line, event.start_mark.column)

    def _fault(self, mark: Mark, message: str) -> None:
        self.faults.append(mark.fault(message))

    def _stop(self, mark: Mark, message: str) -> None:
        self._fault(mark, message)
        raise _Stopped


def _typed(text: str) -> object:
    """Return the value of a plain scalar in YAML 1.2's core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        # int() accepts leading zeros as decimal only with an explicit base
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinite := _INFINITE.fullmatch(text):
        return float(f"{infinite[1]}inf")
    return text
