"""Loads a scenario file: parse, overrides, matrix, validation; reports every fault at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from pydantic import ValidationError

from orchestrator.errors import Fault, ScenarioError, UsageError
from orchestrator.files.user_files import FileError
from orchestrator.files.user_files import read as read_file
from orchestrator.kinds.congestion import Modules
from orchestrator.kinds.fields import Context, Path
from orchestrator.scenario import overrides as overriding
from orchestrator.scenario.checks import check
from orchestrator.scenario.document import Mapping, Mark, Node, end_of, nearest, parse, plain
from orchestrator.scenario.faults import faults_of
from orchestrator.scenario.figures import figure_faults
from orchestrator.scenario.matrix import expand
from orchestrator.scenario.model import Scenario
from orchestrator.scenario.paths import Meant
from orchestrator.scenario.reduction import has_reduced, reduce, without_reduced
from orchestrator.scenario.repetitions import MAX_RUNS
from orchestrator.units import printable, shown

MAX_BYTES = 250_000
_ENOUGH_FAULTS = 200


@dataclass(frozen=True)
class LoadedVariant:
    """One validated combination of the matrix; ``values`` is empty without a matrix.

    ``modules`` has the modules of the flows' congestion controls.
    """

    values: dict[str, object]
    scenario: Scenario
    tree: Node
    modules: Modules

    def mark(self, path: Path) -> Mark:
        """Return the position of the value at a path, in the file, a --set or the matrix."""
        return nearest(self.tree, path)


@dataclass(frozen=True)
class LoadedScenario:
    """A valid scenario and its origin.

    ``text`` and ``sha256`` are the file's. ``overrides`` are already applied to ``scenario``, and
    the matrix to the scenarios of ``variants``, of which there is at least one. ``reducible`` tells
    whether the file has a reduced form.
    """

    path: FilePath
    text: str
    sha256: str
    overrides: tuple[str, ...]
    scenario: Scenario
    tree: Node
    variants: tuple[LoadedVariant, ...]
    reducible: bool = False

    def mark(self, path: Path) -> Mark:
        """Return the position of the value at a path, or of what encloses it."""
        return nearest(self.tree, path)

    def locate(self, path: Path) -> tuple[int, int]:
        """Return the 1-based line and column of the value at that path, or of what encloses it."""
        mark = self.mark(path)
        return mark.line, mark.column


def load(path: FilePath, overrides: Sequence[str] = (), reduced: bool = False) -> LoadedScenario:
    """Load and validate a scenario file, with ``PATH=VALUE`` overrides applied in their order.

    ``reduced`` selects the reduced form, to which the overrides are then applied. Folders of
    modules, also in overrides, are relative to the file's folder.

    Raises:
        ScenarioError: the scenario is not valid; has every fault with its file:line:column.
        UsageError: there is no reduced form.
    """
    content = _read(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = end_of(content[: error.start].decode())
        fault = Fault(str(path), line + 1, column + 1, "not UTF-8 text")
        raise ScenarioError([fault]) from None
    return _load_text(path, text, hashlib.sha256(content).hexdigest(), overrides, reduced)


def _read(path: FilePath) -> bytes:
    try:
        return read_file(path, MAX_BYTES)
    except FileError as error:
        raise ScenarioError([Fault(printable(str(path)), 1, 1, error.reason)]) from None


def _load_text(
    path: FilePath, text: str, sha256: str, overrides: Sequence[str], reduced: bool
) -> LoadedScenario:
    tree, faults = parse(text, str(path))
    if tree is None:
        empty = Fault(str(path), 1, 1, "the file is empty: it needs a scenario")
        raise ScenarioError(faults or [empty])
    if not isinstance(tree, Mapping):
        message = f"a scenario is a mapping of keys ({', '.join(Scenario.keys())})"
        raise ScenarioError([*faults, tree.mark.fault(f"{message}, not {shown(plain(tree))}")])
    reducible = has_reduced(tree)
    if reduced:
        if not reducible and not faults:
            raise UsageError(f"--reduced: {path} has no reduced form (a key `reduced`)")
        tree, more = reduce(tree)
        faults += more
    modules = Modules(path.parent)
    meant = Meant(tree, lambda: Context(modules))
    for override in overrides:
        asked = override.partition("=")[0]
        meant.ask(asked, Mark(overriding.file_of(override), 1, 1), spread=True)
        try:
            tree, more = overriding.apply(tree, override)
            faults += more
        except overriding.PathError as error:
            faults += meant.explained(error, asked)
        except ScenarioError as error:
            faults += error.faults
    scenario, invalid = _validate(tree, modules, meant)
    variants, varied = _validate_variants(without_reduced(tree), modules, meant)
    # A fault of the text at a position, such as an alias, explains why the value there is invalid.
    broken = {(each.file, each.line, each.column) for each in faults}
    invalid = [*invalid, *varied]
    faults += [each for each in invalid if (each.file, each.line, each.column) not in broken]
    if scenario and not faults:
        faults += _too_many(scenario, tree, len(variants))
        faults += figure_faults(scenario, tree, [variant.values for variant in variants])
    if faults or scenario is None:
        raise ScenarioError(_distinct(faults))
    return LoadedScenario(
        path, text, sha256, tuple(overrides), scenario, tree, tuple(variants), reducible
    )


def _validate(tree: Node, modules: Modules, meant: Meant) -> tuple[Scenario | None, list[Fault]]:
    """Return the scenario, None when it is not valid, and the faults."""
    data = plain(tree)
    context = Context(modules)
    try:
        scenario = Scenario.model_validate(data, context=context)
    except ValidationError as error:
        faults = faults_of(error, tree, data, context.models, meant)
        return None, faults + check(tree, modules)
    faults = check(tree, modules)
    return (None if faults else scenario), faults


def _validate_variants(
    tree: Node, modules: Modules, meant: Meant
) -> tuple[list[LoadedVariant], list[Fault]]:
    expanded, faults = expand(tree, meant)
    loaded: list[LoadedVariant] = []
    for variant in expanded:
        scenario, more = _validate(variant.tree, modules, meant)
        faults = _distinct(faults + more) if more else faults
        if scenario:
            loaded.append(LoadedVariant(variant.values, scenario, variant.tree, modules))
        if len(faults) > _ENOUGH_FAULTS:
            break
    return loaded, faults


def _too_many(scenario: Scenario, tree: Node, variants: int) -> list[Fault]:
    repetitions = scenario.repetitions.most
    runs = variants * repetitions
    if runs <= MAX_RUNS:
        return []
    where = nearest(tree, ("repetitions",) if repetitions > 1 else ("matrix",))
    product = f"{variants} variants x {repetitions} repetitions"
    return [where.fault(f"{product} are {runs} runs; {MAX_RUNS} are allowed")]


def _distinct(faults: list[Fault]) -> list[Fault]:
    """Return the faults without repeats."""
    return list(dict.fromkeys(faults))
