"""Unpacks a kernel's source into the workshop of a build; nothing of the source is run."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from guest import build_steps, git_source
from guest.build_steps import Order, Progress, StepFailedError
from guest.confinement import Workshop
from guest.source import SOURCE_VARIABLE
from guest.step_runner import run_step
from orchestrator.errors import KernelBuildError
from orchestrator.files.temporary import remove_with_retries
from orchestrator.files.user_files import read_unlinked

MOST_SOURCE_BYTES = 2**26
"""Of one changed file."""


def unpack(order: Order, workshop: Workshop, log: TextIO, progress: Progress) -> None:
    """Make the workshop's tree, and fill it with the source.

    Raises:
        KernelBuildError: the source does not unpack, or is no kernel tree.
        MachineError: git fails.
    """
    source, tree = order.source, workshop.tree
    if source.commit is not None:
        progress(f"unpacking {order.origin}", None)
        tree.mkdir()
        _unpack_commit(order, workshop, tree, (), log)
        _require_kernel(order, workshop, "name a revision of a clone of Linux")
        return
    if source.is_tree:
        progress(f"copying {source.path}", None)
        shutil.copytree(source.path, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        return
    progress(f"unpacking {source.path}", None)
    tree.mkdir()
    unpack_tar = ["tar", "--extract", "--strip-components=1", "--no-same-owner"]
    fix = f"let {SOURCE_VARIABLE} name a kernel tree or its tarball"
    try:
        _run(workshop, [*unpack_tar, f"--file={source.path}", f"--directory={tree}"], log)
    except StepFailedError as error:
        raise KernelBuildError(f"{source.path} does not unpack\n{error.tail}", fix) from error
    _require_kernel(order, workshop, fix)


def unpack_changed(
    order: Order, workshop: Workshop, names: Sequence[str], log: TextIO
) -> Path | None:
    """Write some files of the source to a folder of the workshop, and return it; None without any.

    Raises:
        KernelBuildError, MachineError: as ``unpack``.
        FileError: a file of a tree cannot be read.
    """
    if not names:
        return None
    folder = workshop.inputs / "changed"
    if order.source.commit is not None:
        folder.mkdir(parents=True)
        _unpack_commit(order, workshop, folder, names, log)
    for name in names:
        if order.source.commit is None:
            content = read_unlinked(order.source.path / name, MOST_SOURCE_BYTES)
        else:
            content = read_unlinked(folder / name, MOST_SOURCE_BYTES)
        workshop.give(f"changed/{name}", content)
    return folder


def _unpack_commit(
    order: Order, workshop: Workshop, target: Path, names: Sequence[str], log: TextIO
) -> None:
    source, objects = order.source, workshop.folder / "git"
    assert source.commit is not None
    remove_with_retries(objects)
    command = git_source.unpack_command(source.path, source.commit, objects, target, names)
    try:
        _run(workshop, command, log)
    except StepFailedError as error:
        raise KernelBuildError(
            f"{order.origin} does not unpack\n{error.tail}",
            "name a whole clone of Linux; git fetch --refetch completes a partial one",
        ) from error


def _require_kernel(order: Order, workshop: Workshop, fix: str) -> None:
    if not (workshop.tree / "Kbuild").is_file():
        raise KernelBuildError(f"{order.origin} has no kernel tree", fix)


def _run(workshop: Workshop, argv: Sequence[str], log: TextIO) -> None:
    held = () if workshop.lock is None else (workshop.lock,)
    run = functools.partial(
        run_step,
        environment=build_steps.environment(),
        folder=workshop.folder,
        held=held,
    )
    build_steps.logged(lambda words, take: run(words, take), argv, log)
