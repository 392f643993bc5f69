"""Groups stored runs into experiments.

The runs of an experiment have one name, one ``experiment_sha256`` (see
``orchestrator.planning.identity``), one link model, one kernel, and for no kernel module two
different files. Where an axis names kernels, that is so for each of its values. In runs that do not
know their ``experiment_sha256``, the hash of the scenario's text and the axes take its place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.units import shown
from results.matrix.axes import Axis, axes
from results.matrix.axes import key as key_of
from results.records.model import RunRow
from results.store.store import Store

SHOWN_CHARACTERS = 8
"""Length of an identity where people read it."""


@dataclass
class Experiment:
    """Runs that belong together, oldest first.

    ``key`` has what identifies the scenario, the link model and the back end; it is empty for runs
    that :func:`of_rows` puts together. ``kernels`` has what identifies each kernel, and ``modules``
    the SHA-256 of each kernel module that a run has loaded, by name. Their keys are the kernels
    that axes name, as :func:`kernel_named` gives them.
    """

    name: str
    key: tuple[Any, ...]
    rows: list[RunRow] = field(default_factory=list)
    modules: dict[str, dict[str, str]] = field(default_factory=dict)
    kernels: dict[str, str] = field(default_factory=dict)
    _axes: tuple[int, list[Axis]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """The number of rows that these axes are of, and the axes."""

    @property
    def identity(self) -> str:
        """The hash, in hexadecimal, of all that its runs have in common."""
        if self.kernels.keys() | self.modules.keys() <= {NOT_NAMED}:  # as before axes named kernels
            loaded = self.modules.get(NOT_NAMED, {})
            known = [self.name, *self.key, self.kernels.get(NOT_NAMED), sorted(loaded.items())]
        else:
            modules = {named: sorted(files.items()) for named, files in self.modules.items()}
            known = [self.name, *self.key, sorted(self.kernels.items()), sorted(modules.items())]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    @property
    def label(self) -> str:
        """The name and the start of the identity, as ``NAME@HASH``."""
        return f"{self.name}@{self.identity[:SHOWN_CHARACTERS]}"

    def axes(self) -> list[Axis]:
        """Return the axes of its runs, in the order of the scenario."""
        if self._axes is None or self._axes[0] != len(self.rows):
            self._axes = (
                len(self.rows),
                axes([row.variant for row in self.rows], [row.variant_sets for row in self.rows]),
            )
        return list(self._axes[1])

    @property
    def newest(self) -> RunRow:
        """The run that began last."""
        return self.rows[-1]

    @property
    def complete(self) -> int:
        """The number of its variants and repetitions that have a run that ended well."""
        return len(self.counting())

    def counting(self) -> list[RunRow]:
        """Return the newest run that ended well of each variant, repetition and seed.

        A run that was made again, as ``run --verify`` does, counts once.
        """
        newest = {
            (variant_key, row.repetition, row.seed): row
            for variant_key, rows in self.variants().items()
            for row in rows
            if row.status == "ok"
        }
        ids = {row.id for row in newest.values()}
        return [row for row in self.rows if row.id in ids]

    def standing(self) -> list[RunRow]:
        """Return its runs without failed and interrupted attempts that another run replaces."""
        ids = {row.id for rows in self.variants().values() for row in standing(rows)}
        return [row for row in self.rows if row.id in ids]

    @property
    def running(self) -> bool:
        """Tell whether a run of it is in progress."""
        return any(row.status == "running" for row in self.rows)

    def doubtful(self) -> frozenset[str]:
        """Return the ids of its doubtful runs, which means have."""
        return frozenset(row.id for row in self.rows if row.verdict == "doubtful")

    def variants(self) -> dict[str, list[RunRow]]:
        """Return the runs of each variant, by what ``axes.key`` makes of it."""
        keys: dict[int, str] = {}  # runs share the mappings of their variants
        by_key: dict[str, list[RunRow]] = {}
        for row in self.rows:
            if (identity := id(row.variant)) not in keys:
                keys[identity] = key_of(dict(row.variant))
            by_key.setdefault(keys[identity], []).append(row)
        return by_key

    def can_have(self, named: str, kernel: str | None, modules: Mapping[str, str]) -> bool:
        """Tell whether a run with that kernel and those modules can belong to it."""
        ours, known = self.kernels.get(named), self.modules.get(named, {})
        return (kernel is None or ours is None or kernel == ours) and all(
            known.get(name, sha256) == sha256 for name, sha256 in modules.items()
        )

    def add(self, row: RunRow, named: str, kernel: str | None, modules: Mapping[str, str]) -> None:
        """Add a run that :meth:`can_have` allows."""
        self.rows.append(row)
        self.modules.setdefault(named, {}).update(modules)
        if kernel is not None:
            self.kernels.setdefault(named, kernel)


NOT_NAMED = ""
"""The key of what runs have whose kernel no axis names."""


def kernel_named(row: RunRow) -> str:
    """Return what the axes of a run say of its kernel as JSON, NOT_NAMED where they say nothing."""
    said = {
        path: value
        for values in (row.variant, *row.variant_sets.values())
        for path, value in values.items()
        if path.split(".")[0] == "kernel"
    }
    return json.dumps(said, sort_keys=True) if said else NOT_NAMED


def standing(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs of a variant without failed and interrupted ones that another replaces.

    A run of the same repetition that ended well replaces them, as ``run --resume`` makes it. So
    does one in progress. Of several that did not end well the newest stands. ``rows`` are oldest
    first.
    """
    last: dict[tuple[int, int], RunRow] = {}
    for row in rows:
        place = row.repetition, row.seed
        if place not in last or last[place].status != "ok" or row.status == "ok":
            last[place] = row
    return [row for row in rows if row.status == "ok" or row is last[row.repetition, row.seed]]


