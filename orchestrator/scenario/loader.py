"""Loads a scenario file: parse, overrides, matrix, validation; reports every fault at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from pydantic import ValidationError

from orchestrator.errors import Fault, ScenarioError, UsageError
from orchestrator.files.scenario_files import (
    ResolvedScenario,
    ScenarioFiles,
    StoredFiles,
    may_name_files,
    place_of,
    values_in,
)
from orchestrator.files.user_files import FileError
from orchestrator.files.user_files import read as read_file
from orchestrator.kinds.congestion import Modules
from orchestrator.kinds.fields import Path, ValidationContext
from orchestrator.kinds.kernel import KEY
from orchestrator.repetitions import MAX_RUNS
from orchestrator.scenario.checks import check
from orchestrator.scenario.document import (
    Mapping,
    Mark,
    Node,
    built,
    end_of,
    find,
    nearest,
    parse,
    plain,
)
from orchestrator.scenario.faults import faults_of
from orchestrator.scenario.figures import extracted_metrics, figure_faults
from orchestrator.scenario.model import Scenario
from orchestrator.scenario.paths import PathSuggestions
from orchestrator.scenario.variants import overrides as overriding
from orchestrator.scenario.variants.matrix import Variant, VariantCounts, expand
from orchestrator.scenario.variants.reduction import has_reduced, reduce, without_reduced
from orchestrator.scenario.written_texts import with_texts
from orchestrator.suggestions import at_most
from orchestrator.units import printable, shown

MAX_BYTES = 4_000_000
MOST_STORED = 2
"""How much larger a stored scenario may be than a file, because it has every default."""
_ENOUGH_FAULTS = 200
_MOST_HINTS = 100
"""The most wrong words for which one validation looks for what may be meant."""


@dataclass(frozen=True)
class LoadedVariant:
    """One validated combination of the matrix; ``values`` is empty without a matrix.

    ``sets`` has, for each axis of named values, the values that it sets by path. ``modules`` has
    the modules of the flows' congestion controls.
    """

    values: dict[str, object]
    sets: dict[str, dict[str, object]]
    scenario: Scenario
    tree: Node
    modules: Modules

    def mark(self, path: Path) -> Mark:
        """Return the position of the value at a path, in the file, a --set or the matrix."""
        return nearest(self.tree, path)


@dataclass(frozen=True)
class LoadedScenario:
    """A valid scenario and its origin.

    ``text`` and ``sha256`` are the file's, with places where a path of it shows folders of the
    author (see :mod:`orchestrator.files.scenario_files`). ``overrides`` are already applied to
    ``scenario``, and the matrix to the scenarios of ``variants``, of which there is at least one.
    ``reducible`` tells whether the file has a reduced form. ``counts`` are those of the matrix,
    None without one. A scenario that was loaded from values has no text: it and its hash are empty.
    """

    path: FilePath
    text: str
    sha256: str
    overrides: tuple[str, ...]
    scenario: Scenario
    tree: Node
    variants: tuple[LoadedVariant, ...]
    reducible: bool = False
    counts: VariantCounts | None = None

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
    files = ScenarioFiles(path.parent)
    source = _ScenarioSource(path, text, hashlib.sha256(content).hexdigest())
    return _load_text(source, files, overrides, reduced)


def load_text(
    text: str, path: FilePath, overrides: Sequence[str] = (), reduced: bool = False
) -> LoadedScenario:
    """Load a scenario from its text, as :func:`load` does from a file at ``path``.

    Nothing need be there. Folders of modules are relative to the folder of ``path``.

    Raises:
        ScenarioError: as :func:`load`.
        UsageError: as :func:`load`.
    """
    source = _ScenarioSource(path, text, hashlib.sha256(text.encode()).hexdigest())
    return _load_text(source, ScenarioFiles(path.parent), overrides, reduced)


def load_stored(
    text: str,
    files: dict[str, bytes],
    path: FilePath = FilePath("stored.yaml"),
    overrides: Sequence[str] = (),
    reduced: bool = False,
) -> LoadedScenario:
    """Load a scenario whose files are known by their places; nothing of this machine is read.

    ``path`` is what faults name. ``overrides`` and ``reduced`` are those of :func:`load`.

    Raises:
        ScenarioError: as :func:`load`.
        UsageError: as :func:`load`.
    """
    content = text.encode()
    if len(content) > MOST_STORED * MAX_BYTES:
        message = f"is larger than {MOST_STORED * MAX_BYTES} bytes"
        raise ScenarioError([Fault(str(path), 1, 1, message)])
    sha256 = hashlib.sha256(content).hexdigest()
    return _load_text(_ScenarioSource(path, text, sha256), StoredFiles(files), overrides, reduced)


def load_values(
    values: ResolvedScenario, files: dict[str, bytes], name: str = "stored scenario"
) -> LoadedScenario:
    """Load a scenario from values that JSON can hold, such as a resolved one; see `load_stored`.

    Raises:
        ScenarioError: as :func:`load`; a fault names ``name`` and the path of the key.
    """
    tree, faults = built(values, name, MOST_STORED * MAX_BYTES)
    return _load_tree(tree, faults, _ScenarioSource(FilePath(name), "", ""), StoredFiles(files))


def _read(path: FilePath) -> bytes:
    try:
        return read_file(path, MAX_BYTES)
    except FileError as error:
        raise ScenarioError([Fault(printable(str(path)), 1, 1, error.reason)]) from None


@dataclass(frozen=True)
class _ScenarioSource:
    """Where a scenario comes from: what faults name, and its text with the hash."""

    path: FilePath
    text: str
    sha256: str


def _load_text(
    source: _ScenarioSource,
    files: ScenarioFiles,
    overrides: Sequence[str] = (),
    reduced: bool = False,
) -> LoadedScenario:
    tree, faults = parse(source.text, str(source.path))
    if tree is None:
        empty = Fault(str(source.path), 1, 1, "the file is empty: it needs a scenario")
        raise ScenarioError(faults or [empty])
    return _load_tree(tree, faults, source, files, overrides, reduced)


def _load_tree(
    tree: Node,
    faults: list[Fault],
    source: _ScenarioSource,
    files: ScenarioFiles,
    overrides: Sequence[str] = (),
    reduced: bool = False,
) -> LoadedScenario:
    """Validate a tree, with ``faults`` of its own, as the scenario of a source."""
    if not isinstance(tree, Mapping):
        message = f"a scenario is a mapping of keys ({', '.join(Scenario.keys())})"
        raise ScenarioError([*faults, tree.mark.fault(f"{message}, not {shown(plain(tree))}")])
    reducible = has_reduced(tree)
    if reduced:
        if not reducible and not faults:
            raise UsageError(f"--reduced: {source.path} has no reduced form (a key `reduced`)")
        tree, more = reduce(tree)
        faults += more
    modules = Modules(files)
    meant = PathSuggestions(tree, lambda: ValidationContext(modules))
    for override in overrides:
        try:
            given_path, value, more = overriding.read(override)
            faults += more
            mark = Mark(overriding.file_of(override), 1, 1)
            meant.ask(given_path, mark, value, spread=True)
            try:
                tree = overriding.put(tree, overriding.split_path(given_path, mark), value)
            except overriding.PathError as error:
                faults += meant.explained(error, given_path, value)
        except ScenarioError as error:
            faults += error.faults
    if isinstance(tree, Mapping):
        tree = with_texts(tree)
    scenario, invalid = _validate(tree, modules, meant)
    variants: list[LoadedVariant] = []
    counts: VariantCounts | None = None
    varied: list[Fault] = []
    if find(tree, ("matrix",)) or find(tree, ("reduced",)):
        # What was stored before equal variants were refused can still be read.
        distinct = not isinstance(files, StoredFiles)
        variants, counts, varied = _validate_variants(
            without_reduced(tree), modules, meant, distinct
        )
    elif scenario:
        variants = [LoadedVariant({}, {}, scenario, tree, modules)]
    # A fault of the text at a position, such as an alias, explains why the value there is invalid.
    broken = {(fault.file, fault.line, fault.column) for fault in faults}
    invalid = [*invalid, *varied]
    faults += [fault for fault in invalid if (fault.file, fault.line, fault.column) not in broken]
    faults += _without_effect(overrides, variants)
    if scenario and not faults:
        faults += _too_many(scenario, tree, len(variants))
        numbers = extracted_metrics(variant.scenario for variant in variants)
        faults += figure_faults(scenario, tree, [variant.values for variant in variants], numbers)
    if faults or scenario is None:
        raise ScenarioError(_distinct(faults))
    text = files.in_places(source.text)
    changed = text != source.text
    sha256 = hashlib.sha256(text.encode()).hexdigest() if changed else source.sha256
    return LoadedScenario(
        source.path, text, sha256, tuple(overrides), scenario, tree, tuple(variants), reducible,
        counts,
    )  # fmt: skip


def _without_effect(overrides: Sequence[str], variants: Sequence[LoadedVariant]) -> list[Fault]:
    """Return the fault of a kernel that is set where each variant has one of its own."""
    varied = bool(variants) and all(
        any(path.split(".")[0] == KEY for path in (*variant.values, *_set_paths(variant)))
        for variant in variants
    )
    faults = []
    for override in overrides:
        if varied and override.partition("=")[0] == KEY:
            text = "has no effect: the matrix names the kernel of each variant; replace its values"
            where = Mark(overriding.file_of(override), 1, 1)
            faults.append(where.fault(f"`{KEY}` {text}, such as --set 'matrix.{KEY}=[6.12]'"))
    return faults


def _set_paths(variant: LoadedVariant) -> list[str]:
    return [path for values in variant.sets.values() for path in values]


def _validate(
    tree: Node, modules: Modules, meant: PathSuggestions
) -> tuple[Scenario | None, list[Fault]]:
    """Return the scenario, None when it is not valid, and the faults."""
    data = plain(tree)
    context = ValidationContext(modules)
    with at_most(_MOST_HINTS):
        try:
            scenario = Scenario.model_validate(data, context=context)
        except ValidationError as error:
            faults = faults_of(error, tree, data, context.models, meant)
            return None, faults + check(tree, modules)
        faults = check(tree, modules)
    return (None if faults else scenario), faults


def _validate_variants(
    tree: Node, modules: Modules, meant: PathSuggestions, distinct: bool
) -> tuple[list[LoadedVariant], VariantCounts | None, list[Fault]]:
    """Return the variants; with ``distinct`` two that mean the same are a fault."""
    expanded, counts, faults = expand(tree, meant)
    loaded: list[LoadedVariant] = []
    meanings: dict[bytes, Variant] = {}
    for variant in expanded:
        scenario, more = _validate(variant.tree, modules, meant)
        if scenario:
            loaded.append(_loaded(variant, scenario, modules))
            if distinct:
                first = meanings.setdefault(_meaning(scenario), variant)
                more += _equal_in_meaning(variant, first)
        faults = _distinct(faults + more) if more else faults
        if len(faults) > _ENOUGH_FAULTS:
            break
    return loaded, counts, faults


def _meaning(scenario: Scenario) -> bytes:
    """Return a hash of what a scenario says of its runs, whatever its units and order of keys.

    What is traced is not part of it: it changes nothing of a run.
    """
    text = scenario.model_dump_json(by_alias=True, exclude={"capture"})
    return hashlib.sha256(text.encode()).digest()


def _equal_in_meaning(variant: Variant, first: Variant) -> list[Fault]:
    """Return the fault of a variant that says what an earlier one says in other words."""
    of_first = first.values
    axes = (axis for axis, value in variant.values.items() if value != of_first.get(axis))
    axis = next(axes, None)
    if axis is None:
        return []  # it is the first, or has equal values, which the matrix reports
    earlier = "the combination without it"
    if axis in of_first:
        there = first.marks[axis]
        earlier = f"{shown(of_first[axis])} at line {there.line}, column {there.column}"
    text = f"{shown(variant.values[axis])} means the same as {earlier}: two variants are equal"
    return [variant.marks[axis].fault(text)]


def _loaded(variant: Variant, scenario: Scenario, modules: Modules) -> LoadedVariant:
    """Return a validated variant, whose values show no folder of the author."""
    values, sets = variant.values, variant.sets
    if any(map(may_name_files, (values, *sets.values()))):
        resolved = scenario.model_dump(mode="json", by_alias=True, exclude_none=True)
        values = values_in(values, resolved, place_of)
        sets = {axis: values_in(axis_sets, resolved, place_of) for axis, axis_sets in sets.items()}
    values = _with_kernel(values, scenario)
    sets = {axis: _with_kernel(axis_sets, scenario) for axis, axis_sets in sets.items()}
    return LoadedVariant(values, sets, scenario, variant.tree, modules)


def _with_kernel(values: dict[str, object], scenario: Scenario) -> dict[str, object]:
    """Return values by path in which a kernel shows no folder of the author."""
    kernel = scenario.kernel
    if kernel is None or KEY not in values:
        return values
    is_text = isinstance(values[KEY], str)
    shown_as = kernel.choice.text if is_text else kernel.model_dump(mode="json", exclude_none=True)
    return {**values, KEY: shown_as}


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
