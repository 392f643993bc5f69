"""Parses and formats quantities: texts have tc's units, and the program uses SI units.

======== ============================================== ==========================
quantity units                                          inside
======== ============================================== ==========================
rate     bit kbit mbit gbit (1000), kibit mibit gibit   int, bit/s
time     ns us ms s min h                               float seconds, int ns
size     B kB MB GB (1000), KiB MiB GiB (1024)          int, bytes
limit    p (packets), a size, a time, bdp, bdp(min)     Limit
chance   %, or a bare number from 0 to 1                float
share    %, of a link's rate                            LinkRate
often    /s /min /h                                     float, in a second
======== ============================================== ==========================

A unit is always required, because tc interprets bare numbers in surprising ways. Two of tc's units
are refused as misleading: ``mbps`` (bytes per second in tc) and ``kb`` (1024 bytes in tc). Every
parser raises UnitError, whose message says what was found and what is valid.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.protocol.links.netem import CHANCE_MIN_STEPS, CHANCE_STEP, chance_steps
from orchestrator.protocol.units import NS_PER_S, nanoseconds

RATE_MIN_BPS = 8
RATE_MAX_BPS = 100_000_000_000
TIME_MAX_NS = 30 * 24 * 3600 * NS_PER_S
SIZE_MAX_BYTES = 2**63 - 1
TEXT_PATHS = frozenset({"kernel", "kernel.source", "kernel.revision"})
"""Paths of a scenario whose values are texts even where they look like numbers: the kernel 5.10 is
not 5.1."""

LIMIT_MAX = 2**32 - 1
"""A queue's limit is an unsigned 32-bit number of packets or bytes in the kernel."""
LINK_SHARE_MIN, LINK_SHARE_MAX = Decimal("0.001"), Decimal(10_000)
"""Per cent."""

_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)(.*)", re.DOTALL)
NUMBER_PATTERN = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
"""An unsigned number, for JSON Schema patterns."""
BARE_NUMBER = re.compile(f"-?{NUMBER_PATTERN}", re.ASCII)
"""A number without a unit."""

RATE_UNITS = {
    "bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9,
    "kibit": 2**10, "mibit": 2**20, "gibit": 2**30,
}  # fmt: skip
TIME_UNITS_NS = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
SIZE_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip
FREQUENCY_UNITS_S = {"/s": 1, "/min": 60, "/h": 3600}
FREQUENCY_MAX = 100_000
"""In a second."""
_LIMIT_UNITS = ("p", *SIZE_UNITS, *TIME_UNITS_NS, "bdp", "bdp(min)")
_OTHER_KINDS = {
    "rate": RATE_UNITS,
    "time": TIME_UNITS_NS,
    "size": SIZE_UNITS,
    "queue limit": {"p": 1, "bdp": 1, "bdp(min)": 1},
    "chance": {"%": 1},
}
_HINTS = {
    "m": "write `min` for minutes or `ms` for milliseconds",
    "kb": "write `kB` for 1000 bytes or `KiB` for 1024",
    "KB": "write `kB` for 1000 bytes or `KiB` for 1024",
    "k": "write `kB` for 1000 bytes or `KiB` for 1024",
}
_WORDS = {
    "ns": "nsec nanosecond nanoseconds",
    "us": "µs μs usec usecs microsecond microseconds",
    "ms": "msec msecs milli millis millisecond milliseconds",
    "s": "sec secs second seconds",
    "min": "mins minute minutes",
    "h": "hr hrs hour hours",
    "p": "packet packets pkt pkts frame frames segment segments",
    "B": "byte bytes octet octets",
}
"""What people write for a unit."""
_BITS = re.compile(r"([kKmMgG]?)(?:b|[bB]its?)(?:/s|/sec|ps)?")
_BYTES = re.compile(r"([kKmMgG]?)(?:B|[bB]ytes?)(?:/s|/sec)?")


class UnitError(ValueError):
    """A text is not a quantity of the required kind; the message says what is valid."""


@dataclass(frozen=True)
class Limit:
    """A queue's limit as written; exactly one of the first four fields is set.

    ``bdp`` multiplies the rate by the largest propagation RTT of the flows that cross the link, or
    by the smallest with ``smallest``.
    """

    packets: int | None = None
    size_bytes: int | None = None
    time_ns: int | None = None
    bdp: Decimal | None = None
    smallest: bool = False

    def __str__(self) -> str:
        if self.packets is not None:
            return f"{self.packets}p"
        if self.size_bytes is not None:
            return format_size(self.size_bytes)
        if self.time_ns is not None:
            return format_time(self.time_ns / NS_PER_S)
        return f"{self.bdp}bdp" + ("(min)" if self.smallest else "")


