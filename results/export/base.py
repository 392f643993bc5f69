"""The declaration of formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_all
from results.store.stored import StoredRun
from results.traces.places import TraceChoice

Writer = Callable[[StoredRun, Sequence[Path]], None]
"""Writes a run into new files, one for each of the format's parts."""

TraceWriter = Callable[[StoredRun, Sequence[Path], TraceChoice], None]
"""Writes a part of a run's trace into new files, one for each of the format's parts."""


@dataclass(frozen=True)
class ExportFormat:
    """A format: its name, the parts it writes beside FILE ('' is FILE itself), its description.

    ``without_samples`` tells whether it has something to say of a run that did not end well.
    ``write_trace`` is of a format that has a part of a trace, and None of the others.
    """

    name: str
    parts: tuple[str, ...]
    description: str
    write: Writer
    without_samples: bool = False
    write_trace: TraceWriter | None = None


FORMATS: dict[str, ExportFormat] = {}
"""Every format by name."""


def export_format(
    name: str, parts: Sequence[str] = ("",), *, without_samples: bool = False
) -> Callable[[Writer], Writer]:
    """Register the decorated function as a format; its docstring describes it to users."""

    def register(write: Writer) -> Writer:
        description = write.__doc__ or ""
        _add(ExportFormat(name, tuple(parts), description, write, without_samples))
        return write

    return register


def trace_format(name: str) -> Callable[[TraceWriter], TraceWriter]:
    """Register the decorated function as a format of one file that has a part of a trace."""

    def register(write: TraceWriter) -> TraceWriter:
        def write_default(run: StoredRun, paths: Sequence[Path]) -> None:
            write(run, paths, TraceChoice())

        _add(ExportFormat(name, ("",), write.__doc__ or "", write_default, write_trace=write))
        return write

    return register


def _add(made: ExportFormat) -> None:
    if made.name in FORMATS:
        raise TypeError(f"format {made.name} is registered twice")
    FORMATS[made.name] = made


def export(
    run: StoredRun,
    name: str,
    path: Path,
    force: bool = False,
    choice: TraceChoice | None = None,
) -> list[Path]:
    """Write a run to ``path`` and the format's other parts beside it; return the files written.

    ``choice`` is for formats that have a part of a trace, and others do not look at it.

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

    def write(drafts: Sequence[Path]) -> None:
        if choice is not None and chosen.write_trace is not None:
            chosen.write_trace(run, drafts, choice)
        else:
            chosen.write(run, drafts)

    write_all(targets, force, write)
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
