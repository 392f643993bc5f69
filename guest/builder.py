"""Builds an order's kernel: in the kept tree of an earlier build where one serves, else anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from guest import compiled, installing, kept_trees
from guest.build_steps import Build, Order, Progress
from guest.cache import sha256
from guest.confinement import Confine, Workshop
from guest.kept_trees import KeptTree, State
from guest.unpacking import unpack, unpack_changed
from orchestrator.errors import KernelBuildError
from orchestrator.files.temporary import remove_with_retries
from orchestrator.files.user_files import FileError


@dataclass
class Builder:
    """Builds one kernel in a workshop whose folder is empty.

    Attributes:
        workshop: where it is built.
        log: the file for the output of all steps.
        progress: called with each step.
        confine: opens the room of the steps.
        kept: the place of the tree for builds without the user's changes; None to keep none.
    """

    workshop: Workshop
    log: Path
    progress: Progress
    confine: Confine
    kept: KeptTree | None = None
    patches: dict[str, str | None] = field(default_factory=dict)
    began_s: float = field(default_factory=time.monotonic)

    def make(self, order: Order) -> Path:
        """Build the kernel, and return the folder with all its files.

        Raises:
            KernelBuildError: the source is no kernel's or does not build, or a patch does not
                apply.
            MachineError: the build cannot be confined here, or git fails.
        """
        result = self.workshop.folder / "result"
        keeps = self.kept is not None and not order.changes and order.source.changes_in_place
        with self.log.open("w") as log:
            if order.changes:
                self._with_changes(order, log)
            else:
                state = self._brought_up_to_date(order, log)
            self.progress("installing the guest kernel", None)
            installing.install(self.workshop.tree, result, keep=keeps)
            if keeps and self.kept is not None:
                self.kept.keep(self.workshop.tree, state)
        return result

    def describe(self, order: Order, result: Path) -> dict[str, Any]:
        """Return the manifest of a finished build, ready for JSON."""
        changes = {
            "added": [file.name for file in order.choice.patches],
            "taken_out": [file.name for file in order.choice.reverts],
            "options": dict(order.choice.config),
        }
        return {
            "release": installing.release(result),
            "linux_sha256": sha256(result / "linux"),
            "modules_sha256": {
                module.stem: sha256(module) for module in sorted((result / "modules").iterdir())
            },
            "source": order.origin,
            "patches": self.patches,
            **{name: value for name, value in changes.items() if value},
            "build_s": round(time.monotonic() - self.began_s, 1),
        }

    def _with_changes(self, order: Order, log: TextIO) -> None:
        """Build a source with the user's changes, on a copy of a tree without them if possible."""
        changed = _changed_in_kept_trees(order)
        if self.kept is not None and changed is not None and self._kept_without(order, log):
            self._changed(order, changed, log)
        else:
            self._anew(order, log, kept_trees.state_of(order.source))

    def _changed(self, order: Order, changed: set[str], log: TextIO) -> None:
        """Build the user's changes of some sources on a copy of the kept tree."""
        assert self.kept is not None
        tree = self.workshop.tree
        self.progress("copying what is needed of a built tree", None)
        self.kept.copy_needed(tree, changed)
        try:
            self._again_changed(order, log)
        except (
            KernelBuildError
        ) as error:  # which the sources that were left out may be the cause of
            print(f"in a part of the tree: {error}", file=log)
            remove_with_retries(tree)
            self.progress("copying a built tree", None)
            self.kept.copy(tree)
            self._again_changed(order, log)

    def _again_changed(self, order: Order, log: TextIO) -> None:
        compiled = self.workshop.folder / "own-compiled"  # little is compiled: a copy costs more
        compiled.mkdir(exist_ok=True)
        with self._room(order, log, compiled) as build:
            build.again(None)

    def _kept_without(self, order: Order, log: TextIO) -> bool:
        """Let the kept tree be that of the order without the user's changes, if that builds."""
        assert self.kept is not None
        now, before = kept_trees.state_of(order.source), self.kept.state()
        if before is not None and kept_trees.changed_files(before, now, order) == []:
            self.patches = before.patches
            return True
        try:
            state = self._brought_up_to_date(order.without_changes(), log)
        except KernelBuildError as error:  # what the changes may fix
            print(f"without the changes: {error}", file=log)
            remove_with_retries(self.workshop.tree)
            self.patches = {}
            return False
        self.kept.keep(self.workshop.tree, state)
        return True

    def _brought_up_to_date(self, order: Order, log: TextIO) -> State:
        """Build an order without the user's changes in the workshop's tree, and return its state.

        The kept tree is used if there is one that serves. It is gone then.
        """
        now = kept_trees.state_of(order.source)
        before = None if self.kept is None else self.kept.state()
        changed = None
        if before is not None:
            changed = kept_trees.changed_files(before, now, order)
        if self.kept is None or before is None or changed is None:
            if self.kept is not None:
                self.kept.drop()
            return self._anew(order, log, now)
        self.kept.take(self.workshop.tree)
        self.patches = before.patches
        try:
            folder = unpack_changed(order, self.workshop, changed, log)
        except FileError as error:
            raise KernelBuildError(str(error), "let its files be, and build again") from error
        with self._room(order, log) as build:
            build.again(folder)
        return replace(now, patches=before.patches, generated=before.generated)

    def _anew(self, order: Order, log: TextIO, now: State) -> State:
        """Build an order in a new tree, and return its state; ``now`` is that of the source."""
        unpack(order, self.workshop, log, self.progress)
        with self._room(order, log) as build:
            build.prepare()
            generated = kept_trees.missing(self.workshop.tree, now)
            build.anew()
            self.patches = build.patches
        return replace(now, patches=self.patches, generated=generated)

    @contextmanager
    def _room(self, order: Order, log: TextIO, own_compiled: Path | None = None) -> Iterator[Build]:
        workshop = self.workshop
        if own_compiled is not None:
            workshop = replace(workshop, compiled=own_compiled)
        elif order.changes:
            workshop = replace(workshop, compiled=compiled.copy(workshop.compiled, workshop.folder))
        with self.confine(workshop) as room:
            yield Build(order, workshop, room, log, self.progress)


def _changed_in_kept_trees(order: Order) -> set[str] | None:
    """Return the sources that the user's changes change; None if that needs a new tree.

    That is if more than sources changes, or what one of our patches changes.
    """
    names = kept_trees.touched_by_changes([change for _direction, change in order.changes])
    return None if names is None or names & kept_trees.touched(order.patches) else names
