"""Where the papers' scenarios are, their claims, and the summaries of what was measured."""

from __future__ import annotations

from pathlib import Path

IN_WHEEL = Path(__file__).resolve().parent / "papers"
"""Where ``hatch_build.py`` puts a copy of the papers' folder into a wheel."""

IN_CHECKOUT = Path(__file__).resolve().parents[2] / "scenarios/papers"


def folder() -> Path:
    """Return the folder of the claims; the scenarios that they name are beside it.

    It is in the wheel's copy of the papers' folder, or in that of the checkout.
    """
    return (IN_WHEEL if IN_WHEEL.is_dir() else IN_CHECKOUT) / "claims"
