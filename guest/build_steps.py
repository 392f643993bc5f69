"""The steps from a kernel source to a built guest kernel; the log has the output of each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TextIO

from guest import installing
from guest.choice import DEFAULT, KernelChoice, PatchFile
from guest.confinement import Room, Workshop
from guest.patch_series import Patch, series_text
from guest.source import SOURCE_VARIABLE, Source
from orchestrator.errors import KernelBuildError

COMPILE_LINES = 1530
"""Lines that the compilation of 6.12 prints with our configuration; used for the progress only."""

_OR = "# or "
"""What a line of the fragment begins with that takes the place of the one before it."""

FAILURE_LINES = 15
"""Lines of the log that an error repeats."""

_ON_REQUEST = {"HZ": Path(__file__).parent / "patches" / "on-request" / "hz-option.patch"}
"""Patches of ours that are applied only where a choice sets an option, by the option."""

MOST_COMPILED = "500M"
"""What ccache keeps of the builds of an origin: 80 MB for one kernel."""

COMPILER_FLAGS = (
    "-Wno-misleading-indentation -ftrack-macro-expansion=0"
    " -Wno-attribute-alias -Wno-tautological-compare"
)
"""Switches off work of gcc that serves only its warnings and messages: a second pass over the
sources for their indentation, and the origin of each token of a macro. With 6.12 and our
configuration modules are bit-identical. The kernel differs only in its build ID and in one line
number, that of a warning in __queue_work."""


class Progress(Protocol):
    """Called with each step, and the fraction of it that is done (0 to 1) where it is known."""

    def __call__(self, step: str, fraction: float | None) -> None:
        """Show the progress."""


def silent(step: str, fraction: float | None) -> None:
    """Ignore progress."""


def environment() -> dict[str, str]:
    """Return the environment of every step, without variables that could change the result."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "orchestrator",
        "KBUILD_BUILD_HOST": "guest",
        "KBUILD_BUILD_VERSION": "1",
        "KCFLAGS": COMPILER_FLAGS,
    }


def compilers() -> list[str]:
    """Return what make is told of the compilers: ccache where it is installed.

    With it, a tree of which little has changed since an earlier build compiles only that.
    """
    found = shutil.which("ccache", path=environment()["PATH"])
    return [] if found is None else ["CC=ccache gcc", "HOSTCC=ccache gcc"]


def requested_patches(choice: KernelChoice) -> list[PatchFile]:
    """Return the patches of ours that a choice's options need."""
    asked = dict(choice.config)
    return [
        PatchFile(file.name, file.read_bytes())
        for option, file in _ON_REQUEST.items()
        if option in asked
    ]


def wanted_options(fragment: str) -> list[str]:
    """Return the lines of a configuration fragment that set or unset an option."""
    return [
        line
        for line in fragment.splitlines()
        if line.startswith("CONFIG_")
        or (line.startswith("# CONFIG_") and line.endswith(" is not set"))
    ]


def alternatives(fragment: str) -> dict[str, str]:
    """Return the lines that take the place of others, by those that a kernel may lack."""
    lines = fragment.splitlines()
    return {
        line: after.removeprefix(_OR)
        for line, after in pairwise(lines)
        if after.startswith(_OR) and line in wanted_options(fragment)
    }


def lost_options(fragment: str, config: str) -> list[str]:
    """Return the lines of a configuration fragment that the final configuration lacks.

    ``# CONFIG_X is not set`` is also met when CONFIG_X is not mentioned.
    """
    final = set(config.splitlines())
    options_set = {line.partition("=")[0] for line in final if line.startswith("CONFIG_")}
    return [
        line
        for line in wanted_options(fragment)
        if (line not in final if line.startswith("CONFIG_") else line.split()[1] in options_set)
    ]


def _option_of(line: str) -> str:
    """Return the option that a line of a fragment sets or unsets, else an empty text."""
    return next((word for word in line.replace("=", " ").split() if word.startswith("CONFIG_")), "")


@dataclass(frozen=True)
class Order:
    """What is built: a source with our patches and a configuration, for a choice."""

    source: Source
    patches: Sequence[Patch]
    fragment: str
    choice: KernelChoice = DEFAULT

    @property
    def origin(self) -> str:
        """The source in words."""
        commit = self.source.commit
        return str(self.source.path) if commit is None else f"{self.source.path}@{commit}"

    @property
    def changes(self) -> list[tuple[str, PatchFile]]:
        """The user's reverts and patches in their order, with patch's option for each."""
        reverts = [("--reverse", file) for file in self.choice.reverts]
        return reverts + [("--forward", file) for file in self.choice.patches]

    def without_changes(self) -> Order:
        """Return the order of the same source and configuration without the user's changes."""
        return replace(self, choice=replace(self.choice, patches=(), reverts=()))