@dataclass(frozen=True)
class LinkRate:
    """A rate as written: absolute, or a share of a link's rate. Exactly one is set."""

    rate_bps: int | None = None
    percent: Decimal | None = None

    def of(self, link_bps: int) -> int:
        """Return the rate in bit/s on a link of that rate."""
        if self.rate_bps is not None:
            return self.rate_bps
        return int((self.percent or Decimal(0)) * link_bps / 100)

    def __str__(self) -> str:
        return f"{self.percent}%" if self.rate_bps is None else format_rate(self.rate_bps)


def shown(value: object) -> str:
    """Return a value for an error message: short, on one line, in backquotes."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f"`{shortened(str(value), 60)}`"


def shortened(text: str, most: int) -> str:
    """Return the text on one line, with an ellipsis for what exceeds ``most`` characters."""
    return printable(text[:most]) + ("…" if len(text) > most else "")


def listed(names: Iterable[str]) -> str:
    """Return a list of the user's names for an error message, each of them shortened."""
    return ", ".join(shortened(name, 60) for name in names)


def listed_in_ranges(names: Sequence[str]) -> str:
    """Return what ``listed`` does; of ``many[0]``, ``many[1]`` and so on, only first and last."""
    runs: list[list[str]] = []
    for name in names:
        if runs and "[" in name and name.partition("[")[0] == runs[-1][0].partition("[")[0]:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(
        listed(run) if len(run) < 3 else f"{listed(run[:1])} ... {listed(run[-1:])}" for run in runs
    )


def quoted_list(labels: Iterable[str]) -> str:
    """Return a list for an error message, of labels that may have commas, such as of a legend.

    Each is whole, so that it can be copied, on one line and in backquotes.
    """
    return ", ".join(f"`{printable(label)}`" for label in labels)


def printable(text: str) -> str:
    """Return the text with each character that is not printable replaced."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "�" for char in text)


def parse_rate(value: object) -> int:
    """Return bits per second of a text such as ``10mbit``; whole bytes per second only."""
    valid = RATE_UNITS
    number, written = _split(value, "rate", valid, "10mbit")
    unit = written.lower()  # tc ignores case
    if re.fullmatch(r"[kmgt]?i?bps", unit):
        prefix = unit[:-2]
        raise UnitError(
            f"{shown(value)}: tc reads `{unit}` as bytes per second; for bits write `{prefix}it`"
        )
    if unit not in valid:
        raise _unknown_unit(value, written, "rate", valid)
    bps = number * valid[unit]
    if bps <= 0:
        raise UnitError(f"{shown(value)}: a rate must be above zero")
    if bps > RATE_MAX_BPS:
        raise UnitError(f"{shown(value)}: a rate may be {format_rate(RATE_MAX_BPS)} at most")
    if bps % 8:
        below = int(bps) // 8 * 8
        nearest = " or ".join(f"{n}bit" for n in (below, below + 8) if n >= RATE_MIN_BPS)
        raise UnitError(
            f"{shown(value)}: tc counts whole bytes per second; the nearest is {nearest}"
        )
    return int(bps)


def parse_link_rate(value: object) -> LinkRate:
    """Return a rate such as ``10mbit``, or a share of a link's rate such as ``95%``."""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is not None and match[2] == "%":
        percent = _number(value, match[1])
        if not LINK_SHARE_MIN <= percent <= LINK_SHARE_MAX:
            valid = f"{LINK_SHARE_MIN}% to {LINK_SHARE_MAX}%"
            raise UnitError(f"{shown(value)}: a share of a link's rate is {valid}")
        return LinkRate(percent=percent)
    try:
        return LinkRate(parse_rate(value))
    except UnitError as error:
        raise UnitError(f"{error}; or a share of the link's rate, such as `95%`") from None


