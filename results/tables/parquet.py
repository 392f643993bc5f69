"""Writes one table as an Apache Parquet file, group by group, by pyarrow.

Every column may have missing values. Rows are stored in groups, so that a long table need not be
in memory. The first table that is written imports pyarrow, which takes a tenth of a second.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

from orchestrator import __version__

Kind = Literal["text", "integer", "number"]
"""Type of a column: UTF-8 text, 64-bit integers or doubles."""

GROUP = 2**14
"""Rows that a writer of long tables has in memory at a time, and of a group of rows."""

WRITER = f"tcp-orchestrator version {__version__}"
"""The name and version of this program, as files name what wrote them."""

COMPRESSION: Literal["zstd"] = "zstd"
COMPRESSION_LEVEL = 3


@dataclass(frozen=True)
class ParquetColumn:
    """A column: its name, its type, and a value for each row (None where it is missing)."""

    name: str
    kind: Kind
    values: Sequence[Any]


class Writer:
    """Writes a table into an open file, group by group; leaving the context completes the file.

    An error in the context leaves the file empty.

    Equal arguments and groups give equal bytes with one version of pyarrow.

    Args:
        file: an empty file.
        kinds: type of each column, by its name.
        about: key and value texts that the file keeps beside the table.
        writer: name and version of the program, the value of the key ``writer``.
    """

    def __init__(
        self, file: BinaryIO, kinds: Mapping[str, Kind], about: Mapping[str, str], writer: str
    ) -> None:
        import pyarrow
        from pyarrow.parquet import ParquetWriter

        if not kinds:
            raise ValueError("a table must have a column")
        types = {
            "text": pyarrow.string(), "integer": pyarrow.int64(), "number": pyarrow.float64()
        }  # fmt: skip
        self._file = file
        self._kinds = list(kinds.values())
        self._schema = pyarrow.schema([(name, types[kind]) for name, kind in kinds.items()])
        self._about = {**about, "writer": writer}
        # Without pyarrow's own schema beside the table's, which only Arrow's readers know.
        self._writer = ParquetWriter(
            file, self._schema, store_schema=False,
            compression=COMPRESSION, compression_level=COMPRESSION_LEVEL,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._writer.add_key_value_metadata(self._about)
        self._writer.close()
        if kind is not None:  # the file would be whole, but the table is not
            self._file.truncate(0)

    def add(self, values: Sequence[Sequence[Any]]) -> None:
        """Write a group of rows: the values of each column (None where one is missing).

        Raises:
            ValueError: their lengths or number differ, or a value has another type than its column.
            OverflowError: an integer has more than 64 bits.
        """
        import pyarrow

        columns = [_array(*column) for column in zip(self._kinds, values, strict=True)]
        table = pyarrow.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))


def table(columns: Sequence[ParquetColumn], about: Mapping[str, str], writer: str) -> bytes:
    """Return the content of a file with one group of rows; see :class:`Writer`."""
    file = io.BytesIO()
    with Writer(file, {column.name: column.kind for column in columns}, about, writer) as writing:
        writing.add([column.values for column in columns])
    return file.getvalue()


def _array(kind: Kind, values: Sequence[Any]) -> Any:
    """Return a column of a group as an array of Arrow."""
    import pyarrow

    if kind == "text":
        return pyarrow.array(values, pyarrow.string())
    if kind == "number":  # an integer above 2**53 is rounded, as float() does
        floats = [None if value is None else float(value) for value in values]
        return pyarrow.array(floats, pyarrow.float64())
    return pyarrow.array(values).cast(pyarrow.int64())  # which refuses what is no integer