def experiments(store: Store, name: str | None = None) -> list[Experiment]:
    """Return the experiments of a store, or those of a name, by the time of their first runs.

    A run without a kernel (it failed before it had one) belongs to the newest one that it fits.
    """
    by_key: dict[tuple[Any, ...], list[Experiment]] = {}
    ordered: list[Experiment] = []
    kernels = store.provenance_values("guest_kernel", name)
    modules = store.provenance_values("modules", name)
    known: dict[tuple[Any, ...], Experiment] = {}
    for row in store.list_runs(name):
        guest, loaded = kernels.get(row.id), modules.get(row.id)
        key = (row.experiment, _scenario(row), row.link_model, row.backend)
        of_identity = by_key.setdefault(key, [])
        # Runs share equal provenance. A run that is like an earlier one belongs where that does,
        # unless there is a newer experiment that it may fit.
        named = kernel_named(row)
        like = (*key, named, row.kernel, id(guest), id(loaded))
        if of_identity and known.get(like) is of_identity[-1]:
            of_identity[-1].rows.append(row)
            continue
        kernel, files = _kernel(row, guest), _modules(loaded)
        fitting = [one for one in of_identity if one.can_have(named, kernel, files)]
        if not fitting:
            fitting = [Experiment(row.experiment, key[1:])]
            of_identity.append(fitting[0])
            ordered.append(fitting[0])
        fitting[-1].add(row, named, kernel, files)
        known[like] = fitting[-1]
    return ordered


def find(
    store: Store, text: str, known: Sequence[Experiment] | None = None
) -> tuple[Experiment, list[Experiment]]:
    """Return the experiment that ``NAME`` or ``NAME@HASH`` names, and the others that it may mean.

    A name alone means the experiment that :func:`main` returns. HASH may be shortened. ``known``
    are the store's experiments of that name, if they were read already.

    Raises:
        UsageError: there is none, or several have that HASH.
    """
    name, at, start = _parts(text)
    if at and not start:
        raise UsageError(f"{shown(text)} has no hash: write {shown(name)} or {shown(name)}@HASH")
    there = experiments(store, name) if known is None else known
    matches = [
        experiment
        for experiment in there
        if experiment.name == name and experiment.identity.startswith(start)
    ]
    if not matches:
        raise UsageError(_unknown(store, text, name if at else None, experiments(store)))
    if at and len(matches) > 1:
        labels = ", ".join(
            f"{experiment.name}@{experiment.identity[:16]}" for experiment in matches
        )
        raise UsageError(f"several experiments are {text}: {labels}")
    chosen = main(matches)
    return chosen, [experiment for experiment in matches if experiment is not chosen]


