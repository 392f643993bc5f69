"""How many runs the means of a variant leave out, and why.

Documents have the numbers by reason: ``{"unfaithful": 1, "failed": 0, "identical": 0}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from results.axes import key

Numbers = Mapping[str, int]
"""Numbers of runs by reason, as documents have them."""


SENTENCES = {
    "unfaithful": ("was unfaithful and is left out", "were unfaithful and are left out"),
    "failed": ("failed or was interrupted and is left out",
               "failed or were interrupted and are left out"),
    "identical": ("is equal to another one to the bit, and both count once",
                  "are equal to another one to the bit, and count once"),
}  # fmt: skip
"""What is said of one run, and of several, by reason."""


@dataclass
class LeftOut:
    """Numbers of runs of one variant by reason.

    Interrupted runs are among those that ``failed``. ``identical`` counts the runs that are
    bit-identical to another one, which the means have.
    """

    unfaithful: int = 0
    failed: int = 0
    identical: int = 0

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers by reason."""
        return asdict(self)


def total(each: Iterable[Numbers]) -> dict[str, int]:
    """Return the sums of the numbers by reason, in the order of the reasons."""
    sums = Counter(LeftOut().numbers)
    for numbers in each:
        sums.update(numbers)
    return dict(sums)


def of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the sums over all variants; each row of a summary has the numbers of its variant."""
    return total({key(row["variant"]): row["left_out"] for row in rows}.values())


def words(numbers: Numbers) -> str:
    """Return the numbers in words, such as ``2 unfaithful, 1 failed``; empty if all are zero."""
    return ", ".join(f"{number} {reason}" for reason, number in numbers.items() if number)