class Build:
    """The steps of a build in an open room; the log has the output of each."""

    def __init__(
        self, order: Order, workshop: Workshop, room: Room, log: TextIO, progress: Progress
    ) -> None:
        self.order = order
        self.workshop = workshop
        self.room = room
        self.log = log
        self.progress = progress
        self.origin, self.choice = order.origin, order.choice
        self.patches: dict[str, str | None] = {}

    def prepare(self) -> None:
        """Leave only sources in an unpacked tree, which may have been built for something else.

        Raises:
            KernelBuildError: a step failed.
        """
        if self.order.source.is_tree and self.order.source.commit is None:
            self._make(["mrproper"])

    def anew(self) -> None:
        """Build an unpacked source that is prepared.

        What the choice takes out and adds comes first, as it was made for the source itself.

        Raises:
            KernelBuildError: a required patch does not apply, an option is not available, or a step
                failed.
        """
        self.apply_changes()
        for patch in self.order.patches:
            self._patch(patch, self.order.source)
        self._name_release(self.order.source)
        self._configure(self.order.fragment)
        self._compile()

    def again(self, changed: Path | None) -> None:
        """Build a tree again that was built with the same configuration and patches of ours.

        ``changed`` is a folder of the workshop with new content of sources, None without any.

        Raises:
            KernelBuildError: the user's change does not apply, or a step failed.
        """
        if changed is not None:
            self._copy(changed)
        self.apply_changes()
        self._name_release(self.order.source)
        self._compile()

    def _copy(self, folder: Path) -> None:
        """Copy the files of a folder into the tree."""
        self._run(["cp", "--recursive", "--no-target-directory", self.room.shown(folder), "."])

    def apply_changes(self) -> None:
        """Apply the choice's reverts and patches; KernelBuildError if one does not apply."""
        for direction, change in self.order.changes:
            self._change(change, direction)

    def _change(self, change: PatchFile, direction: str) -> None:
        """Apply a user's patch to the source, or take one out of it."""
        forward = direction == "--forward"
        self.progress(f"{'applying' if forward else 'taking out'} {change.name}", None)
        file = self.room.shown(self.workshop.give("change.patch", change.content))
        command = ["patch", "-p1", "--batch", direction, f"--input={file}"]
        try:
            self._run(command)
        except StepFailedError as error:
            what = "does not apply to" if forward else "cannot be taken out of"
            raise KernelBuildError(
                f"{change.name} {what} {self.origin}\n{error.tail}",
                "give a patch that `patch -p1` takes for this source",
            ) from error

    def _patch(self, patch: Patch, source: Source) -> None:
        """Apply the first of a patch's files that fits, or leave out one that may be missing."""
        self.progress(f"applying {patch.name}", None)
        command = ["patch", "-p1", "--batch", "--forward"]
        problems = []
        for file in patch.files:
            given = self.room.shown(self.workshop.give("our.patch", file.read_bytes()))
            try:
                self._run([*command, "--dry-run", f"--input={given}"])
            except StepFailedError as error:
                problems.append(f"for {series_text(file)}:\n{error.tail}")
                continue
            self._run([*command, f"--input={given}"])
            self.patches[patch.name] = series_text(file)
            return
        if patch.is_required:
            raise KernelBuildError(
                f"{patch.name} does not apply to {source.path}\n" + "\n".join(problems),
                f"let {SOURCE_VARIABLE} name a source that it fits, such as Linux 6.12, or add "
                f"{patch.files[0].parent}/SERIES/{patch.files[0].name} for this one",
            )
        self.patches[patch.name] = None

    def _configure(self, text: str) -> None:
        self.progress("configuring the guest kernel", None)
        for patch in requested_patches(self.choice):
            self._change(patch, "--forward")
        self._make(["defconfig"])
        fragment = "kernel.config"
        self._merge(fragment, text)
        if self.choice.config:
            text = self._with_options(self.choice.options, text)
        self._make(["olddefconfig"])
        lost = lost_options(text, self._config())
        instead = [other for line, other in alternatives(text).items() if line in lost]
        if instead:
            others = "".join(f"{line}\n" for line in instead)
            self._merge("instead.config", others)
            self._make(["olddefconfig"])
            lost = [line for line in lost_options(text, self._config())
                    if alternatives(text).get(line) not in instead]  # fmt: skip
            lost += lost_options(others, self._config())
        asked = dict(self.choice.config)
        own = [line for line in lost if _option_of(line).removeprefix("CONFIG_") in asked]
        if own:
            raise KernelBuildError(
                f"this kernel cannot have these options of `config`: {', '.join(own)}",
                "leave them out, or set what they depend on, as the source's Kconfig files say",
            )
        if lost:
            raise KernelBuildError(
                f"this kernel source lacks options of {fragment}: {', '.join(lost)}",
                f"let {SOURCE_VARIABLE} name a Linux 6.12 source, or change guest/{fragment}",
            )

    def _merge(self, name: str, options: str) -> None:
        """Merge the options of a fragment of that name into the configuration."""
        fragment = self.room.shown(self.workshop.give(name, options.encode()))
        self._run(["scripts/kconfig/merge_config.sh", "-m", ".config", fragment])

    def _name_release(self, source: Source) -> None:
        """Let the release tell a changed kernel, and a tree's states apart.

        A release such as 6.15.0-g0123456789ab-01234567 names the commit, and the changes by the
        beginning of a hash. A file says so, and not CONFIG_LOCALVERSION: all of the kernel includes
        the configuration, so that ccache would have to look into each file.
        """
        words = []
        if source.commit is not None:
            words.append(f"-g{source.commit[:12]}")
        elif source.is_tree:
            words.append(f"-t{source.identity().removeprefix('tree:')[:8]}")
        if self.choice.is_changed:
            words.append(f"-{self.choice.difference_sha256[:8]}")
        if words:
            text = "".join(words) + "\n"
            file = self.workshop.give("name/localversion-guest", text.encode())
            self._copy(file.parent)

    def _with_options(self, options: str, text: str) -> str:
        """Set options, which win over the fragment's; return the options that are wanted then."""
        self._merge("own.config", options)
        names = {_option_of(line) for line in wanted_options(options)}
        kept: list[str] = []
        for before, line in pairwise(["", *text.splitlines()]):
            other = line.startswith(_OR)  # it goes with the line that it takes the place of
            if _option_of(before if other else line) not in names:
                kept.append(line)
        return "\n".join([*kept, options])

    def _config(self) -> str:
        tree = self.workshop.tree
        content = installing.content_of(tree, tree / ".config", installing.MOST_TEXT_BYTES)
        return content.decode(errors="replace")

    def _compile(self) -> None:
        lines = 0

        def count(_line: str) -> None:
            nonlocal lines
            lines += 1
            self.progress("compiling the guest kernel", min(lines / COMPILE_LINES, 0.99))

        jobs = len(os.sched_getaffinity(0))
        self._make([f"-j{jobs}", "linux", "modules"], count)

    def _make(self, targets: Sequence[str], each_line: Callable[[str], None] | None = None) -> None:
        try:
            self._run(["make", "ARCH=um", *targets, *compilers()], each_line)
        except StepFailedError as error:
            raise KernelBuildError(
                f"make ARCH=um {' '.join(targets)} failed\n{error.tail}",
                f"see {self.log.name} for the whole log",
            ) from error

    def _run(self, argv: Sequence[str], each_line: Callable[[str], None] | None = None) -> None:
        """Run one step to its end; the step also ends when the builder is interrupted or killed.

        Raises:
            StepFailedError: its exit status was not 0.
        """
        compiled = self.room.shown(self.workshop.compiled)
        ccache = {
            "CCACHE_DIR": compiled,
            "HOME": compiled,  # which ccache wants to know
            "CCACHE_MAXSIZE": MOST_COMPILED,
            "CCACHE_UMASK": "022",
            # All files of a tree are as new as the build.
            "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        }

        def run(words: Sequence[str], take: Callable[[str], None]) -> int:
            return self.room.run(words, take, {**environment(), **ccache})

        logged(run, argv, self.log, each_line)


def logged(
    run: Callable[[Sequence[str], Callable[[str], None]], int],
    argv: Sequence[str],
    log: TextIO,
    each_line: Callable[[str], None] | None = None,
) -> None:
    """Run one step to its end by ``run``, and write its output to the log.

    Raises:
        StepFailedError: its exit status was not 0.
    """
    print("+", *argv, file=log, flush=True)
    last: list[str] = []

    def take(line: str) -> None:
        nonlocal last
        log.write(line)
        last = [*last[1 - FAILURE_LINES :], line]
        if each_line is not None:
            each_line(line)

    if run(argv, take):
        log.flush()
        raise StepFailedError("".join(f"  {line}" for line in last).rstrip())


class StepFailedError(Exception):
    """The exit status of a step was not 0; ``tail`` is the end of its output, indented."""

    def __init__(self, tail: str) -> None:
        self.tail = tail
        super().__init__(tail)
