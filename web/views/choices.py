"""What an experiment's page shows, as its address says."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from results.experiment.experiments import Experiment
from results.experiment.observations import ValueSelection
from results.experiment.summary import DEFAULT_METRIC
from results.layout import arrangement
from results.layout.line_styles import FLOW
from results.matrix.axes import Axis, named, varying
from results.metrics import METRICS, is_extracted
from results.records.model import WHOLE
from results.statistics.drift import PARTS
from results.store.store import Store
from web.http import query
from web.http.query import Arguments
from web.views import command_lines as again
from web.views import facets

NAMES = (
    "metric", "x", "colour", "facet", "x_scale", "y_scale", "zero", "each", "by", "compare",
    "where", "entry", "window", "drift",
)  # fmt: skip
"""The parameters of an experiment's page."""

X_SCALES = ("auto", "linear", "log")
Y_SCALES = ("linear", "log")
YES = ("", "yes", "no")
MOST_GIVEN = 20
MOST_CHARACTERS = 1000

MOST_RUNS_FOR_DRIFT = 100
"""Drifts need samples of each run. With more runs they are looked for when asked for."""


@dataclass(frozen=True)
class Choices:
    """The choices, with defaults in place of what the address leaves out.

    ``colour`` None is by flow entry. ``doubtful`` has the ids of the experiment's doubtful runs.
    """

    metric: str
    x: Axis | None
    colour: Axis | None
    facet: Axis | None
    x_scale: str
    y_scale: str
    from_zero: bool
    each: bool
    by: tuple[str, ...]
    compare: tuple[str, ...]
    where: tuple[str, ...]
    entries: tuple[str, ...]
    window: str
    drift: bool
    doubtful: frozenset[str]

    @property
    def log_x(self) -> bool:
        """Tell whether the horizontal axis is logarithmic; by default if the values suit it."""
        if self.x is None or self.x.numbers is None:
            return False
        return self.x.geometric if self.x_scale == "auto" else self.x_scale == "log"

    @property
    def further(self) -> bool:
        """Tell whether a choice is made that the page folds away."""
        usual = (None, None, "auto", "linear", True, False, (), (), WHOLE)
        return usual != (
            self.colour, self.facet, self.x_scale, self.y_scale, self.from_zero, self.each, self.by,
            self.compare, self.window,
        )  # fmt: skip

    @property
    def wanted(self) -> ValueSelection:
        """Return what to ask the summary for."""
        parts = PARTS if self.drift else 0
        return ValueSelection((self.metric,), self.window, self.where, self.entries, parts=parts)


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
    colour = None if args.get("colour", FLOW) in ("", FLOW) else named(args["colour"], axes)
    arrangement.require_once(x, colour, () if facet is None else (facet,))
    drift = query.read_choice(args, "drift", YES)
    few = len(experiment.rows) <= MOST_RUNS_FOR_DRIFT
    return Choices(
        metric=args.get("metric") or usual,
        x=x,
        colour=colour,
        facet=facet,
        x_scale=query.read_choice(args, "x_scale", X_SCALES),
        y_scale=query.read_choice(args, "y_scale", Y_SCALES),
        from_zero=query.read_choice(args, "zero", YES) != "no",
        each=query.read_choice(args, "each", YES) == "yes",
        by=tuple(dict.fromkeys(named(label, axes).label for label in _given(args, "by"))),
        compare=_given(args, "compare"),
        where=_given(args, "where"),
        entries=_given(args, "entry"),
        window=args.get("window", WHOLE),
        drift=few if not drift else drift == "yes",
        doubtful=experiment.doubtful(),
    )


def _given(args: Arguments, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in args.getlist(name) if text.strip()))


def _x(args: Arguments, axes: Sequence[Axis]) -> Axis | None:
    if args.get("x"):
        return named(args["x"], axes)
    several = varying(axes)
    numbers = [axis for axis in several if axis.numbers is not None]
    return next(iter([*numbers, *several]), None)


def metrics_of(store: Store, experiment: Experiment) -> list[str]:
    """Return the metrics that the newest runs have values of, in the registry's order.

    Those of programs' output come last.
    """
    there: set[str] = set()
    ended = [row for row in reversed(experiment.rows) if row.status == "ok"]
    for run in store.metric_rows(ended[:3]):
        there |= {
            name
            for (window, _flow, _link, name), index in run.layout.places.items()
            if window == WHOLE and not math.isnan(run.values[index])
        }
    registered = [name for name in dict.fromkeys(name for name, _scope in METRICS) if name in there]
    return [*registered, *sorted(filter(is_extracted, there))]


def table_command(label: str, choices: Choices, db: Path) -> str:
    """Return the command that makes the page's tables."""
    arguments = ["summary", label, "--metric", choices.metric]
    arguments += [word for value in choices.by for word in ("--by", value)]
    arguments += [word for value in choices.compare for word in ("--compare", value)]
    arguments += [word for value in choices.where for word in ("--where", value)]
    arguments += [word for value in choices.entries for word in ("--flow", value)]
    arguments += ["--window", choices.window] if choices.window else []
    return again.command(arguments, db)


def figure_command(label: str, choices: Choices, db: Path, file: str) -> str:
    """Return the command that makes the page's figure: its keys as options."""
    keys = dict(_figure(choices))
    arguments = ["plot", keys.pop("kind"), label]
    for name, value in keys.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{option}" if value else f"--no-{option}")
        else:
            given = [value] if isinstance(value, str) else value
            arguments += [word for option_value in given for word in (f"--{option}", option_value)]
    return f"{again.command(arguments, db)} {shlex.join(['-o', file])}"


def figure(choices: Choices, file: str) -> Mapping[str, Any]:
    """Return the keys of the figure that the choices mean; see ``results.figures``."""
    keys = _figure(choices)
    where = keys.get("where", ())
    joined = {"where": facets.joined(where)} if where else {}
    return {**keys, **joined, "file": file}


def _figure(choices: Choices) -> Mapping[str, Any]:
    """Return the keys of the figure that are not the usual ones; ``where`` is a list.

    Without an axis to draw against it is that of bars.
    """
    x = choices.x
    keys: dict[str, Any] = {"kind": "bars" if x is None else "metric", "metric": choices.metric}
    if x is not None:
        keys |= {"by": x.label, "colour_by": choices.colour.label if choices.colour else FLOW}
    if choices.facet is not None and x is not None:
        keys |= {"panels_by": choices.facet.label, "width": "ieee-wide"}
    if x is not None and choices.x_scale != "auto":
        keys["log_x"] = choices.x_scale == "log"
    if choices.y_scale == "log":
        keys["log_y"] = True
    if x is not None:
        usual = {
            "from_zero": (choices.from_zero, True),
            "each": (choices.each, False),
            "crossings": (x.numbers is not None, False),
            "drift": (choices.drift, False),
            "doubt": (bool(choices.doubtful), False),
        }
        keys |= {name: value for name, (value, default) in usual.items() if value != default}
    given: dict[str, Any] = {
        "flow": list(choices.entries), "where": list(choices.where), "window": choices.window,
    }  # fmt: skip
    return {**keys, **{name: value for name, value in given.items() if value}}
