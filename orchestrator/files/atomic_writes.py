"""Writes files and folders that appear complete or not at all."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.errors import MachineError, UsageError
from orchestrator.files.system_errors import unwritable
from orchestrator.files.temporary import temporary_folder


def write_all(
    targets: Sequence[Path], force: bool, write: Callable[[Sequence[Path]], None]
) -> None:
    """Write new files and put them into the places of ``targets``, each complete or not at all.

    Raises:
        UsageError: one exists already (unless ``force``), or they cannot be written there.
    """
    existing = [str(target) for target in targets if target.exists()]
    if existing and not force:
        raise UsageError(
            f"{', '.join(existing)}: exists already and is not overwritten without --force"
        )
    require_folder(targets[0])
    try:
        with temporary_folder("export", targets[0].absolute().parent) as folder:
            drafts = [folder / target.name for target in targets]
            write(drafts)
            for draft, target in zip(drafts, targets, strict=True):
                draft.replace(target)
    except (OSError, MachineError) as error:
        raise unwritable(targets[0], error) from error


def require_folder(target: Path) -> None:
    """Require that the folder exists that the target is to be made in.

    Raises:
        UsageError: it does not.
    """
    folder = target.absolute().parent
    try:
        folder.stat()
    except FileNotFoundError:
        raise UsageError(
            f"{target}: cannot be written: the folder {target.parent} does not exist\n"
            f"  fix: make it by `mkdir -p {shlex.quote(str(target.parent))}`, or name another one"
        ) from None
    except OSError:
        return  # what is written next explains it


def write_folder(target: Path, last: str, force: bool, write: Callable[[Path], None]) -> None:
    """Write a folder that appears complete or not at all.

    ``write`` fills an empty folder. With ``force`` the files of a folder that is there already are
    replaced one by one, each complete, and the file ``last`` after all others. Other files in it
    stay.

    Raises:
        UsageError: it exists already and is not empty (unless ``force``), or cannot be written.
    """
    require_folder(target)
    try:
        there = target.exists() and (not target.is_dir() or any(target.iterdir()))
        if there and not (force and target.is_dir()):
            raise UsageError(f"{target}: exists already and is not overwritten without --force")
        with temporary_folder("export", target.absolute().parent) as folder:
            draft = folder / "draft"
            draft.mkdir()
            write(draft)
            if not there:
                draft.replace(target)  # takes the place of an empty folder, too
                return
            files = sorted(path for path in draft.rglob("*") if path.is_file())
            for path in sorted(files, key=lambda path: path == draft / last):
                final_path = target / path.relative_to(draft)
                final_path.parent.mkdir(parents=True, exist_ok=True)
                path.replace(final_path)
    except (OSError, MachineError) as error:
        raise unwritable(target, error) from error
