"""The declaration of formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_all
from results.store.stored import StoredRun

Writer = Callable[[StoredRun, Sequence[Path]], None]
"""Writes a run into new files, one for each of the format's parts."""


@dataclass(frozen=True)
class ExportFormat:
    """A format: its name, the parts it writes beside FILE ('' is FILE itself), its description.

    ``without_samples`` tells whether it has something to say of a run that did not end well.
    """

    name: str
    parts: tuple[str, ...]
    description: str
    write: Writer
    without_samples: bool = False


FORMATS: dict[str, ExportFormat] = {}
"""Every format by name."""


def export_format(
    name: str, parts: Sequence[str] = ("",), *, without_samples: bool = False
) -> Callable[[Writer], Writer]:
    """Register the decorated function as a format; its docstring describes it to users."""

    def register(write: Writer) -> Writer:
        if name in FORMATS:
            raise TypeError(f"format {name} is registered twice")
        description = write.__doc__ or ""
        FORMATS[name] = ExportFormat(name, tuple(parts), description, write, without_samples)
        return write

    return register


def export(run: StoredRun, name: str, path: Path, force: bool = False) -> list[Path]:
    """Write a run to ``path`` and the format's other parts beside it; return the files written.

    Raises:
        UsageError: there is no such format, the run has nothing for it, a file exists already
            (unless ``force``), or the files cannot be written there.
        StoreError: the run cannot be read.
    """
    if name not in FORMATS:
        raise UsageError(f"no format {name}; there are {', '.join(sorted(FORMATS))}")
    chosen = FORMATS[name]
    missing = no_samples(run)
    if missing and not chosen.without_samples:
        able = ", ".join(key for key, form in FORMATS.items() if form.without_samples)
        raise UsageError(f"{missing}: there is nothing to write as {name}; use {able}")
    targets = [
        path.with_name(f"{path.stem}.{part}{path.suffix}") if part else path
        for part in chosen.parts
    ]
    write_all(targets, force, lambda drafts: chosen.write(run, drafts))
    return targets


def no_samples(run: StoredRun) -> str:
    """Return why a run has no samples, in words; empty for a run that has some."""
    if run.status == "ok":
        return ""
    why = f" ({run.row.error.splitlines()[0]})" if run.row.error else ""
    return f"run {run.id} is {run.status}{why} and has no samples"


def unit(column: str) -> str:
    """Return the unit of a sample's column, 1 for flags and plain counts."""
    for suffix, name in (
        ("_bytes_per_s", "byte/s"), ("_bytes", "byte"), ("_segments", "segment"),
        ("_packets", "packet"), ("_ns", "ns"), ("_us", "us"), ("_us2", "us^2"), ("_ms", "ms"),
        ("_s", "s"),
    ):  # fmt: skip
        if column.endswith(suffix):
            return name
    for prefix, name in (
        ("bytes", "byte"), ("packets", "packet"), ("drops", "packet"), ("segs_", "segment"),
        ("data_segs_", "segment"),
    ):  # fmt: skip
        if column.startswith(prefix):
            return name
    return "1"
