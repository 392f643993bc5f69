"""Conditions on runs and variants, as users write them: ``limit<=1bdp and congestion=cubic``.

::

    condition  = both {"or" both}
    both       = factor {"and" factor}
    factor     = "not" factor | "(" condition ")" | comparison
    comparison = NAME ("=" | "!=" | "<" | "<=" | ">" | ">=") VALUE

NAME is a field of a run (:mod:`results.query.run_fields`), or an axis in a condition on the
variants of an experiment (:mod:`results.query.variant_fields`). VALUE is a word, a number with or
without a unit, or a text in quotes. A value of an axis that stands exactly so in the scenario needs
no quotes. A comparison with a value that a run does not have is false. ``!=`` is always the
opposite of ``=``. The value ``none`` is no value: ``jain_index=none``. Of something that a run has
several times, one that fits is enough: ``congestion=cubic`` holds where any flow uses CUBIC, and
``congestion!=cubic`` where none does.

The text is parsed here. It never reaches SQL or Python's evaluation.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from orchestrator.units import shown
from results.matrix.axes import Axis
from results.query import run_fields, variant_fields
from results.query.run_fields import FieldError, HasNames, QueriedRun, RunField, Value
from results.records.model import Variant

Item = TypeVar("Item")
Condition = Callable[[Item], bool]
"""Tells whether a run or a variant fits."""

MAX_LENGTH = 10_000
"""Most characters of a condition."""

MAX_DEPTH = 50
"""Most levels of parentheses and ``not`` within each other."""

NOTHING = "none"

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OPERATORS = ("=", "!=", *_ORDER)
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<bracket>[()])|(?P<operator>[=!<>]+)"""
    r"""|(?P<quoted>"[^"]*"|'[^']*')|(?P<word>[^\s()=!<>"']+)"""
)
_KEYWORDS = ("and", "or", "not")


class ConditionError(ValueError):
    """A condition is not valid; the message shows the place below the condition's text."""

    def __init__(self, text: str, start: int, end: int, problem: str) -> None:
        first, _, rest = problem.partition("\n")
        marks = " " * start + "^" * max(end - start, 1)
        lines = [
            f"column {start + 1}: {first}",
            f"  {text}",
            f"  {marks}",
            *([rest] if rest else []),
        ]
        super().__init__("\n".join(lines))
        self.column = start + 1
        self.problem = " ".join(problem.split("\n"))
        """What is wrong, on one line."""


class _Token(NamedTuple):
    kind: str  # bracket, operator, quoted, word, end
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text in words


def parse(text: str, runs: Sequence[HasNames]) -> Condition[QueriedRun]:
    """Return the condition; ``runs`` say which axes of matrices and which windows there are.

    Raises:
        ConditionError: the text is not a condition, names what no run can have, or compares it with
            a value of another kind.
        ValueError: the text is too long.
    """
    return _Parser(text, lambda name: run_fields.find(name, runs)).whole()


def of_variants(text: str, axes: Sequence[Axis]) -> Condition[Variant]:
    """Return a condition on the variants (values by path) of an experiment with these axes.

    Raises:
        ConditionError: the text is not a condition, names what is no axis, or asks for equality
            with what is no value of it.
        ValueError: the text is too long.
    """
    return _Parser(text, lambda name: variant_fields.find(name, axes)).whole()


