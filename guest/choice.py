"""Which kernel a run or a command wants: a source, a revision of it, and what is changed there."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from guest.patch_series import series_of
from orchestrator.files.user_files import read

PATCH_ENDINGS = (".patch", ".diff")
MOST_PATCH_BYTES = 4_000_000
OPTION = re.compile(r"[A-Z0-9][A-Za-z0-9_]{0,99}", re.ASCII)
"""The name of an option of a kernel's configuration, without CONFIG_."""
REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]{0,199}", re.ASCII)
"""What git takes as a revision, without what it would take as an option."""

_PATCHES = re.compile(r"((?:\+[^+]+\.(?:patch|diff))*)$")


@dataclass(frozen=True)
class PatchFile:
    """A user's change of a kernel: the name of its file, and what it has."""

    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that is built on demand. Without any value it is the machine's default kernel.

    Attributes:
        source: a series such as "6.12", or what people read for ``path``.
        path: a tree or a tarball. None for a series, and for a path that this machine does not
            know, as that of a stored run.
        revision: a revision of the git repository at ``path``.
        patches: what is applied to the source, in this order.
        reverts: what is taken out of it before that, in this order.
        config: options of its configuration, such as ("HZ", "1000"), by their names.
        built_from: the inputs of the kernel that a stored run had, as JSON; see
            ``build.inputs_without_compiler``. A kernel in the cache with these inputs is taken
            first.
        is_foreign: the choice comes with stored runs, so that nothing of it but a series is built.
    """

    source: str | None = None
    path: Path | None = None
    revision: str | None = None
    patches: tuple[PatchFile, ...] = ()
    reverts: tuple[PatchFile, ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    built_from: str | None = None
    is_foreign: bool = False

    @property
    def text(self) -> str:
        """The choice in words of the command line, which name it to people."""
        revision = "" if self.revision is None else f"@{self.revision}"
        taken_out = "".join(f"-{file.name}" for file in self.reverts)
        added = "".join(f"+{file.name}" for file in self.patches)
        options = "".join(f" {name}={value}" for name, value in self.config)
        return f"{self.source or 'default'}{revision}{taken_out}{added}{options}"

    @property
    def is_changed(self) -> bool:
        """Whether the source is changed, or configured in another way."""
        return bool(self.patches or self.reverts or self.config)

    @property
    def changes_sha256(self) -> str:
        """The hash of patches and reverts, in hexadecimal; empty without any."""
        if not (self.patches or self.reverts):
            return ""
        total = hashlib.sha256()
        for sign, files in ((b"-", self.reverts), (b"+", self.patches)):
            for file in files:
                total.update(sign + len(file.content).to_bytes(8, "big") + file.content)
        return total.hexdigest()

    @property
    def difference_sha256(self) -> str:
        """The hash of all that is changed, the configuration included, in hexadecimal."""
        return hashlib.sha256((self.changes_sha256 + self.options).encode()).hexdigest()

    @property
    def options(self) -> str:
        """The lines of a configuration fragment that set its options."""
        return "".join(
            f"# CONFIG_{name} is not set\n" if value == "n" else f"CONFIG_{name}={value}\n"
            for name, value in self.config
        )


DEFAULT = KernelChoice()
"""What ORCHESTRATOR_KERNEL_SOURCE names, else Debian's package, else the pinned download."""


@dataclass(frozen=True)
class KernelText:
    """The parts of a kernel's name: SOURCE[@REVISION][+PATCH]..., as ~/linux@v6.15+fix.patch."""

    source: str
    revision: str | None
    patches: tuple[str, ...]


def parts_of(text: str, base: Path = Path()) -> KernelText:
    """Return the parts of a kernel's name, in which paths are relative to the folder ``base``.

    A file of that whole name is taken as it is, even with `@` or `+` in its path.
    """
    if (base / Path(text).expanduser()).exists():
        return KernelText(text, None, ())
    match = _PATCHES.search(text)
    added = "" if match is None else match[1]
    source, _at, revision = text.removesuffix(added).partition("@")
    return KernelText(source, revision or None, tuple(filter(None, added.split("+"))))


def absolute(text: str) -> str:
    """Return a kernel's name with absolute paths, as a command line means them."""
    parts = parts_of(text)
    source = parts.source
    if series_of(source) is None:
        source = str(Path(source).expanduser().absolute())
    revision = "" if parts.revision is None else f"@{parts.revision}"
    patches = (str(Path(patch).expanduser().absolute()) for patch in parts.patches)
    return source + revision + "".join(f"+{patch}" for patch in patches)


def of_text(text: str) -> KernelChoice:
    """Return the choice of a command line's KERNEL, with paths relative to the current folder.

    Raises:
        ValueError: a patch cannot be read, or the revision is none.
    """
    parts = parts_of(text)
    path = None if series_of(parts.source) else Path(parts.source).expanduser().absolute()
    if parts.revision is not None and not REVISION.fullmatch(parts.revision):
        raise ValueError(f"{parts.revision!r} is no revision of git")
    patches = tuple(
        PatchFile(Path(name).name, read(Path(name).expanduser(), MOST_PATCH_BYTES))
        for name in parts.patches
    )
    return KernelChoice(parts.source, path, parts.revision, patches)