def main(candidates: Sequence[Experiment]) -> Experiment:
    """Return the experiment that a name means where several have it, of at least one.

    It is the one with the most runs that ended well, each variant and repetition counted once. Of
    several with as many it is the one with the newest run. So a run of one variant, or with
    ``--set``, does not take the place of the sweep that it was tried for.
    """
    return max(
        candidates, key=lambda experiment: (experiment.complete, experiment.newest.started_utc)
    )


def choice(chosen: Experiment, others: Sequence[Experiment]) -> str:
    """Return which of several experiments was taken, and what the others are."""
    listed = ", ".join(f"{experiment.label} ({experiment.complete})" for experiment in others)
    most = chosen.complete > max(experiment.complete for experiment in others)
    why = "the most runs that ended well" if most else "the newest run of those with the most"
    return f"{chosen.label} is taken: it has {why} ({chosen.complete}); there are also {listed}"


def of_rows(name: str, rows: Sequence[RunRow]) -> Experiment:
    """Return some runs as an experiment of that name, whatever they are of."""
    return Experiment(name, (), list(rows))


def name_of(text: str) -> str:
    """Return the name in ``NAME`` or ``NAME@HASH``."""
    return _parts(text)[0]


def _parts(text: str) -> tuple[str, str, str]:
    return text.rpartition("@") if "@" in text else (text, "", "")


def of_runs(store: Store, ids: Sequence[str]) -> Experiment:
    """Return the experiment of the last of these runs that the store has.

    They may be of several if kernel or modules changed between them.

    Raises:
        UsageError: the store has none of them.
    """
    for run_id in reversed(ids):
        for experiment in experiments(store):
            if any(row.id == run_id for row in experiment.rows):
                return experiment
    raise UsageError(f"{store.path} has none of the runs {', '.join(ids)}")


def _unknown(store: Store, text: str, name: str | None, there: Sequence[Experiment]) -> str:
    same = [experiment.label for experiment in there if experiment.name == name]
    valid = same or list(dict.fromkeys(experiment.name for experiment in there))
    listed = f"there are {', '.join(valid)}" if valid else "it has no runs yet"
    for experiment in there:
        if any(row.id == text for row in experiment.rows):
            return f"{text} in {store.path} is a run; its experiment is {experiment.label}"
    return f"there is no experiment {text} in {store.path}; {listed}"


def _scenario(row: RunRow) -> str:
    if row.experiment_sha256 is not None:
        return row.experiment_sha256
    return f"{row.scenario_sha256} {' '.join(sorted(row.variant))}"


def _kernel(row: RunRow, guest: Any) -> str | None:
    """Return what identifies a kernel: the sources of a guest's, or a real machine's release.

    Digests do not depend on the compiler, so it makes no other kernel.
    """
    inputs = guest.get("inputs") if isinstance(guest, Mapping) else None
    if isinstance(inputs, Mapping):
        sources = {name: value for name, value in inputs.items() if name != "compiler"}
        return json.dumps([row.kernel, sources], sort_keys=True)
    return row.kernel


def _modules(provenance: Any) -> dict[str, str]:
    """Return the hash of each module that a run has loaded: of a user's that of its sources."""
    if not isinstance(provenance, Mapping):
        return {}
    return dict(_hashes(provenance))


def _hashes(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, entry in provenance.items():
        own = isinstance(entry, Mapping) and entry.get("sources_sha256")
        sha256 = own or (entry.get("sha256") if isinstance(entry, Mapping) else entry)
        if isinstance(sha256, str):
            yield name, sha256
