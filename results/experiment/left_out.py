"""How many runs the means of a variant leave out, and why.

JSON has the numbers by reason: ``{"unfaithful": 1, "failed": 0, "identical": 0}``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

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

    Interrupted runs are among those that ``failed``. A repetition that was made again and ended
    well is not. ``identical`` counts the runs that are bit-identical to another one, which the
    means have.
    """

    unfaithful: int = 0
    failed: int = 0
    identical: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(
            self.unfaithful + other.unfaithful,
            self.failed + other.failed,
            self.identical + other.identical,
        )

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers by reason."""
        return asdict(self)


def words(left_out: LeftOut) -> str:
    """Return the numbers in words, such as ``2 unfaithful, 1 failed``; empty if all are zero."""
    return ", ".join(f"{number} {reason}" for reason, number in left_out.numbers.items() if number)
