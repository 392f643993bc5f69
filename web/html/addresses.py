"""Addresses of hundreds of pages on one page, for which ``url_for`` would take long."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from urllib.parse import quote

from flask import url_for


def of_runs() -> Callable[[str], str]:
    """Return what makes the address of a run's page of the run's id."""
    start = url_for("pages.run", run_id="0").removesuffix("0")
    return lambda run_id: start + quote(run_id, safe="")


def of_experiments() -> Callable[[str], str]:
    """Return what makes the address of an experiment's page of its label; they are few."""
    return cache(lambda label: url_for("experiments.experiment", label=label))
