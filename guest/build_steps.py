"""The steps from a kernel source to a built guest kernel; the log has the output of each."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TextIO

from guest import git_source
from guest.cache import sha256
from guest.choice import DEFAULT, KernelChoice, PatchFile
from guest.patch_series import Patch, series_text
from guest.source import SOURCE_VARIABLE, Source
from guest.step_runner import run_step
from orchestrator.errors import KernelBuildError

COMPILE_LINES = 1530
"""Lines that the compilation of 6.12 prints with our configuration; used for the progress only."""

_OR = "# or "
"""What a line of the fragment begins with that takes the place of the one before it."""

FAILURE_LINES = 15
"""Lines of the log that an error repeats."""

TREE_PARTS = ("Makefile", "Kbuild", ".config", "Module.symvers", "scripts", "include", "arch/um",
              "arch/x86")  # fmt: skip
"""Parts of the tree that an out-of-tree module build reads: 80 MB of 1.9 GB."""


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


class Build:
    """One build in the folder ``workshop``, which must be empty.

    ``held`` are descriptors of locks that every process of the build has open.
    """

    def __init__(
        self, workshop: Path, log: Path, progress: Progress, held: Sequence[int] = ()
    ) -> None:
        self.tree = workshop / "tree"
        self.result = workshop / "result"
        self.log = log
        self.held = held
        self.progress = progress
        self.origin = ""
        self.patches: dict[str, str | None] = {}
        self.choice = DEFAULT
        self.began_s = time.monotonic()

    def make(
        self,
        source: Source,
        patches: Sequence[Patch],
        fragment: str,
        choice: KernelChoice = DEFAULT,
    ) -> Path:
        """Build the kernel and return the folder with all its files.

        What the choice takes out and adds comes first, as it was made for the source itself.

        Raises:
            KernelBuildError: a required patch does not apply, an option is not available, or a step
                failed.
        """
        self.origin = (
            str(source.path) if source.commit is None else f"{source.path}@{source.commit}"
        )
        self.choice = choice
        with self.log.open("w") as log:
            self._unpack(source, log)
            for change in choice.reverts:
                self._change(change, "--reverse", log)
            for change in choice.patches:
                self._change(change, "--forward", log)
            for patch in patches:
                self._patch(patch, source, log)
            self._name_release(source)
            self._configure(fragment, log)
            self._compile(log)
            self.progress("installing the guest kernel", None)
            self._install()
        return self.result

    def describe(self, result: Path) -> dict[str, Any]:
        """Return the manifest of a finished build, ready for JSON."""
        return {
            "release": (result / "tree/include/config/kernel.release").read_text().strip(),
            "linux_sha256": sha256(result / "linux"),
            "modules_sha256": {
                module.stem: sha256(module) for module in sorted((result / "modules").iterdir())
            },
            "source": self.origin,
            "patches": self.patches,
            **self._changes(),
            "build_s": round(time.monotonic() - self.began_s, 1),
        }

    def _changes(self) -> dict[str, Any]:
        """Return what the choice changes, by what the manifest calls it; empty without any."""
        changes: dict[str, Any] = {
            "added": [file.name for file in self.choice.patches],
            "taken_out": [file.name for file in self.choice.reverts],
            "options": dict(self.choice.config),
        }
        return {name: value for name, value in changes.items() if value}

    def _change(self, change: PatchFile, direction: str, log: TextIO) -> None:
        """Apply a user's patch to the source, or take one out of it."""
        forward = direction == "--forward"
        self.progress(f"{'applying' if forward else 'taking out'} {change.name}", None)
        file = self.tree.parent / "change.patch"
        file.write_bytes(change.content)
        command = ["patch", "-p1", "--batch", direction, f"--input={file}"]
        try:
            self._run(command, log)
        except StepFailedError as error:
            what = "does not apply to" if forward else "cannot be taken out of"
            raise KernelBuildError(
                f"{change.name} {what} {self.origin}\n{error.tail}",
                "give a patch that `patch -p1` takes for this source",
            ) from error

    def _unpack(self, source: Source, log: TextIO) -> None:
        if source.commit is not None:
            self._unpack_commit(source, source.commit, log)
            return
        if source.is_tree:
            self.progress(f"copying {source.path}", None)
            shutil.copytree(
                source.path, self.tree, symlinks=True, ignore=shutil.ignore_patterns(".git")
            )
            self._make(["mrproper"], log)  # a tree may have been built for something else
            return
        self.progress(f"unpacking {source.path}", None)
        self.tree.mkdir()
        unpack = ["tar", "--extract", "--strip-components=1", "--no-same-owner"]
        try:
            self._run([*unpack, f"--file={source.path}", f"--directory={self.tree}"], log)
        except StepFailedError as error:
            raise KernelBuildError(
                f"{source.path} does not unpack\n{error.tail}",
                f"let {SOURCE_VARIABLE} name a kernel tree or its tarball",
            ) from error
        if not (self.tree / "Kbuild").is_file():
            raise KernelBuildError(
                f"{source.path} does not unpack to a kernel tree",
                f"let {SOURCE_VARIABLE} name a kernel tree or its tarball",
            )

    def _unpack_commit(self, source: Source, commit: str, log: TextIO) -> None:
        self.progress(f"unpacking {self.origin}", None)
        self.tree.mkdir()
        archive = self.tree.parent / "commit.tar"
        try:
            self._run(git_source.archive_command(source.path, commit, archive), log)
            self._run(["tar", "--extract", "--no-same-owner", f"--file={archive}"], log)
        except StepFailedError as error:
            raise KernelBuildError(
                f"{self.origin} does not unpack\n{error.tail}", "name a whole clone of Linux"
            ) from error
        archive.unlink()
        if not (self.tree / "Kbuild").is_file():
            raise KernelBuildError(
                f"{self.origin} has no kernel tree", "name a revision of a clone of Linux"
            )

    def _patch(self, patch: Patch, source: Source, log: TextIO) -> None:
        """Apply the first of a patch's files that fits, or leave out one that may be missing."""
        self.progress(f"applying {patch.name}", None)
        command = ["patch", "-p1", "--batch", "--forward"]
        problems = []
        for file in patch.files:
            try:
                self._run([*command, "--dry-run", f"--input={file}"], log)
            except StepFailedError as error:
                problems.append(f"for {series_text(file)}:\n{error.tail}")
                continue
            self._run([*command, f"--input={file}"], log)
            self.patches[patch.name] = series_text(file)
            return
        if patch.is_required:
            raise KernelBuildError(
                f"{patch.name} does not apply to {source.path}\n" + "\n".join(problems),
                f"let {SOURCE_VARIABLE} name a source that it fits, such as Linux 6.12, or add "
                f"{patch.files[0].parent}/SERIES/{patch.files[0].name} for this one",
            )
        self.patches[patch.name] = None

    def _configure(self, text: str, log: TextIO) -> None:
        self.progress("configuring the guest kernel", None)
        self._make(["defconfig"], log)
        fragment = self.tree.parent / "kernel.config"
        fragment.write_text(text)
        self._run(["scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment)], log)
        if self.choice.config:
            text = self._with_options(self.choice.options, text, log)
        self._make(["olddefconfig"], log)
        lost = lost_options(text, self._config())
        instead = [other for line, other in alternatives(text).items() if line in lost]
        if instead:
            others = self.tree.parent / "instead.config"
            others.write_text("".join(f"{line}\n" for line in instead))
            self._run(["scripts/kconfig/merge_config.sh", "-m", ".config", str(others)], log)
            self._make(["olddefconfig"], log)
            lost = [line for line in lost_options(text, self._config())
                    if alternatives(text).get(line) not in instead]  # fmt: skip
            lost += lost_options(others.read_text(), self._config())
        if lost:
            raise KernelBuildError(
                f"this kernel source lacks options of {fragment.name}: {', '.join(lost)}",
                f"let {SOURCE_VARIABLE} name a Linux 6.12 source, or change guest/{fragment.name}",
            )

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
            (self.tree / "localversion-guest").write_text("".join(words) + "\n")

    def _with_options(self, options: str, text: str, log: TextIO) -> str:
        """Set options, which win over the fragment's; return the options that are wanted then."""
        own = self.tree.parent / "own.config"
        own.write_text(options)
        self._run(["scripts/kconfig/merge_config.sh", "-m", ".config", str(own)], log)
        names = {_option_of(line) for line in wanted_options(options)}
        kept: list[str] = []
        for before, line in pairwise(["", *text.splitlines()]):
            other = line.startswith(_OR)  # it goes with the line that it takes the place of
            if _option_of(before if other else line) not in names:
                kept.append(line)
        return "\n".join([*kept, options])

    def _config(self) -> str:
        return (self.tree / ".config").read_text()

    def _compile(self, log: TextIO) -> None:
        lines = 0

        def count(_line: str) -> None:
            nonlocal lines
            lines += 1
            self.progress("compiling the guest kernel", min(lines / COMPILE_LINES, 0.99))

        jobs = len(os.sched_getaffinity(0))
        self._make([f"-j{jobs}", "linux", "modules"], log, count)

    def _install(self) -> None:
        """Collect the files to keep; the tree is not needed any more, so its parts are moved."""
        modules = self.result / "modules"
        modules.mkdir(mode=0o755, parents=True)
        for module in sorted(self.tree.rglob("*.ko")):
            module.rename(modules / module.name)
        shutil.copy2(self.tree / ".config", self.result / "config")
        for name in ("linux", "System.map"):
            shutil.copy2(self.tree / name, self.result / name)
        for name in TREE_PARTS:
            kept = self.result / "tree" / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).rename(kept)
        for part in ("include", "arch"):
            for pattern in ("*.o", "*.a", ".*.cmd"):
                for leftover in (self.result / "tree" / part).rglob(pattern):
                    leftover.unlink()

    def _make(
        self, targets: Sequence[str], log: TextIO, each_line: Callable[[str], None] | None = None
    ) -> None:
        try:
            self._run(["make", "ARCH=um", *targets, *compilers()], log, each_line)
        except StepFailedError as error:
            raise KernelBuildError(
                f"make ARCH=um {' '.join(targets)} failed\n{error.tail}",
                f"see {self.log} for the whole log",
            ) from error

    def _run(
        self, argv: Sequence[str], log: TextIO, each_line: Callable[[str], None] | None = None
    ) -> None:
        """Run one step to its end; the step also ends when the builder is interrupted or killed.

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

        ccache = {
            "CCACHE_DIR": str(self.tree.parents[1] / "ccache"),
            "CCACHE_MAXSIZE": "1G",
            # All files of a tree are as new as the build.
            "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
        }
        if run_step(argv, take, {**environment(), **ccache}, self.tree, self.held):
            log.flush()
            raise StepFailedError("".join(f"  {line}" for line in last).rstrip())


class StepFailedError(Exception):
    """The exit status of a step was not 0; ``tail`` is the end of its output, indented."""

    def __init__(self, tail: str) -> None:
        self.tail = tail
        super().__init__(tail)