def parse_time_ns(value: object) -> int:
    """Return nanoseconds of a text such as ``1.5s``; zero is allowed, less is not."""
    number, unit = _split(value, "time", TIME_UNITS_NS, "10ms")
    time_ns = number * _factor(value, unit, "time", TIME_UNITS_NS)
    if number < 0:
        raise UnitError(f"{shown(value)}: a time must not be negative")
    if time_ns > TIME_MAX_NS:
        raise UnitError(f"{shown(value)}: a time may be 720h (30 days) at most")
    if time_ns % 1:
        raise UnitError(f"{shown(value)}: a time must be a whole number of ns")
    return int(time_ns)


def parse_time(value: object) -> float:
    """Return seconds of a text such as ``1.5s``; zero is allowed, less is not."""
    return parse_time_ns(value) / NS_PER_S


def parse_size(value: object) -> int:
    """Return bytes, at least one, of a text such as ``150kB``."""
    number, unit = _split(value, "size", SIZE_UNITS, "150kB")
    size_bytes = number * _factor(value, unit, "size", SIZE_UNITS)
    if size_bytes <= 0:
        raise UnitError(f"{shown(value)}: a size must be above zero")
    if size_bytes > SIZE_MAX_BYTES:
        raise UnitError(f"{shown(value)}: a size must be below 2^63 bytes")
    if size_bytes % 1:
        raise UnitError(f"{shown(value)}: a size must be a whole number of bytes")
    return int(size_bytes)


def parse_frequency(value: object) -> float:
    """Return how often in a second, above zero, of a text such as ``5/s`` or ``30/min``."""
    number, unit = _split(value, "frequency", FREQUENCY_UNITS_S, "5/s")
    per_s = float(number) / _factor(value, unit, "frequency", FREQUENCY_UNITS_S)
    if not 0 < per_s <= FREQUENCY_MAX:
        raise UnitError(f"{shown(value)}: must be above zero, and {FREQUENCY_MAX}/s at most")
    return per_s


def parse_chance(value: object) -> float:
    """Return a probability below 1 of a text such as ``0.1%`` or a number such as ``1e-3``."""
    chance = _chance(value)
    if chance >= 1:
        raise UnitError(f"{shown(value)}: a probability must be below 100% (a number below 1)")
    return float(chance)


def parse_probability(value: object) -> float:
    """Return a probability from 0 to 1, both included, of a text or number as `parse_chance`."""
    chance = _chance(value)
    if chance > 1:
        raise UnitError(f"{shown(value)}: a probability must not be above 100% (the number 1)")
    return float(chance)


def parse_share(value: object) -> float:
    """Return a share above 0 and below 1 of a text such as ``90%`` or a number such as ``0.9``."""
    share = parse_probability(value)
    if not 0 < share < 1:
        raise UnitError("give more than 0% and less than 100%")
    return share


def _chance(value: object) -> Decimal:
    text = repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in ("", "%"):
        raise UnitError(
            f"{shown(value)} is not a probability: write a percentage such as `0.1%`, "
            "or a number from 0 to 1"
        )
    chance = _number(value, match[1]) / (100 if match[2] else 1)
    if chance < 0:
        raise UnitError(f"{shown(value)}: a probability must not be negative")
    if 0 < chance < 1 and chance_steps(float(chance)) < CHANCE_MIN_STEPS:
        raise UnitError(
            f"{shown(value)}: netem counts in steps of 2^-32, and the least probability it has is "
            f"two of them, {CHANCE_MIN_STEPS * CHANCE_STEP:.2g}"
        )
    return chance


def parse_limit(
    value: object, what: str = "queue limit", units: tuple[str, ...] = _LIMIT_UNITS
) -> Limit:
    """Return a queue's limit: ``100p``, ``150kB``, ``20ms``, ``1bdp`` or ``2.5bdp(min)``.

    Raises UnitError, which names ``what``, also for a unit not among ``units``.
    """
    number, unit = _split(value, what, units, "100p")
    if unit not in units:
        raise _unknown_unit(value, unit, what, units)
    if number <= 0:
        raise UnitError(f"{shown(value)}: a {what} must be above zero")
    if unit in SIZE_UNITS:
        limit = Limit(size_bytes=parse_size(value))
    elif unit in TIME_UNITS_NS:
        return Limit(time_ns=parse_time_ns(value))
    elif unit in ("bdp", "bdp(min)"):
        if number > 10_000:
            raise UnitError(f"{shown(value)}: a {what} may be 10000bdp at most")
        return Limit(bdp=number, smallest=unit == "bdp(min)")
    else:
        if number <= LIMIT_MAX and number % 1:
            raise UnitError(f"{shown(value)}: a {what} must be whole packets")
        limit = Limit(packets=int(number))
    if max(limit.packets or 0, limit.size_bytes or 0) > LIMIT_MAX:
        raise UnitError(f"{shown(value)}: a {what} may be {LIMIT_MAX} packets or bytes at most")
    return limit


