"""The declaration of formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_all
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice

Writer = Callable[[StoredRun, Sequence[Path]], None]
"""Writes a run into new files, one for each of the format's parts."""

TraceWriter = Callable[[StoredRun, Sequence[Path], TraceChoice], None]
"""Writes a part of a run's trace into new files, one for each of the format's parts."""


@dataclass(frozen=True)
class ExportFormat:
    """A format: its name, the parts it writes beside FILE ('' is FILE itself), its description.

    ``without_samples`` tells whether it has something to say of a run that did not end well.
    ``write_trace`` is of a format that can have a part of a trace, whose files are
    ``trace_parts``. One that has ``write``, too, has it only of a trace that is named.
    ``at_places`` tells that it has what one place saw.
    """

    name: str
    parts: tuple[str, ...]
    description: str
    write: Writer | None
    without_samples: bool = False
    write_trace: TraceWriter | None = None
    trace_parts: tuple[str, ...] = ("",)
    at_places: bool = False

    def of_trace(self, choice: TraceChoice | None) -> TraceWriter | None:
        """Return what writes a part of a trace, if that is what a choice means."""
        named = choice is not None and choice.number is not None
        return self.write_trace if self.write is None or named else None


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


def trace_format(name: str, *, at_places: bool = False) -> Callable[[TraceWriter], TraceWriter]:
    """Register the decorated function as a format of one file that has a part of a trace."""

    def register(write: TraceWriter) -> TraceWriter:
        description = write.__doc__ or ""
        _add(ExportFormat(name, ("",), description, None, write_trace=write, at_places=at_places))
        return write

    return register


def also_of_traces(name: str, parts: Sequence[str]) -> Callable[[TraceWriter], TraceWriter]:
    """Let a format of runs have the decorated function for a trace that is named, too.

    Its docstring is added to the format's description.
    """

    def register(write: TraceWriter) -> TraceWriter:
        form = FORMATS[name]
        description = f"{form.description.rstrip()}\n\n{write.__doc__ or ''}"
        FORMATS[name] = replace(
            form, description=description, write_trace=write, trace_parts=tuple(parts)
        )
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

    ``choice`` is for formats that can have a part of a trace, and others do not look at it.

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
    write_trace = chosen.of_trace(choice)
    targets = [
        path.with_name(f"{path.stem}.{part}{path.suffix}") if part else path
        for part in (chosen.parts if write_trace is None else chosen.trace_parts)
    ]

    def write(drafts: Sequence[Path]) -> None:
        if write_trace is not None:
            write_trace(run, drafts, choice or TraceChoice())
        elif chosen.write is not None:
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
