"""The code of a user's module: draws of its parameters, and builds on each kernel that is here."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kmods import catalogue
from orchestrator.application.events import Preparing
from orchestrator.backends.module_builds import built_everywhere
from orchestrator.evaluation.model import CANDIDATE
from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, Grade

if TYPE_CHECKING:
    from kmods.catalogue import Parameter
    from orchestrator.application.events import Listener
    from orchestrator.backends.module_builds import BuiltOn
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.model import Criterion

DRAWS = 12
"""Sets of values of a module's parameters that are tried: both ends, and ten drawn ones."""

_MOST_TRIES = 100

AXIS = "parameters"
"""The axis of these sets. Its values are `draw-1` and so on."""

MOST_MESSAGES = 5
"""So many of a build's messages are on the card."""


@dataclass(frozen=True)
class CodeCheck:
    """The build on a kernel. ``messages`` are warnings, or why it failed."""

    kernel: str
    verdict: Grade
    messages: list[str]


def with_draws(criterion: Criterion, control: Control) -> Criterion:
    """Return a criterion whose scenario has an axis of sets of the module's parameters.

    Of a module without parameters the axis has no value, and there are no runs.
    """
    named = {
        f"draw-{number}": {
            f"flows.{entry}.congestion": {**_module(control), "parameters": values}
            for entry in criterion.entries(CANDIDATE)
        }
        for number, values in enumerate(draws(_parameters(control)), start=1)
        if values
    }
    return criterion.model_copy(
        update={"scenario": {**criterion.scenario, "matrix": {AXIS: named}}}
    )


def is_without_runs(criterion: Criterion) -> bool:
    """Tell whether a criterion asks of a module that has no parameters to draw."""
    return criterion.of_code and not criterion.scenario["matrix"][AXIS]


def draws(parameters: Mapping[str, Parameter]) -> list[dict[str, int]]:
    """Return the sets: all lowest values, all highest ones, and drawn ones, each once.

    Each drawn value is one of both ends, or from between: half of these evenly over the range, half
    evenly over its orders of magnitude. Equal parameters have equal draws, whatever the rest of
    the sources. There are fewer than ``DRAWS`` where the ranges have no more.
    """
    found = [
        {name: _fitting(one, end(one)) for name, one in parameters.items()} for end in (_low, _high)
    ]
    source = random.Random(1)
    for _ in range(_MOST_TRIES):
        if len(found) == DRAWS:
            break
        values = {name: _fitting(one, _drawn(one, source)) for name, one in parameters.items()}
        found += [values] if values not in found else []
    return found


def _low(one: Parameter) -> int:
    return one.low


def _high(one: Parameter) -> int:
    return one.high


def _drawn(one: Parameter, source: random.Random) -> int:
    kind = source.randrange(4)
    if kind < 2:
        return (one.low, one.high)[kind]
    if kind == 2:
        return source.randint(one.low, one.high)
    return one.low + int(math.exp(source.random() * math.log(one.high - one.low + 1))) - 1


def _fitting(one: Parameter, value: int) -> int:
    """Return the value, or the nearest power of two below it where one is asked for."""
    if not one.power_of_two or not value:
        return value
    power = 1 << (value.bit_length() - 1)
    return power if power >= one.low else power << 1


def builds(control: Control, listener: Listener) -> list[CodeCheck]:
    """Build a user's module on each kernel that is here, and return what the compiler says.

    A kernel on which it does not compile is a "should" that is not met, and one with warnings is
    met with limits. Linux promises no interface to modules, and each compiler warns of its own.

    Raises:
        MachineError: this machine cannot build modules.
    """
    assert control.folder is not None, "only a folder's code is looked at"
    found = []
    listener(Preparing(f"building {control.name} on each kernel that is here", None))
    for one in built_everywhere(control.folder):
        place = f"{control.folder}/"  # of this machine, and no part of a card
        messages = [line.replace(place, "").strip() for line in one.messages[:MOST_MESSAGES]]
        found.append(CodeCheck(one.release, _verdict(one), messages))
        listener(Preparing(f"built {control.name} on {one.release}", None))
    return found


def _verdict(one: BuiltOn) -> Grade:
    if one.failed:
        return DOES_NOT
    return LIMITED if one.messages else MEETS


def _parameters(control: Control) -> Mapping[str, Parameter]:
    assert control.folder is not None, "only a folder's code is looked at"
    return catalogue.read(control.folder).modules[control.name].parameters


def _module(control: Control) -> dict[str, Any]:
    return {"name": control.name, "module": str(control.folder)}
