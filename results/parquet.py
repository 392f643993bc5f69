"""Writes one table as an Apache Parquet file.

Every column may have missing values. Rows are stored in groups, so that a long table need not be
in memory. In a group each column is one page of plain values, compressed by gzip. That is the part
of the format that all readers know (https://parquet.apache.org/docs/file-format/). The libraries
that write Parquet are, or contain, code under the Apache-2.0 licence, which cannot be combined with
this program's GPL-2.0-only.
"""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

from orchestrator import __version__

Kind = Literal["text", "integer", "number"]
"""Type of a column: UTF-8 text, 64-bit integers or doubles."""

MAGIC = b"PAR1"

GROUP = 2**14
"""Rows that a writer of long tables has in memory at a time, and of a group of rows."""

WRITER = f"tcp-orchestrator version {__version__}"
"""The name and version of this program, as files name what wrote them."""

# Numbers of parquet.thrift (github.com/apache/parquet-format): Type, Encoding, CompressionCodec.
_TYPES: dict[Kind, int] = {"integer": 2, "number": 5, "text": 6}
_PLAIN, _RLE = 0, 3
_GZIP = 2
_OPTIONAL = 1
_UTF8 = 0
_FORMATS: dict[Kind, str] = {"integer": "q", "number": "d"}


@dataclass(frozen=True)
class Column:
    """A column: its name, its type, and a value for each row (None where it is missing)."""

    name: str
    kind: Kind
    values: Sequence[Any]


class Writer:
    """Writes a table into an open file, group by group; leaving the context completes the file.

    Equal arguments and groups give equal bytes.

    Args:
        file: an empty file.
        kinds: type of each column, by its name.
        about: key and value texts that the file keeps beside the table.
        writer: name and version of the program, as ``name version 1.0``.
    """

    def __init__(
        self, file: BinaryIO, kinds: Mapping[str, Kind], about: Mapping[str, str], writer: str
    ) -> None:
        self._file, self._kinds, self._about, self._writer = file, dict(kinds), about, writer
        self._groups: list[bytes] = []
        self._rows = 0
        self._written = file.write(MAGIC)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._end()

    def add(self, values: Sequence[Sequence[Any]]) -> None:
        """Write a group of rows: the values of each column (None where one is missing).

        Raises:
            ValueError: there is no column, or their lengths or number differ.
            OverflowError: an integer has more than 64 bits.
        """
        lengths = {len(each) for each in values}
        if len(lengths) != 1:
            raise ValueError(f"columns must have one length, not {sorted(lengths)}")
        chunks, total = [], 0
        for (name, kind), each in zip(self._kinds.items(), values, strict=True):
            column = Column(name, kind, each)
            page, plain_bytes = _page(column)
            chunks.append(_chunk(column, self._written, len(page), plain_bytes))
            self._written += self._file.write(page)
            total += plain_bytes
        rows = lengths.pop()
        group = _Struct().list(1, _STRUCT, chunks).i64(2, total).i64(3, rows)
        self._groups.append(group.end())
        self._rows += rows

    def _end(self) -> None:
        elements = [_element(name, kind) for name, kind in self._kinds.items()]
        pairs = [_Struct().text(1, key).text(2, self._about[key]).end() for key in self._about]
        footer = (
            _Struct()
            .i32(1, 1)
            .list(2, _STRUCT, [_root(len(elements)), *elements])
            .i64(3, self._rows)
            .list(4, _STRUCT, self._groups)
            .list(5, _STRUCT, pairs)
            .text(6, self._writer)
            .end()
        )
        self._file.write(footer + struct.pack("<I", len(footer)) + MAGIC)


def table(columns: Sequence[Column], about: Mapping[str, str], writer: str) -> bytes:
    """Return the content of a file with one group of rows; see :class:`Writer`."""
    file = io.BytesIO()
    with Writer(file, {each.name: each.kind for each in columns}, about, writer) as writing:
        writing.add([each.values for each in columns])
    return file.getvalue()


def _page(column: Column) -> tuple[bytes, int]:
    """Return a column's only page with its header, and the length before compression."""
    known = [value for value in column.values if value is not None]
    levels = _levels([value is not None for value in column.values])
    plain = struct.pack("<I", len(levels)) + levels + _plain(column.kind, known)
    packed = gzip.compress(plain, mtime=0)
    about = _Struct().i32(1, len(column.values)).i32(2, _PLAIN).i32(3, _RLE).i32(4, _RLE)
    header = _Struct().i32(1, 0).i32(2, len(plain)).i32(3, len(packed)).struct(5, about).end()
    return header + packed, len(header) + len(plain)


def _plain(kind: Kind, values: Sequence[Any]) -> bytes:
    if kind == "text":
        texts = [value.encode() for value in values]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    try:
        return struct.pack(f"<{len(values)}{_FORMATS[kind]}", *values)
    except struct.error as error:
        raise OverflowError(f"a value of kind {kind} does not fit: {error}") from None


def _levels(present: Sequence[bool]) -> bytes:
    """Return the definition levels in runs of equal ones: 1 where there is a value."""
    found, first = bytearray(), 0
    for index in range(1, len(present) + 1):
        if index == len(present) or present[index] != present[first]:
            found += _varint((index - first) << 1) + bytes([present[first]])
            first = index
    return bytes(found)


def _chunk(column: Column, offset: int, packed_bytes: int, plain_bytes: int) -> bytes:
    about = (
        _Struct()
        .i32(1, _TYPES[column.kind])
        .list(2, _I32, [_varint(_zigzag(each)) for each in (_PLAIN, _RLE)])
        .list(3, _BINARY, [_binary(column.name)])
        .i32(4, _GZIP)
        .i64(5, len(column.values))
        .i64(6, plain_bytes)
        .i64(7, packed_bytes)
        .i64(9, offset)
    )
    return _Struct().i64(2, offset).struct(3, about).end()


def _root(children: int) -> bytes:
    return _Struct().text(4, "schema").i32(5, children).end()


def _element(name: str, kind: Kind) -> bytes:
    about = _Struct().i32(1, _TYPES[kind]).i32(3, _OPTIONAL).text(4, name)
    if kind == "text":
        about.i32(6, _UTF8).struct(10, _Struct().struct(1, _Struct()))  # LogicalType STRING
    return about.end()


# Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md).
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


class _Struct:
    """A struct as bytes; fields are added in the order of their numbers."""

    def __init__(self) -> None:
        self._bytes, self._last = bytearray(), 0

    def i32(self, field: int, value: int) -> _Struct:
        return self._add(field, _I32, _varint(_zigzag(value)))

    def i64(self, field: int, value: int) -> _Struct:
        return self._add(field, _I64, _varint(_zigzag(value)))

    def text(self, field: int, value: str) -> _Struct:
        return self._add(field, _BINARY, _binary(value))

    def struct(self, field: int, value: _Struct) -> _Struct:
        return self._add(field, _STRUCT, value.end())

    def list(self, field: int, kind: int, items: Sequence[bytes]) -> _Struct:
        number = len(items)
        head = bytes([number << 4 | kind]) if number < 15 else bytes([0xF0 | kind])
        return self._add(field, _LIST, head + (b"" if number < 15 else _varint(number)),
                         *items)  # fmt: skip

    def end(self) -> bytes:
        return bytes(self._bytes) + b"\0"

    def _add(self, field: int, kind: int, *content: bytes) -> _Struct:
        self._bytes += bytes([(field - self._last) << 4 | kind])
        self._bytes += b"".join(content)
        self._last = field
        return self


def _binary(text: str) -> bytes:
    content = text.encode()
    return _varint(len(content)) + content


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
