"""How often the rule for verdicts errs, and how many repetitions it takes, by simulation.

    python -m bench.verdict_rule [--rows N]

Lengths are in widths of the zone of values that are near. What agrees is above 0, what is near is
from -1 to 0. A mean is at an edge (0, -1), in the middle of the zone (-0.5), or outside of it. For
normal values the rule is exact. Exponential ones show what skewness does.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from results.claims.judge import DOES_NOT, HOLDS, NEARLY, OPEN, word_of_row
from results.claims.stated.accepted import AcceptedRange
from results.layout.series import ends
from results.statistics import two_looks
from results.statistics.two_looks import FIRST

Floats = npt.NDArray[np.float64]

ACCEPTED, NEAR = AcceptedRange(0.0, None), AcceptedRange(-1.0, None)
MEANS = (3.0, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -4.0)
DEVIATIONS = (0.25, 0.5, 1.0, 2.0)
LIMIT = 400
"""Repetitions that a row gets at most. One that needs more is looked at with so many."""


@dataclass(frozen=True)
class Shares:
    """What became of simulated rows of one mean and deviation; all but ``repetitions`` are shares.

    ``wrong`` counts answers that the mean contradicts, and ``missed`` intervals without the mean.
    """

    mean: float
    deviation: float
    holds: float
    nearly: float
    does_not: float
    open: float
    wrong: float
    missed: float
    repetitions: float


def normal(generator: np.random.Generator, rows: int, n: int) -> Floats:
    """Return normal values of mean 0 and deviation 1."""
    return generator.standard_normal((rows, n))


def exponential(generator: np.random.Generator, rows: int, n: int) -> Floats:
    """Return exponential values, moved to mean 0, of deviation 1."""
    return generator.standard_exponential((rows, n)) - 1.0


def simulated(
    mean: float,
    deviation: float,
    rows: int,
    draw: Callable[[np.random.Generator, int, int], Floats] = normal,
    seed: int = 1,
) -> Shares:
    """Return what becomes of rows of that mean and deviation, in widths of the zone."""
    generator = np.random.default_rng(seed)
    answers: Counter[str] = Counter()
    missed = repetitions = 0
    for values in (mean + deviation * draw(generator, rows, FIRST)).tolist():
        found = two_looks.interval(values, 1.0)
        answer = word_of_row(*ends(found), ACCEPTED, NEAR)
        required = min(two_looks.required_repetitions(values, 1.0), LIMIT)
        if answer == OPEN and required > FIRST:
            more = mean + deviation * draw(generator, 1, required - FIRST)[0]
            found = two_looks.interval([*values, *more.tolist()], 1.0)
            answer = word_of_row(*ends(found), ACCEPTED, NEAR)
        answers[answer] += 1
        low, high = ends(found)
        missed += not low <= mean <= high
        repetitions += found.n
    wrong = answers[HOLDS] * (mean < 0.0) + answers[DOES_NOT] * (mean >= 0.0)
    wrong += answers[NEARLY] * (mean < -1.0)
    return Shares(
        mean,
        deviation,
        holds=answers[HOLDS] / rows,
        nearly=answers[NEARLY] / rows,
        does_not=answers[DOES_NOT] / rows,
        open=answers[OPEN] / rows,
        wrong=wrong / rows,
        missed=missed / rows,
        repetitions=repetitions / rows,
    )


def table(rows: int, draw: Callable[[np.random.Generator, int, int], Floats]) -> Iterator[Shares]:
    """Yield what becomes of each deviation and mean."""
    for deviation in DEVIATIONS:
        for mean in MEANS:
            yield simulated(mean, deviation, rows, draw)


def main() -> None:
    """Print the tables in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000, help="simulated rows of each kind")
    rows = parser.parse_args().rows
    for draw in (normal, exponential):
        print(f"\n{draw.__name__} values, {rows} rows of each kind\n")
        print("| deviation | mean | holds | nearly | does not | open | wrong | missed | n |")
        print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        for each in table(rows, draw):
            shares = (each.holds, each.nearly, each.does_not, each.open, each.wrong, each.missed)
            told = " | ".join(f"{100 * share:.1f}%" for share in shares)
            print(f"| {each.deviation:g} | {each.mean:g} | {told} | {each.repetitions:.1f} |")


if __name__ == "__main__":
    main()
