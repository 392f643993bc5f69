"""``orchestrator gc``: remove what no run needs, and give space back."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.application.stored.spare_traces import spare_traces
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.files import temporary
from results.store.store import Store
from results.store.upkeep import housekeeping
from results.wording import quantities


@click.command()
@click.option(
    "--failed",
    is_flag=True,
    help="Also remove runs that failed or were interrupted, unless they have a note or a tag.",
)
@click.option(
    "--traces",
    is_flag=True,
    help="Also remove traces that `zoom` can make again, unless their run has a note or a tag.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@shared.database
def command(failed: bool, traces: bool, dry_run: bool, db: Path) -> None:
    """Remove temporary folders of processes that were killed, and shrink the results database.

    Removed runs leave free space in the file. This gives it back to the file system. For a while it
    needs free space of up to twice the file's size. While a run is running, it is refused.

    \b
    orchestrator gc --failed --dry-run
    orchestrator gc --failed
    orchestrator gc --traces
    """
    opened = Store.open_read_only(db) if dry_run else Store.open_existing(db, StatusLine().say)
    with opened as store:
        housekeeping.require_no_running(store)
        _temporary(dry_run)
        if failed:
            bad, kept = housekeeping.ended_badly(store)
            if not dry_run:
                housekeeping.remove_runs(store, bad)
            done = "would be removed" if dry_run else "removed"
            stay = f"; {len(kept)} with notes or tags stay" if kept else ""
            terminal.line(
                f"failed and interrupted: {quantities.plural(len(bad), 'run')} {done}{stay}"
            )
        if traces:
            _traces(store, dry_run)
        if dry_run:
            size = megabytes(housekeeping.free_bytes(store))
            removed = [name for name, given in (("runs", failed), ("traces", traces)) if given]
            more = f", and what the removed {' and '.join(removed)} take" if removed else ""
            terminal.line(f"{db}: {size} would be given back{more}")
            return
        with StatusLine() as line:
            line.show(f"writing {db} anew")
            sizes = housekeeping.reclaim(store)
    before, after = megabytes(sizes.before_bytes), megabytes(sizes.after_bytes)
    freed = megabytes(sizes.before_bytes - sizes.after_bytes)
    terminal.line(f"{db}: {before} before, {after} now, {freed} given back")
    if not sizes.complete:
        terminal.line("another process reads the file; it shrinks when that process ends", err=True)


def megabytes(size_bytes: int) -> str:
    """Return a size in MB."""
    return f"{size_bytes / 1e6:.1f} MB"


def _traces(store: Store, dry_run: bool) -> None:
    """Remove traces that can be made again, and say how many stay."""
    spare = spare_traces(store)
    if not dry_run:
        housekeeping.remove_traces(store, spare.runs)
    done = "would be removed" if dry_run else "removed"
    stay = (
        f"; those of {len(spare.kept)} stay, which have notes or tags or cannot be made again"
        if spare.kept
        else ""
    )
    runs = quantities.plural(len(spare.runs), "run")
    terminal.line(f"traces: those of {runs}, {megabytes(spare.stored_bytes)} {done}{stay}")


def _temporary(dry_run: bool) -> None:
    """Remove temporary folders that no living process holds, and say how much that is."""
    root = temporary.temporary_root()
    if dry_run:
        abandoned = [
            (path, temporary.bytes_on_disk(path)) for path in temporary.find_abandoned(root)
        ]
    else:
        abandoned = temporary.remove_all_abandoned(root)
    size = megabytes(sum(size_bytes for _path, size_bytes in abandoned))
    done = "would be removed" if dry_run else "removed"
    folders = quantities.plural(len(abandoned), "folder")
    terminal.line(f"temporary data in {root}: {folders}, {size} {done}")
