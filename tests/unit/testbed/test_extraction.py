"""What patterns take from a program's output."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.testbed.programs.extraction import MOST_LINE, extracted
from orchestrator.testbed.programs.output import Output

PRINTED = b"start\ntook 1.5 s\rtook 3e0 s\n\xff took 2. s\ntook none\nend took .5"


def taken(pattern: str, take: str = "last", printed: bytes = PRINTED, **changes: Any) -> Any:
    """Return what a pattern gives of a standard output."""
    one: Any = {"pattern": pattern, "unit": "s", "stream": "stdout", "take": take, **changes}
    return extracted({"stdout": printed, "stderr": b"took 9"}, {"x": one})["x"]


@pytest.mark.parametrize(
    ("take", "value"),
    [
        ("first", 1.5), ("last", 0.5), ("sum", 7.0), ("mean", 1.75), ("min", 0.5), ("max", 3.0),
        ("count", 5),
    ],
)  # fmt: skip
def test_several_numbers_give_the_one_that_is_asked_for(take: str, value: float) -> None:
    found = taken(r"took (\S+)", take)
    assert found == {"value": value, "matches": 5, "numbers": 5 if take == "count" else 4}


def test_a_pattern_that_matches_nothing_gives_no_value_and_a_count_of_zero() -> None:
    assert taken("lasted (.*)") == {"value": None, "matches": 0, "numbers": 0}
    assert taken("lasted (.*)", "count") == {"value": 0, "matches": 0, "numbers": 0}


@pytest.mark.parametrize("text", ["inf", "nan", "1_0", "0x10", "1e999", "1e9999", "", "٣"])
def test_what_is_no_finite_decimal_number_is_no_number(text: str) -> None:
    assert taken("took=(.*)", printed=f"took={text}\n".encode())["numbers"] == 0


def test_a_sum_that_is_not_finite_is_no_value() -> None:
    found = taken("took (.*)", "sum", b"took 1e308\ntook 1e308\n")
    assert found == {"value": None, "matches": 2, "numbers": 2}


def test_patterns_see_the_stream_that_they_name_line_by_line() -> None:
    assert taken("took (.*)", stream="stderr")["value"] == 9.0
    assert taken(r"^took ([0-9.e]+) s$")["value"] == 3.0
    assert taken(r"start\s+took ([0-9.]+)")["matches"] == 0


def test_of_a_long_line_only_the_begin_is_looked_at() -> None:
    printed = b"a" * MOST_LINE + b"1\n2\n"
    assert taken("([0-9])", printed=printed) == {"value": 2.0, "matches": 1, "numbers": 1}


def test_a_group_that_took_no_part_in_the_match_is_no_number() -> None:
    assert taken("took(?: ([0-9]+))?", printed=b"took\n") == {
        "value": None, "matches": 1, "numbers": 0,
    }  # fmt: skip


def test_an_output_that_is_kept_whole_has_its_middle() -> None:
    whole, ends = Output(whole=True), Output()
    for output in (whole, ends):
        for number in range(100_000):
            output.take(b"%d\n" % number)
    assert b"".join(whole.parts) == b"".join(b"%d\n" % number for number in range(100_000))
    assert not ends.parts
    assert whole.text() == ends.text()
