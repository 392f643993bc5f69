"""Reads the rows of a small CSV file by the names of its columns, with the place of each cell.

The first line names the columns, in any order. Lines that are empty or begin with ``#`` are left
out, also before the first one. Cells are not quoted, and spaces around them do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from orchestrator import units
from orchestrator.kinds.files.named_files import named
from orchestrator.units import shown

MOST_BYTES = 16_000_000
MOST_ROWS = 100_000

TIMES_NS: Mapping[str, int | None] = {
    "": None,
    **{f"_{unit}": units.TIME_UNITS_NS[unit] for unit in ("s", "ms", "us", "ns")},
}
"""By the end of a column's name: ns of its unit, None where each time has a unit of its own."""


@dataclass(frozen=True)
class Cell:
    """A value of a file, and its place as ``file:line:column``."""

    place: str
    text: str

    def fault(self, text: str) -> ValueError:
        """Return the error that says what is wrong with the value."""
        return ValueError(f"{self.place}: {text}")


def rows(
    path: str, content: bytes, needed: Iterable[Iterable[str]], optional: Iterable[str] = ()
) -> Iterator[dict[str, Cell]]:
    """Yield the cells of each row by their columns' names.

    ``needed`` has the names that a column may have, of each column that must be there.

    Raises:
        ValueError: the file has another form. The message names ``path`` and the line.
    """
    choices = [list(names) for names in needed]
    lines = iter(_lines(content))
    number, first = next(lines, (1, ""))
    names = [name.strip() for name in first.split(",")]
    _check_names(f"{path}:{number}", names, choices, list(optional))
    found = 0
    for number, line in lines:
        texts = line.split(",")
        if len(texts) != len(names):
            text = f"has {len(texts)} values, and the file has {len(names)} columns"
            raise ValueError(f"{path}:{number}: {text}: {', '.join(names)}")
        found += 1
        if found > MOST_ROWS:
            raise ValueError(f"{named(path)} has more than {MOST_ROWS} rows")
        cells, column = {}, 1
        for name, text in zip(names, texts, strict=True):
            begin = column + len(text) - len(text.lstrip())
            cells[name] = Cell(f"{path}:{number}:{begin}", text.strip())
            column += len(text) + 1
        yield cells
    if not found:
        raise ValueError(f"{named(path)} has no rows below its first line")


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    text = content.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.rstrip("\r")


def _check_names(
    where: str, names: list[str], choices: list[list[str]], optional: list[str]
) -> None:
    """Check the first line; it is not quoted, because a scenario may name any file."""
    for choice in choices:
        given = [name for name in names if name in choice]
        if len(given) != 1:
            problem = "there are several" if given else "there is none"
            raise ValueError(
                f"{where}: the first line names the columns, one of them `{choice[0]}`: {problem}; "
                f"columns: {_columns(choices, optional)}"
            )
    known = {name for choice in choices for name in choice} | set(optional)
    for number, name in enumerate(names, start=1):
        if name not in known or name in names[: number - 1]:
            why = "given twice" if name in known else "not known"
            raise ValueError(
                f"{where}: the name of column {number} is {why}; "
                f"columns: {_columns(choices, optional)}"
            )


def _columns(choices: list[list[str]], optional: list[str]) -> str:
    parts = [f"{choice[0]} (or {', '.join(choice[1:])})" if choice[1:] else choice[0]
             for choice in choices]  # fmt: skip
    return ", ".join([*parts, *(f"{name} (optional)" for name in optional)])


def time_columns(name: str) -> list[str]:
    """Return the names that a column of times may have, such as ``start`` and ``start_ms``."""
    return [f"{name}{end}" for end in TIMES_NS]


def time_ns(cells: Mapping[str, Cell], name: str) -> int:
    """Return the nanoseconds of a row's time in a column of ``time_columns``.

    Raises:
        ValueError: it is no time; with its place.
    """
    end, factor = next((end, ns) for end, ns in TIMES_NS.items() if f"{name}{end}" in cells)
    cell = cells[f"{name}{end}"]
    if factor is None:
        try:
            return units.parse_time_ns(cell.text)
        except units.UnitError as error:
            hint = f"; or call the column {name}_s, _ms, _us or _ns" if _is_bare(cell) else ""
            raise cell.fault(f"{error}{hint}") from None
    if not _is_bare(cell):
        raise cell.fault(f"{shown(cell.text)}: must be a number, as the column's unit is `{end}`")
    value = Decimal(cell.text) * factor
    if value < 0:
        raise cell.fault(f"{shown(cell.text)}: a time must not be negative")
    if value > units.TIME_MAX_NS:
        raise cell.fault(f"{shown(cell.text)}: a time may be 30 days at most")
    return round(value)


def size_bytes(cell: Cell, least: int, most: int) -> int:
    """Return a number of bytes: a whole number, or a size with a unit.

    Raises:
        ValueError: it is none, or not from ``least`` to ``most``; with its place.
    """
    try:
        size = units.parse_size(f"{cell.text}B" if cell.text.isdecimal() else cell.text)
    except units.UnitError as error:
        raise cell.fault(f"{error}; or a whole number of bytes") from None
    if not least <= size <= most:
        raise cell.fault(f"{shown(cell.text)}: must be {least} to {most} bytes")
    return size


def _is_bare(cell: Cell) -> bool:
    """Tell whether a cell is a number without a unit."""
    return units.BARE_NUMBER.fullmatch(cell.text) is not None