def format_rate(rate_bps: int) -> str:
    """Return a rate in the largest unit that gives a whole number, such as ``10mbit``."""
    return _whole(rate_bps, (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)), "bit")


def format_frequency(per_s: float) -> str:
    """Return a frequency as it can be read again, such as ``5/s``."""
    return f"{per_s:g}/s" if float(f"{per_s:g}") == per_s else f"{per_s!r}/s"


def format_time(time_s: float) -> str:
    """Return seconds in the largest unit up to s that gives a whole number, such as ``250ms``."""
    return _whole(nanoseconds(time_s), (("s", 10**9), ("ms", 10**6), ("us", 10**3)), "ns")


def format_size(size_bytes: int) -> str:
    """Return bytes in the largest decimal unit that gives a whole number, such as ``150kB``."""
    return _whole(size_bytes, (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)), "B")


def _whole(amount: int, units: tuple[tuple[str, int], ...], least: str) -> str:
    for unit, factor in units:
        if amount % factor == 0:
            return f"{amount // factor}{unit}"
    return f"{amount}{least}"


def _split(value: object, what: str, valid: Iterable[str], example: str) -> tuple[Decimal, str]:
    """Return number and unit as written; UnitError when one is missing."""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    bare = isinstance(value, (int, float)) and not isinstance(value, bool)
    if bare or (match is not None and not match[2]):
        units = ", ".join(valid)
        raise UnitError(f"{shown(value)}: a {what} needs a unit ({units}), such as `{example}`")
    if value is None:
        raise UnitError(f"a {what} is missing, such as `{example}`")
    if match is None:
        several = "; for several values use `matrix`" if isinstance(value, list) else ""
        raise UnitError(
            f"{shown(value)} is not a {what}: write a number and its unit without a space, "
            f"such as `{example}`{several}"
        )
    return _number(value, match[1]), match[2]


def _number(value: object, digits: str) -> Decimal:
    """Return a number from its text; refuse a plus sign and a minus sign before zero."""
    number = Decimal(digits)
    if isinstance(value, str) and digits[0] in "+-" and number >= 0:
        raise UnitError(f"{shown(value)}: write the number without a sign")
    return number


def _factor(value: object, unit: str, what: str, valid: Mapping[str, int]) -> int:
    try:
        return valid[unit]
    except KeyError:
        raise _unknown_unit(value, unit, what, valid) from None


def _unknown_unit(value: object, unit: str, what: str, valid: Iterable[str]) -> UnitError:
    bare, units = unit.strip(), list(valid)
    other = next((kind for kind, theirs in _OTHER_KINDS.items() if bare in theirs), None)
    if bare in units:
        why = f"write the unit without a space: `{''.join(str(value).split())}`"
    elif bare in _HINTS and what != "rate":
        why = f"unknown unit `{bare}`; {_HINTS[bare]}"
    elif what == "rate" and _BYTES.fullmatch(bare):
        why = f"a rate is in bits, 8 to a byte, not in `{bare}`"
    elif other:
        why = f"`{bare}` is a unit of {other}, not of {what}"
    else:
        meant = _meant(bare, units)
        number = str(value).removesuffix(unit)
        why = f"unknown unit {shown(bare)}" + (
            f" (did you mean `{number}{meant}`?)" if meant else ""
        )
    return UnitError(f"{shown(value)}: {why}; valid units: {', '.join(units)}")


def _meant(unit: str, valid: list[str]) -> str | None:
    """Return the valid unit that somebody means by another, None when that is not known."""
    folded = unit.casefold()
    words = {word: name for name, others in _WORDS.items() for word in others.split()}
    bits = _BITS.fullmatch(unit)
    likely = [*(name for name in valid if name.casefold() == folded), words.get(folded)]
    likely += [f"{bits[1].lower()}bit"] if bits else []
    likely += difflib.get_close_matches(unit[:100], valid, n=1, cutoff=0.6)
    return next((each for each in likely if each in valid), None)
