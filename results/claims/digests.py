"""Whether runs of a claim are equal to the bit to those that its committed summaries are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from results.claims.record import Record, RecordedRun
from results.claims.stated.model import Design
from results.claims.values import UsedRun
from results.matrix.axes import key

Settings = tuple[str, tuple[str, ...]]
"""Scenario and overrides of a paper's experiment."""

Place = tuple[Settings, str, str, int, int]
"""Settings, the scenario's name, variant as JSON, repetition and seed of a run."""


@dataclass(frozen=True)
class DigestComparison:
    """Ids of the runs whose digest is the committed one, another one, and of which there is none.

    ``changed`` names the kernel or modules whose hash is another one than in the summaries. Another
    build may give the same digests, so this only helps to explain others. ``link_models`` are the
    models of the summaries that no run has. Runs of another model are equal where their digests
    are, so a summary stays valid for them.
    """

    equal: tuple[str, ...]
    other: tuple[str, ...]
    absent: tuple[str, ...]
    changed: tuple[str, ...]
    link_models: tuple[int, ...] = ()


def compare(
    used: Mapping[str, UsedRun],
    records: Iterable[Record],
    designs: Mapping[str, Design],
) -> DigestComparison | None:
    """Compare runs by their ids with summaries of one length; None if there is no summary.

    A summary whose experiments are set otherwise than ``designs`` says is left out: its runs are
    others.
    """
    there = [record for record in records if _as_now(record, designs)]
    if not there:
        return None
    committed: dict[Place, set[str | None]] = {}
    for record in there:
        for run in record.runs:
            place = (run.experiment, key(run.variant), run.repetition, run.seed)
            for settings in _settings(record, run):
                committed.setdefault((settings, *place), set()).add(run.digest)
    length = there[0].length
    equal: list[str] = []
    other: list[str] = []
    absent: list[str] = []
    for run_id, used_run in used.items():
        row = used_run.row
        design = designs[used_run.design]
        settings = (design.scenario, design.overrides(length))
        place = (row.experiment, key(dict(row.variant)), row.repetition, row.seed)
        known = committed.get((settings, *place))
        kind = absent if known is None else equal if row.digest in known else other
        kind.append(run_id)
    changed = _changed(used.values(), there)
    models = {model for record in there for model in record.link_models}
    models -= {run.row.link_model for run in used.values()}
    return DigestComparison(
        tuple(equal), tuple(other), tuple(absent), changed, tuple(sorted(models))
    )


def _settings(record: Record, run: RecordedRun) -> list[Settings]:
    """Return the settings that a recorded run may have: those of its design, if it has one."""
    return [
        (scenario, tuple(overrides))
        for name, (scenario, overrides) in record.experiments.items()
        if run.design in (None, name)
    ]


def _as_now(record: Record, designs: Mapping[str, Design]) -> bool:
    return all(
        name in designs
        and (designs[name].scenario, tuple(designs[name].overrides(record.length)))
        == (scenario, tuple(overrides))
        for name, (scenario, overrides) in record.experiments.items()
    )


def _changed(used: Iterable[UsedRun], records: Iterable[Record]) -> tuple[str, ...]:
    """Return the names of kernel and modules that a summary has with other hashes only."""
    kernels: set[str | None] = set()
    modules: dict[str, set[str]] = {}
    for record in records:
        kernels |= set(record.linux_sha256)
        for name, sha256 in record.modules.items():
            modules.setdefault(name, set()).add(sha256)
    names = set()
    for run in used:
        if run.linux_sha256 not in kernels:
            names.add("linux")
        names |= {
            name
            for name, sha256 in run.modules.items()
            if name in modules and sha256 not in modules[name]
        }
    return tuple(sorted(names))
