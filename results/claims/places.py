"""Where the papers' claims and the summaries of what was measured are."""

from __future__ import annotations

from pathlib import Path

IN_WHEEL = Path(__file__).resolve().parent / "stated"
"""Where ``hatch_build.py`` puts a copy of them into a wheel."""

IN_CHECKOUT = Path(__file__).resolve().parents[2] / "scenarios/papers/claims"


def folder() -> Path:
    """Return the folder of the claims: the wheel's copy, or that of the checkout."""
    return IN_WHEEL if IN_WHEEL.is_dir() else IN_CHECKOUT
