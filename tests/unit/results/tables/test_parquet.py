"""The Parquet writer, read back by a library that does not share a line with pyarrow."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from results.tables.parquet import Kind, ParquetColumn, Writer, table

VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "number": st.floats(allow_nan=False),
}
TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}


@st.composite
def tables(draw: st.DrawFn) -> list[ParquetColumn]:
    rows = draw(st.integers(0, 40))
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=20))
    return [
        ParquetColumn(
            f"c{index} [ü]",
            kind,
            draw(st.lists(VALUES[kind] | st.none(), min_size=rows, max_size=rows)),
        )
        for index, kind in enumerate(kinds)
    ]


def read(path: Path, content: bytes) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    path.write_bytes(content)
    found = duckdb.read_parquet(str(path))
    return found.columns, [str(one) for one in found.types], found.fetchall()


@pytest.mark.slow
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=tables())
def test_what_is_written_is_read(columns: list[ParquetColumn], tmp_path: Path) -> None:
    content = table(columns, {"experiment": "ü"}, "test version 1.0")
    assert content == table(columns, {"experiment": "ü"}, "test version 1.0")
    names, types, rows = read(tmp_path / "table.parquet", content)
    assert names == [column.name for column in columns]
    assert types == [TYPES[column.kind] for column in columns]
    assert rows == list(zip(*(column.values for column in columns), strict=True))


def test_long_tables_and_texts_beside_them(tmp_path: Path) -> None:
    values = [None if index % 7 else index / 3 for index in range(100_000)]
    about = {"experiment": "sweep", "identity": "0" * 64}
    content = table([ParquetColumn("x", "number", values)], about, "test version 1.0")
    _names, _types, rows = read(tmp_path / "table.parquet", content)
    assert [value for (value,) in rows] == values
    where = f"'{tmp_path / 'table.parquet'}'"
    with duckdb.connect() as reader:
        found = reader.execute(f"select key, value from parquet_kv_metadata({where})").fetchall()
        codecs = reader.execute(f"select distinct compression from parquet_metadata({where})")
        assert codecs.fetchall() == [("ZSTD",)]
    whole = {**about, "writer": "test version 1.0"}
    assert {key.decode(): value.decode() for key, value in found} == whole


@pytest.mark.slow
def test_equal_tables_give_equal_files_in_other_processes(tmp_path: Path) -> None:
    program = (
        "import sys; from results.tables.parquet import ParquetColumn, table; "
        "columns = [ParquetColumn('a', 'text', [None, 'x', 'ü'] * 9999), "
        "ParquetColumn('b', 'number', [0.1, 2, None] * 9999)]; "
        "sys.stdout.buffer.write(table(columns, {'b': '1', 'a': '2'}, 'test'))"
    )
    made = []
    for seed, cpus in (("1", "1"), ("2", "4")):
        environment = {
            **os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": cpus, "TZ": f"UTC{seed}"
        }  # fmt: skip
        words = [sys.executable, "-c", program]
        made.append(subprocess.run(words, env=environment, capture_output=True, check=True).stdout)
    assert made[0] == made[1]
    _names, _types, rows = read(tmp_path / "table.parquet", made[0])
    assert rows == [(None, 0.1), ("x", 2.0), ("ü", None)] * 9999


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 1000, 5000])
def test_groups_of_rows_are_one_table(size: int, tmp_path: Path) -> None:
    names = [None if index % 5 == 0 else f"flow {index}" for index in range(2500)]
    numbers = [None if index % 3 == 0 else index for index in range(2500)]
    path = tmp_path / "table.parquet"
    with path.open("wb") as file, Writer(file, {"a": "text", "b": "integer"}, {}, "test") as writer:
        for first in range(0, 2500, size):
            writer.add([names[first : first + size], numbers[first : first + size]])
    _names, _types, rows = read(path, path.read_bytes())
    assert rows == list(zip(names, numbers, strict=True))
    groups = f"select num_rows, num_row_groups from parquet_file_metadata('{path}')"
    with duckdb.connect() as reader:
        assert reader.execute(groups).fetchall() == [(2500, -(-2500 // size))]


def test_a_table_that_breaks_off_is_no_file_that_readers_take(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"

    def break_off() -> None:
        with path.open("wb") as file, Writer(file, {"a": "integer"}, {}, "test") as writer:
            writer.add([[1, 2]])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    with pytest.raises(duckdb.Error):
        duckdb.read_parquet(str(path))


def test_numbers_that_are_not_finite_stay_what_they_are(tmp_path: Path) -> None:
    column = ParquetColumn("x", "number", [math.inf, -math.inf, math.nan])
    _names, _types, rows = read(tmp_path / "table.parquet", table([column], {}, "test"))
    assert [str(value) for (value,) in rows] == ["inf", "-inf", "nan"]


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ([], ValueError),
        ([ParquetColumn("x", "text", ["a"]), ParquetColumn("y", "text", [])], ValueError),
        ([ParquetColumn("x", "integer", [2**63])], OverflowError),
        ([ParquetColumn("x", "integer", [1, 1.5])], ValueError),
    ],
)
def test_what_is_no_table_is_refused(columns: list[ParquetColumn], error: type[Exception]) -> None:
    with pytest.raises(error):
        table(columns, {}, "test")
