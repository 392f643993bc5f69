"""Blocks of samples: exact round trips, and nothing hostile is believed."""

from __future__ import annotations

import resource
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from results.samples import blocks
from results.samples.blocks import DamagedBlockError, pack, unpack

LABEL = b"a place"
INTEGERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 3),
    st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 0x7FFFFFFF, 2**31, 2**32, -(2**31) - 1]),
)
HEAD = struct.Struct("<BHI16s")


def tables() -> st.SearchStrategy[npt.NDArray[np.int64]]:
    shapes = st.tuples(st.integers(1, 5), st.integers(1, 40))
    return shapes.flatmap(lambda shape: arrays.arrays(np.int64, shape, elements=INTEGERS))


def unpacked(block: bytes, rows: int, columns: int, label: bytes = LABEL) -> list[list[int]]:
    found = []
    for column in unpack(block, label, rows, range(columns)):
        assert column is not None
        assert column.dtype == np.int64
        found.append(column.tolist())
    return found


def forged(entries: Sequence[tuple[int, int, int, int]], rest: bytes, columns: int = 0) -> bytes:
    """A block with any directory, and a digest that fits it."""
    directory = zlib.compress(np.array(entries, blocks.ENTRY).tobytes())
    return headed(directory, columns or len(entries)) + rest


def headed(directory: bytes, columns: int) -> bytes:
    digest = blocks._digest(LABEL, columns, directory)
    return HEAD.pack(1, columns, len(directory), digest) + directory


@pytest.mark.slow
@settings(max_examples=300)
@given(tables())
def test_every_integer_comes_back(table: npt.NDArray[np.int64]) -> None:
    block = pack(list(table), LABEL)
    assert unpacked(block, table.shape[1], len(table)) == table.tolist()


@given(arrays.arrays(np.uint64, st.integers(1, 20)))
def test_unsigned_integers_of_64_bits_are_kept_as_signed(column: npt.NDArray[np.uint64]) -> None:
    (found,) = unpacked(pack([column], LABEL), len(column), 1)
    assert found == column.view(np.int64).tolist()


def test_a_full_block_of_every_width() -> None:
    draw = np.random.default_rng(1)
    table = [
        np.cumsum(draw.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), blocks.ROWS))
        for bits in (1, 7, 8, 9, 16, 17, 32, 33, 63)
    ] + [np.full(blocks.ROWS, -5)]
    block = pack(table, LABEL)
    assert unpacked(block, blocks.ROWS, 10) == [column.tolist() for column in table]
    assert len(pack(table[-1:], LABEL)) < 80


def test_some_columns_are_unpacked_without_the_others() -> None:
    block = bytearray(pack([np.arange(9), np.arange(9) ** 2, np.arange(9) ** 3], LABEL))
    block[-3] ^= 1  # in the last column
    some = list(unpack(bytes(block), LABEL, 9, [1, 7, 0]))
    assert some[1] is None
    assert [some[0].tolist(), some[2].tolist()] == [  # type: ignore[union-attr]
        [n * n for n in range(9)], list(range(9)),
    ]  # fmt: skip
    with pytest.raises(DamagedBlockError, match="checksum of a column"):
        unpacked(bytes(block), 9, 3)


@given(tables(), st.data())
def test_a_change_anywhere_is_found(table: npt.NDArray[np.int64], data: st.DataObject) -> None:
    block = pack(list(table), LABEL)
    place = data.draw(st.integers(0, len(block) - 1))
    changed = bytearray(block)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedBlockError):
        unpacked(bytes(changed), table.shape[1], len(table))
    with pytest.raises(DamagedBlockError):
        unpacked(block[:place], table.shape[1], len(table))
    with pytest.raises(DamagedBlockError):
        unpacked(block + b"\0", table.shape[1], len(table))


@given(st.binary(max_size=300), st.integers(-1, 20000))
def test_any_bytes_are_refused(content: bytes, rows: int) -> None:
    with pytest.raises(DamagedBlockError):
        unpacked(content, rows, 3)


def test_a_block_is_not_taken_for_another() -> None:
    block = pack([np.arange(9)], LABEL)
    with pytest.raises(DamagedBlockError, match="its checksum is wrong"):
        unpacked(block, 9, 1, b"another place")


@pytest.mark.parametrize("rows", [0, -1, 2**40])
def test_absurd_numbers_of_rows_are_refused(rows: int) -> None:
    with pytest.raises(DamagedBlockError, match=f"{rows} rows"):
        unpacked(pack([np.arange(9)], LABEL), rows, 1)


def bomb(size: int) -> bytes:
    """So many zero bytes, compressed by 1000."""
    stream = zlib.compressobj(9)
    return b"".join([*(stream.compress(bytes(2**20)) for _ in range(size >> 20)), stream.flush()])


BOMB = bomb(2**27)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (headed(BOMB, 1), "does not unpack to 17 bytes"),
        (headed(BOMB, 65535), "65535 columns"),
        (forged([(1, len(BOMB), zlib.crc32(BOMB), 0)], BOMB), "does not unpack to 8 bytes"),
        (forged([(1, 2**32 - 1, 0, 0)], b""), "were packed"),
        (forged([(1, 2**31, 0, 0), (1, 2**31, 0, 0)], b""), "were packed"),
        (forged([(3, 5, zlib.crc32(b"abcde"), 0)], b"abcde"), "values of 3 bytes"),
        (forged([(255, 0, 0, 0)], b""), "values of 255 bytes"),
        (forged([(1, 5, zlib.crc32(b"abcde"), 0)], b"abcde"), "header"),
        (forged([(0, 0, 0, 0)], b"", 7), "does not unpack to 119 bytes"),
        (headed(b"", 0), "0 columns"),
        (HEAD.pack(1, 1, 2**32 - 1, bytes(16)), "bytes of directory"),
        (HEAD.pack(9, 1, 0, bytes(16)), "format is 9"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_blocks_are_refused_in_bounded_memory(block: bytes, message: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedBlockError, match=message):
        unpacked(block, 9, 1)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 * 1024


def test_what_is_no_bytes_is_refused() -> None:
    with pytest.raises(DamagedBlockError, match="it is str"):
        list(unpack("x", LABEL, 1, [0]))  # type: ignore[arg-type]
