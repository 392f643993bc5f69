"""The argument ``EXPERIMENT|FILE`` of commands about experiments.

What else a name may mean is told on standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.application import experiments
from orchestrator.application.experiments import is_file
from orchestrator.cli.render import terminal

if TYPE_CHECKING:
    from results.experiment.experiments import Experiment
    from results.store.store import Store

__all__ = ["ARGUMENT", "find", "is_file", "run_ids", "the_only"]

ARGUMENT = "EXPERIMENT|FILE"


def find(
    store: Store, text: str, overrides: tuple[str, ...] = (), reduced: bool = False
) -> Experiment:
    """Return the experiment that the argument means; see ``experiments.find``."""
    return experiments.find(store, text, _tell, overrides, reduced)


def the_only(store: Store, text: str) -> Experiment:
    """Return the only experiment that the argument means; see ``experiments.the_only``."""
    return experiments.the_only(store, text, _tell)


def run_ids(store: Store, text: str) -> set[str]:
    """Return the ids of the runs of all experiments that the argument means."""
    return experiments.run_ids(store, text, _tell)


def _tell(text: str) -> None:
    terminal.line(text, err=True)
