"""What an experiment's page shows, as its address says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from results import DEFAULT_DB
from results.axes import Axis, named
from results.experiments import Experiment
from results.metrics import METRICS
from results.model import WHOLE
from results.observations import Wanted
from results.statistics.drift import PARTS
from results.store import Store
from results.summary import DEFAULT_METRIC
from web import query
from web.query import Arguments

NAMES = (
    "metric", "x", "colour", "facet", "x_scale", "y_scale", "zero", "each", "by", "where", "entry",
    "window", "drift",
)  # fmt: skip
"""The parameters of an experiment's page."""

X_SCALES = ("auto", "linear", "log")
Y_SCALES = ("linear", "log")
YES = ("", "yes", "no")
FLOW = "flow"
MOST_GIVEN = 20
MOST_CHARACTERS = 1000

MOST_RUNS_FOR_DRIFT = 100
"""Drifts need samples of each run. With more runs they are looked for when asked for."""


@dataclass(frozen=True)
class Choices:
    """The choices, with defaults in place of what the address leaves out."""

    metric: str
    x: Axis | None
    colour: Axis | None
    facet: Axis | None
    x_scale: str
    y_scale: str
    from_zero: bool
    each: bool
    by: tuple[str, ...]
    where: tuple[str, ...]
    entries: tuple[str, ...]
    window: str
    drift: bool

    @property
    def log_x(self) -> bool:
        """Tell whether the horizontal axis is logarithmic; by default if the values suit it."""
        if self.x is None or self.x.numbers is None:
            return False
        return self.x.geometric if self.x_scale == "auto" else self.x_scale == "log"

    @property
    def wanted(self) -> Wanted:
        """Return what to ask the summary for."""
        parts = PARTS if self.drift else 0
        return Wanted((self.metric,), self.window, self.where, self.entries, parts=parts)


def read(args: Arguments, experiment: Experiment, metrics: Sequence[str]) -> Choices:
    """Return the choices; ``metrics`` are those that the experiment has values of.

    Raises:
        UsageError: a parameter is not valid.
    """
    query.check_names(args, NAMES)
    for name in NAMES:
        given = args.getlist(name)
        if len(given) > MOST_GIVEN or any(len(text) > MOST_CHARACTERS for text in given):
            raise UsageError(
                f"{name}: at most {MOST_GIVEN} times, of at most {MOST_CHARACTERS} characters"
            )
    axes = experiment.axes()
    usual = DEFAULT_METRIC if DEFAULT_METRIC in metrics or not metrics else metrics[0]
    x = _x(args, axes)
    facet = named(args["facet"], axes) if args.get("facet") else None
    if facet is not None and facet == x:
        raise UsageError(f"facet={args['facet']}: this axis is the horizontal one already")
    colour = args.get("colour", FLOW)
    drift = query.read_choice(args, "drift", YES)
    few = len(experiment.rows) <= MOST_RUNS_FOR_DRIFT
    return Choices(
        metric=args.get("metric") or usual,
        x=x,
        colour=None if colour in ("", FLOW) else named(colour, axes),
        facet=facet,
        x_scale=query.read_choice(args, "x_scale", X_SCALES),
        y_scale=query.read_choice(args, "y_scale", Y_SCALES),
        from_zero=query.read_choice(args, "zero", YES) != "no",
        each=query.read_choice(args, "each", YES) == "yes",
        by=tuple(dict.fromkeys(named(one, axes).label for one in _given(args, "by"))),
        where=_given(args, "where"),
        entries=_given(args, "entry"),
        window=args.get("window", WHOLE),
        drift=few if not drift else drift == "yes",
    )


def _given(args: Arguments, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in args.getlist(name) if text.strip()))


def _x(args: Arguments, axes: Sequence[Axis]) -> Axis | None:
    if args.get("x"):
        return named(args["x"], axes)
    varying = [axis for axis in axes if len(axis.values) > 1]
    numbers = [axis for axis in varying if axis.numbers is not None]
    return next(iter([*numbers, *varying]), None)


def metrics_of(store: Store, experiment: Experiment) -> list[str]:
    """Return the metrics that the newest runs have values of, in the registry's order."""
    there: set[str] = set()
    ended = [row for row in reversed(experiment.rows) if row.status == "ok"]
    for row in ended[:3]:
        values = store.load(row.id).metrics()[WHOLE]
        for each in (values.run, *values.flows, *values.links.values()):
            there |= {name for name, value in each.items() if value is not None}
    return [name for name in dict.fromkeys(name for name, _scope in METRICS) if name in there]


def command(kind: str, label: str, choices: Choices, db: Path, output: str = "") -> str:
    """Return the command that makes the page's table (``summary``) or figure (``plot``)."""
    words = ["orchestrator", kind, *(["metric"] if kind == "plot" else []), label]
    words += ["--metric", choices.metric]
    if kind == "plot":
        words += figure_options(choices)
    else:
        words += [word for one in choices.by for word in ("--by", one)]
    words += [word for one in choices.where for word in ("--where", one)]
    words += [word for one in choices.entries for word in ("--flow", one)]
    words += ["--window", choices.window] if choices.window else []
    words += ["--db", str(db)] if db != DEFAULT_DB else []
    words += ["-o", output] if output else []
    return shlex.join(words)


def figure_options(choices: Choices) -> list[str]:
    """Return the options of ``orchestrator plot metric`` that the choices mean."""
    words = [] if choices.x is None else ["--by", choices.x.label]
    if choices.x_scale != "auto":
        words.append("--log-x" if choices.x_scale == "log" else "--no-log-x")
    words += ["--log-y"] if choices.y_scale == "log" else []
    words += [] if choices.from_zero else ["--no-from-zero"]
    words += ["--crossings"] if _marks_crossings(choices) else []
    return words


def figure(choices: Choices, file: str) -> Mapping[str, Any]:
    """Return the keys of the figure ``metric`` that the choices mean; see ``results.figures``."""
    keys: dict[str, Any] = {
        "kind": "metric", "file": file, "metric": choices.metric,
        "flow": list(choices.entries), "log_y": choices.y_scale == "log",
        "from_zero": choices.from_zero, "crossings": _marks_crossings(choices),
    }  # fmt: skip
    if choices.x is not None:
        keys["by"] = choices.x.label
    if choices.x_scale != "auto":
        keys["log_x"] = choices.x_scale == "log"
    if choices.window:
        keys["window"] = choices.window
    if choices.where:
        keys["where"] = " and ".join(f"({one})" for one in choices.where)
    return keys


def _marks_crossings(choices: Choices) -> bool:
    return choices.x is not None and choices.x.numbers is not None
