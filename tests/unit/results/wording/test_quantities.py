"""Sizes and times as people read them."""

from __future__ import annotations

import pytest

from results.wording import quantities


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (10_485_760, "10 MiB"),
        (256 * 2**20, "256 MiB"), (900 * 2**20, "900 MiB"), (1_500_000, "1.431 MiB"),
        (2**20 - 1, "1024 KiB"), (5 * 2**30, "5 GiB"), (2**50, "1048576 GiB"),
    ],
)  # fmt: skip
def test_sizes_have_four_digits(size_bytes: int, text: str) -> None:
    assert quantities.size(size_bytes) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"), (7, "7 B"), (125, "120 B"), (1023, "1000 B"), (1024, "1.0 KiB"),
        (10_189, "10 KiB"), (96_680, "94 KiB"), (2_241_856, "2.1 MiB"), (10**13, "9300 GiB"),
    ],
)  # fmt: skip
def test_rough_sizes_have_two_digits(size_bytes: int, text: str) -> None:
    assert quantities.rough_size(size_bytes) == text


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ns"), (7, "7 ns"), (1_500, "1.5 us"), (288_015_680, "288 ms"),
        (4_788_015_680, "4.788 s"), (10**9, "1 s"), (-4_788_015_680, "-4.788 s"),
        (12_345_678_900_000, "12346 s"), (100 * 10**9, "100 s"),
    ],
)  # fmt: skip
def test_times_have_four_digits(time_ns: int, text: str) -> None:
    assert quantities.time(time_ns) == text
