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

from orchestrator.errors import Fault
from orchestrator.kinds.fields import Path
from orchestrator.units import printable, shortened, shown

MAX_DEPTH = 32
MAX_DIGITS = 40
_MOST_OF_KEY = 60
"""Characters of a key that the path of a fault has."""
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_REFUSED = re.compile(
    r"[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""All but printable characters (YAML 1.2, section 5.1), and what YAML 1.1 took for a line's end."""
_MOST_EXPLAINED = 250_000
"""A longer text is left to libyaml alone, as ruamel.yaml takes a minute for a megabyte."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of half a character, as JSON has it beyond U+FFFF."""
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass(frozen=True)
class Mark:
    """A position: line and column are 1-based, columns count characters.

    They are 0 for a value that was in no text; ``file`` then names its path, too.
    """

    file: str
    line: int
    column: int

    def fault(self, message: str) -> Fault:
        """Return a fault at this position, with unprintable characters replaced in its message."""
        return Fault(self.file, self.line, self.column, printable(message))


@dataclass(frozen=True, eq=False)
class Scalar:
    """A single value: text, int, float, bool or None.

    ``written`` is how a number is written, None of what is no number or was in no text.
    """

    mark: Mark
    value: object
    written: str | None = None


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

    ``column`` is the column of ``file`` at which the text's first line starts. libyaml parses,
    which takes a 30th of the time. It has no escapes of halves of characters, and places some
    faults of syntax at the end of the text. Such texts are left to ruamel.yaml.
    """
    if refused := _REFUSED.search(text):
        mark = _TreeBuilder(file, column).at(*end_of(text[: refused.start()]))
        message = "this character is not allowed in YAML; in double quotes, its escape is"
        return None, [mark.fault(message)]
    builder = _TreeBuilder(file, column)
    if len(text) > _MOST_EXPLAINED or _HALF.search(text) is None:
        whole = _built(builder, text, pure=False)
        if whole or builder.stopped or len(text) > _MOST_EXPLAINED:
            return (builder.root if whole else None), builder.faults
    builder = _TreeBuilder(file, column)
    return (builder.root if _built(builder, text, pure=True) else None), builder.faults


def _built(builder: _TreeBuilder, text: str, *, pure: bool) -> bool:
    """Build the tree of a text; return whether it could be read to its end."""
    try:
        for event in YAML(typ="safe", pure=pure).parse(text):
            builder.take(event)
            if builder.stopped:
                return False
    except MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(builder, error))
        return False
    except (YAMLError, ValueError, OverflowError) as error:
        # A fault outside of the grammar has no position: a directive such as `%YAML 9.9`.
        builder.faults.append(builder.at(0, 0).fault(f"not YAML: {str(error).splitlines()[0]}"))
        return False
    return True


def end_of(text: str) -> tuple[int, int]:
    """Return the 0-based line and column that follow the text, as YAML breaks lines."""
    lines = re.split(r"\r\n|\r|\n", text)
    return len(lines) - 1, len(lines[-1])


def _syntax_fault(builder: _TreeBuilder, error: MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    position = builder.at(mark.line, mark.column) if mark else builder.at(0, 0)
    context = f"{error.context}: " if error.context else ""
    return position.fault(f"not YAML: {context}{error.problem or 'syntax error'}")


def built(values: object, name: str, most: int) -> tuple[Node, list[Fault]]:
    """Return the tree of values that JSON can hold, and every fault found.

    The marks name ``name`` and the path of each value. The limits are those of a text, with at
    most ``most`` characters and values together.
    """
    builder = _ValueTree(name, most)
    return builder.node(values, "", 0), builder.faults


class _ValueTree:
    """Builds a tree from values; a refused one is None in it."""

    def __init__(self, name: str, most: int) -> None:
        self.faults: list[Fault] = []
        self._name = name
        self._most = self._left = most

    def node(self, value: object, path: str, depth: int) -> Node:
        """Return the tree of the value at a path, below so many others."""
        mark = self._mark(path)
        if self._left < 0:
            return Scalar(mark, None)
        self._take(len(value) if isinstance(value, str) else 1, mark)
        match value:
            case dict() | list() if depth >= MAX_DEPTH:
                return self._refused(mark, f"nested deeper than {MAX_DEPTH} levels")
            case dict():
                return self._mapping(value, path, depth)
            case list():
                items = enumerate(value)
                nodes = [self.node(item, _below(path, str(at)), depth + 1) for at, item in items]
                return Sequence(mark, nodes)
            case str() if any("\ud800" <= char <= "\udfff" for char in value):
                return self._refused(mark, "half a character: a lone surrogate is no text")
            case int() if abs(value) >= 10**MAX_DIGITS:
                return self._refused(mark, f"a number may have {MAX_DIGITS} digits at most")
            case None | str() | bool() | int() | float():
                return Scalar(mark, value)
        return self._refused(mark, f"a scenario has no values of the type {type(value).__name__}")

    def _mapping(self, values: dict[object, object], path: str, depth: int) -> Mapping:
        mapping = Mapping(self._mark(path))
        for key, value in values.items():
            if not isinstance(key, str):
                self._refused(mapping.mark, f"a key must be text, not {shown(key)}")
            elif key == "<<":
                self._refused(mapping.mark, "YAML merge keys (`<<`) are not supported")
            else:
                self._take(len(key), mapping.mark)
                below = _below(path, key)
                node = self.node(value, below, depth + 1)
                mapping.entries[key] = Entry(self._mark(below), node)
        return mapping

    def _mark(self, path: str) -> Mark:
        return Mark(f"{self._name}: {path}" if path else self._name, 0, 0)

    def _take(self, size: int, mark: Mark) -> None:
        """Count a size, and add a fault when it is the first one above the limit."""
        before, self._left = self._left, self._left - size
        if before >= 0 > self._left:
            self.faults.append(mark.fault(f"is larger than {self._most} characters"))

    def _refused(self, mark: Mark, message: str) -> Scalar:
        self.faults.append(mark.fault(message))
        return Scalar(mark, None)


def _below(path: str, part: str) -> str:
    """Return the path of a value by that of what holds it, and its key or index."""
    key = shortened(part, _MOST_OF_KEY)
    return f"{path}.{key}" if path else key


@dataclass
class _OpenNode:
    """A mapping or list whose end has not come yet.

    ``key_mark`` is set while a key waits for its value; ``key`` is None when that key was
    refused, and its value is then dropped.
    """

    node: Mapping | Sequence
    key: str | None = None
    key_mark: Mark | None = None


class _TreeBuilder:
    """Builds the tree from events, without recursion.

    ``stopped`` tells that a fault was found after which the rest of the text is not read.
    """

    def __init__(self, file: str, column: int) -> None:
        self.root: Node | None = None
        self.faults: list[Fault] = []
        self.stopped = False
        self._file = file
        self._column = column
        self._open: list[_OpenNode] = []
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
            elif event.version or event.tags:
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
                return
            is_mapping = isinstance(event, MappingStartEvent)
            self._open.append(_OpenNode(Mapping(mark) if is_mapping else Sequence(mark)))

    def _scalar(self, event: ScalarEvent, mark: Mark) -> Scalar:
        text: str = event.value
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            text = self._paired(text, mark)
        if not event.implicit[0] or event.style:
            return Scalar(mark, text)
        if not text and self._open and self._open[-1].key_mark:
            # An empty value has no position of its own.
            mark = self._open[-1].key_mark
        if _INT.fullmatch(text) and len(text) > MAX_DIGITS:
            self._fault(mark, f"{shown(text)}: a number may have {MAX_DIGITS} digits at most")
            return Scalar(mark, None)
        value = _typed(text)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return Scalar(mark, value, text if is_number else None)

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

    def _key(self, holder: _OpenNode, mapping: Mapping, node: Node) -> None:
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
        self.stopped = True


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
