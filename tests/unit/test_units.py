"""Quantities as text: valid and refused forms, and written values that read back."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from decimal import Decimal

import pytest

from orchestrator import units
from orchestrator.units import Limit, UnitError

NOT_EVEN_TEXT: list[object] = [None, True, [], {}, "", "banana", "-", "nan", "inf", " ", "１mbit"]


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("10mbit", 10_000_000),
        ("10Mbit", 10_000_000),
        ("1.5mbit", 1_500_000),
        (".5mbit", 500_000),
        ("1e3kbit", 1_000_000),
        ("64kbit", 64_000),
        ("0.8kbit", 800),
        ("8bit", 8),
        ("1gbit", 1_000_000_000),
        ("100gbit", 100_000_000_000),
        ("1kibit", 1024),
        ("2mibit", 2 * 2**20),
        ("1gibit", 2**30),
    ],
)
def test_rates_are_read_in_every_unit(text: str, bps: int) -> None:
    assert units.parse_rate(text) == bps


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("10ms", "`10ms`: `ms` is a unit of time, not of rate; valid units: bit, kbit, mbit"),
        ("10p", "`p` is a unit of queue limit, not of rate"),
        ("10", "`10`: a rate needs a unit (bit, kbit, mbit, gbit, kibit, mibit, gibit), such as"),
        (10, "`10`: a rate needs a unit"),
        (1.5, "`1.5`: a rate needs a unit"),
        ("10mbps", "`10mbps`: tc reads `mbps` as bytes per second; for bits write `mbit`"),
        ("10bps", "for bits write `bit`"),
        ("10KiBps", "for bits write `kibit`"),
        ("10mbti", "unknown unit `mbti` (did you mean `10mbit`?)"),
        ("10Mbit/s", "unknown unit `Mbit/s` (did you mean `10mbit`?)"),
        ("10 Mb/s", "unknown unit `Mb/s` (did you mean `10mbit`?)"),
        ("1Gb", "(did you mean `1gbit`?)"),
        ("10MB/s", "a rate is in bits, 8 to a byte, not in `MB/s`; valid units"),
        ("10m", "unknown unit `m`; valid units"),
        ("10 mbit", "write the unit without a space: `10mbit`; valid"),
        ("0mbit", "above zero"),
        ("-10mbit", "above zero"),
        ("101gbit", "100gbit at most"),
        ("1e400gbit", "100gbit at most"),
        ("1e4000gbit", "unknown unit `0gbit`"),
        ("1001bit", "whole bytes per second; the nearest is 1000bit or 1008bit"),
        ("0.1bit", "the nearest is 8bit"),
        ("banana", "`banana` is not a rate: write a number and its unit without a space"),
        (None, "a rate is missing, such as `10mbit`"),
        (True, "`true` is not a rate"),
        ([], "a list is not a rate"),
        ({}, "a mapping is not a rate"),
        ("x" * 500, "x…` is not a rate"),
    ],
)
def test_invalid_rates_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_rate(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("60s", 60 * 10**9),
        ("1.5s", 1_500_000_000),
        ("250ms", 250_000_000),
        ("100us", 100_000),
        ("20ns", 20),
        ("2min", 120 * 10**9),
        ("1h", 3600 * 10**9),
        ("0ms", 0),
        ("0.1s", 100_000_000),
        ("720h", 720 * 3600 * 10**9),
    ],
)
def test_times_are_read_in_every_unit(text: str, ns: int) -> None:
    assert units.parse_time_ns(text) == ns
    assert units.parse_time(text) == ns / 1e9


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("10mbit", "`mbit` is a unit of rate, not of time"),
        ("-0s", "`-0s`: write the number without a sign"),
        ("+10ms", "`+10ms`: write the number without a sign"),
        ("10", "a time needs a unit (ns, us, ms, s, min, h), such as `10ms`"),
        (0, "needs a unit"),
        (float("inf"), "needs a unit"),
        ("-1ms", "must not be negative"),
        ("-1e-300s", "must not be negative"),
        ("721h", "720h (30 days) at most"),
        ("1e400s", "at most"),
        ("0.5ns", "whole number of ns"),
        ("1e-10s", "whole number of ns"),
        ("5m", "write `min` for minutes or `ms` for milliseconds"),
        ("5sec", "unknown unit `sec` (did you mean `5s`?)"),
        ("1.5 Minutes", "(did you mean `1.5min`?)"),
        ("5µs", "(did you mean `5us`?)"),
        ("5S", "unknown unit `S` (did you mean `5s`?)"),
        ("5 parsecs", "unknown unit `parsecs`; valid"),
    ],
)
def test_invalid_times_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_time_ns(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "per_s"), [("5/s", 5.0), ("0.5/s", 0.5), ("90/min", 1.5), ("1/h", 1 / 3600)]
)
def test_frequencies_are_read_in_every_unit(text: str, per_s: float) -> None:
    assert units.parse_frequency(text) == per_s
    assert units.parse_frequency(units.format_frequency(per_s)) == per_s


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("5/sec", "unknown unit `/sec`"),
        ("5s", "`s` is a unit of time, not of frequency"),
        ("5", "needs a unit (/s, /min, /h), such as `5/s`"),
        ("0/s", "must be above zero"),
        ("-1/s", "must be above zero"),
        ("1000000/s", "100000/s at most"),
    ],
)
def test_invalid_frequencies_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_frequency(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("150kB", 150_000),
        ("3.2MB", 3_200_000),
        ("1GB", 10**9),
        ("64KiB", 65_536),
        ("1MiB", 2**20),
        ("1.5kB", 1500),
    ],
)
def test_sizes_are_read_in_every_unit(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("150kb", "write `kB` for 1000 bytes or `KiB` for 1024"),
        ("150k", "write `kB`"),
        ("10kbit", "`kbit` is a unit of rate, not of size"),
        ("0B", "above zero"),
        ("-1kB", "above zero"),
        ("0.5B", "whole number of bytes"),
        ("1e300GB", "below 2^63"),
        (1500, "needs a unit"),
    ],
)
def test_invalid_sizes_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_size(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("value", "chance"),
    [
        ("0.1%", 0.001),
        ("0%", 0.0),
        (0, 0.0),
        (0.25, 0.25),
        ("1e-8", 1e-8),
        (1e-8, 1e-8),
        ("99.99%", 0.9999),
        ("1e-6%", 1e-8),
    ],
)
def test_chances_are_read_as_numbers_and_percentages(value: object, chance: float) -> None:
    assert units.parse_chance(value) == chance


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.5, "must be below 100%"),
        (1, "must be below 100%"),
        ("100%", "must be below 100%"),
        ("-1%", "must not be negative"),
        (1e-12, "the least probability it has is two of them, 4.7e-10"),
        ("3e-10", "steps of 2^-32"),
        ("banana", "write a percentage such as `0.1%`, or a number from 0 to 1"),
        ("5ms", "is not a probability"),
        (float("nan"), "is not a probability"),
        (float("inf"), "is not a probability"),
        (True, "`true` is not a probability"),
    ],
)
def test_invalid_chances_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_chance(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(("value", "chance"), [("100%", 1.0), (1, 1.0), ("3.5e-10", 3.5e-10)])
def test_probabilities_include_certainty(value: object, chance: float) -> None:
    assert units.parse_probability(value) == chance


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.5, "must not be above 100%"),
        ("101%", "must not be above 100%"),
        ("-1%", "must not be negative"),
        ("2e-10", "4.7e-10"),
        ("banana", "is not a probability"),
    ],
)
def test_invalid_probabilities_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_probability(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(("value", "share"), [("90%", 0.9), ("0.5", 0.5), (0.25, 0.25)])
def test_shares_are_percentages_or_numbers(value: object, share: float) -> None:
    assert units.parse_share(value) == share


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0", "more than 0%"),
        ("100%", "less than 100%"),
        ("101%", "must not be above 100%"),
        ("-1%", "must not be negative"),
        ("most", "is not a probability"),
    ],
)
def test_invalid_shares_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_share(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("100p", Limit(packets=100)),
        ("150kB", Limit(size_bytes=150_000)),
        ("20ms", Limit(time_ns=20_000_000)),
        ("1bdp", Limit(bdp=Decimal(1))),
        ("2.5bdp", Limit(bdp=Decimal("2.5"))),
        ("1bdp(min)", Limit(bdp=Decimal(1), smallest=True)),
        ("4294967295p", Limit(packets=2**32 - 1)),
    ],
)
def test_limits_are_read_in_every_unit(text: str, limit: Limit) -> None:
    assert units.parse_limit(text) == limit
    assert str(limit) == text


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0p", "above zero"),
        ("-5p", "above zero"),
        ("0ms", "above zero"),
        ("0bdp", "above zero"),
        ("1.5p", "whole packets"),
        ("4294967296p", "4294967295 packets or bytes at most"),
        ("1e30p", "4294967295 packets or bytes at most"),
        ("5GB", "4294967295 packets or bytes"),
        ("1e6bdp", "10000bdp at most"),
        ("100", "needs a unit (p, B, kB"),
        ("1bdp(max)", "unknown unit `bdp(max)` (did you mean `1bdp(min)`?)"),
        ("10mbit", "`mbit` is a unit of rate, not of queue limit"),
        ("10kb", "write `kB` for 1000 bytes"),
        ("0.1BDP", "unknown unit `BDP` (did you mean `0.1bdp`?)"),
        ("0.1 bdp", "write the unit without a space: `0.1bdp`"),
        ("100 pkts", "(did you mean `100p`?)"),
    ],
)
def test_invalid_limits_are_refused(value: object, why: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.parse_limit(value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "parse",
    [
        units.parse_rate,
        units.parse_time_ns,
        units.parse_size,
        units.parse_frequency,
        units.parse_chance,
        units.parse_probability,
        units.parse_share,
        units.parse_limit,
    ],
)
@pytest.mark.parametrize("value", NOT_EVEN_TEXT, ids=repr)
def test_values_of_other_types_are_refused(
    parse: Callable[[object], object], value: object
) -> None:
    with pytest.raises(UnitError) as refused:
        parse(value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("format_", "parse", "largest"),
    [
        (units.format_rate, units.parse_rate, units.RATE_MAX_BPS // 8),
        (units.format_size, units.parse_size, 2**40),
    ],
)
def test_written_whole_numbers_read_back(
    format_: Callable[[int], str], parse: Callable[[object], int], largest: int
) -> None:
    draw = random.Random(1)
    for _ in range(500):
        amount = 8 * draw.randint(1, 10 ** draw.randint(1, 13)) % (8 * largest) or 8
        assert parse(format_(amount)) == amount


def test_written_times_read_back_exactly() -> None:
    draw = random.Random(1)
    for _ in range(1000):
        time_s = draw.randrange(units.TIME_MAX_NS // 10 ** draw.randint(0, 12) + 1) / 1e9
        assert units.parse_time(units.format_time(time_s)) == time_s


@pytest.mark.parametrize(
    ("text", "written"),
    [(10_000_000, "10mbit"), (1_500_000, "1500kbit"), (10**9, "1gbit"), (1001, "1001bit")],
)
def test_rates_are_written_in_the_largest_whole_unit(text: int, written: str) -> None:
    assert units.format_rate(text) == written


@pytest.mark.parametrize(
    ("time_s", "written"),
    [(60.0, "60s"), (0.25, "250ms"), (0.0, "0s"), (1e-9, "1ns"), (0.0001, "100us")],
)
def test_times_are_written_in_the_largest_whole_unit(time_s: float, written: str) -> None:
    assert units.format_time(time_s) == written


def test_shown_texts_are_short_and_printable() -> None:
    assert units.shown("a\nb\x00\ud800") == "`a�b��`"
    assert len(units.shown("x" * 10**6)) == 63
    assert units.shown(None) == "nothing"


PARSERS = [each for name, each in vars(units).items() if name.startswith("parse_")]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "unit", ["", "%", "s", "ms", "mbit", "p", "bdp", "bdp(min)", "kB", "/s"]
)  # fmt: skip
def test_a_number_beyond_floats_is_read_or_refused(
    parser: Callable[[str], object], unit: str
) -> None:
    """``loss: 9e999`` was an error of the program."""
    for number in ("9e999", "-9e999", "1e-999", "9e9999999"):
        with contextlib.suppress(UnitError):
            assert parser(f"{number}{unit}") is not None
    with pytest.raises(UnitError):
        units.parse_chance("9e999")


def test_many_flows_of_one_entry_are_listed_by_the_first_and_the_last() -> None:
    many = [f"many[{number}]" for number in range(30)]
    names = ["one", *many, "two[0]", "two[1]", "three"]
    assert units.listed_in_ranges(names) == "one, many[0] ... many[29], two[0], two[1], three"
    assert units.listed_in_ranges([]) == ""
    assert units.listed_in_ranges(["a", "a"]) == "a, a"