class _Parser(Generic[Item]):
    def __init__(self, text: str, find: Callable[[str], RunField[Item]]) -> None:
        if len(text) > MAX_LENGTH:
            raise ValueError(f"a condition may have {MAX_LENGTH} characters, not {len(text)}")
        # One line, so that the marks are below what they mark.
        self._text = re.sub(r"\s", " ", text)
        self._find = find
        self._tokens = self._split()
        self._at = 0
        self._depth = 0

    def whole(self) -> Condition[Item]:
        condition = self._either()
        if self._next.kind != "end":
            raise self._error(self._next, "here must be `and`, `or` or the end")
        return condition

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _split(self) -> list[_Token]:
        tokens, position = [], 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise ConditionError(
                    self._text, position, len(self._text), "the text in quotes has no end"
                )
            if match.lastgroup != "space":
                tokens.append(_Token(str(match.lastgroup), match[0], position, match.end()))
            position = match.end()
        return [*tokens, _Token("end", "", position, position)]

    def _either(self) -> Condition[Item]:
        parts = [self._both()]
        while self._next.is_word("or"):
            self._take()
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else _any(parts)

    def _both(self) -> Condition[Item]:
        parts = [self._factor()]
        while self._next.is_word("and"):
            self._take()
            parts.append(self._factor())
        return parts[0] if len(parts) == 1 else _all(parts)

    def _factor(self) -> Condition[Item]:
        nested = self._next.is_word("not") or self._next.text == "("
        if not nested:
            return self._comparison()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._next, f"more than {MAX_DEPTH} levels of `(` and `not`")
        opening = self._take()
        if opening.text == "not":
            inner = self._factor()
            condition: Condition[Item] = lambda run: not inner(run)  # noqa: E731
        else:
            condition = self._either()
            if self._next.text != ")":
                raise self._error(self._next, "here must be `and`, `or` or `)`")
            self._take()
        self._depth -= 1
        return condition

    def _comparison(self) -> Condition[Item]:
        name = self._take()
        if name.kind != "word" or name.text in _KEYWORDS:
            raise self._error(name, "here must be a name, such as `status` or `goodput_bps`")
        try:
            field = self._find(name.text)
        except FieldError as error:
            raise self._error(name, str(error)) from None
        sign = self._take()
        if sign.text not in _OPERATORS or sign.kind != "operator":
            hint = "; write `=`" if sign.text == "==" else ""
            raise self._error(sign, f"here must be one of {' '.join(_OPERATORS)}{hint}")
        value = self._written(field) or self._take()
        if value.kind not in ("word", "quoted") or value.is_word(*_KEYWORDS):
            raise self._error(value, f"here must be a value of {name.text}, or `{NOTHING}`")
        if sign.text in _ORDER and not field.ordered:
            raise self._error(sign, f"{field.name} is compared by = or != only")
        return self._comparing(field, sign, value)

    def _written(self, field: RunField[Item]) -> _Token | None:
        """Take a value that stands here as in the scenario, although it has spaces or brackets."""
        start = self._next.start
        for text in sorted(field.written, key=len, reverse=True):
            end = start + len(text)
            if self._text.startswith(text, start) and self._text[end : end + 1] in ("", " ", ")"):
                while self._next.kind != "end" and self._next.start < end:
                    self._take()
                return _Token("quoted", f"'{text}'", start, end)
        return None

    def _comparing(self, field: RunField[Item], sign: _Token, value: _Token) -> Condition[Item]:
        if value.is_word(NOTHING):
            if sign.text in _ORDER:
                raise self._error(sign, f"`{NOTHING}` is compared by = or != only")
            return lambda run: bool(field.values(run)) == (sign.text == "!=")
        text = value.text[1:-1] if value.kind == "quoted" else value.text
        try:
            equal = field.parse_equal if sign.text not in _ORDER else None
            wanted = (equal or field.parse)(text)
        except FieldError as error:
            raise self._error(value, str(error)) from None
        if sign.text not in _ORDER:
            return lambda run: (wanted in field.values(run)) == (sign.text == "=")
        compare = _ORDER[sign.text]
        if wanted[0] == "text" and field.name != "started_utc":
            raise self._error(value, f"{shown(text)} is a text: compare it by = or !=")
        return _ordering(field, compare, wanted)

    def _error(self, token: _Token, problem: str) -> ConditionError:
        what = "" if token.kind != "end" else " (it ends there)"
        return ConditionError(self._text, token.start, token.end, f"{problem}{what}")


# Loops, because a generator for each of thousands of runs takes as long as what it does.


def _any(parts: Sequence[Condition[Item]]) -> Condition[Item]:
    def holds(run: Item) -> bool:
        for part in parts:  # noqa: SIM110
            if part(run):
                return True
        return False

    return holds


def _all(parts: Sequence[Condition[Item]]) -> Condition[Item]:
    def holds(run: Item) -> bool:
        for part in parts:  # noqa: SIM110
            if not part(run):
                return False
        return True

    return holds


def _ordering(
    field: RunField[Item], compare: Callable[[Any, Any], bool], wanted: Value
) -> Condition[Item]:
    unit, limit = wanted

    def holds(run: Item) -> bool:
        for value_unit, value in field.values(run):
            if value_unit == unit and compare(value, limit):
                return True
        return False

    return holds
