"""Builds the guest kernel, and finds a built one by a hash of all inputs.

The build follows Documentation/virt/uml/user_mode_linux_howto_v2.rst: ARCH=um defconfig, plus
``kernel.config``, plus the patches beside it. A built kernel is a folder of the cache::

    guest/<key>/linux            the kernel, an ordinary program
    guest/<key>/modules/*.ko     its modules, in one folder
    guest/<key>/config           .config as it was built
    guest/<key>/System.map
    guest/<key>/tree/            headers, Makefiles and Module.symvers: only what
                                 ``make -C tree M=DIR ARCH=um modules`` needs
    guest/<key>/manifest.json    release, hashes, inputs and build time
    guest/logs/<key>.log         the output of the build
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from guest import build_steps, cache, compiled, kept_trees, patch_series, source
from guest.build_steps import Order, Progress
from guest.builder import Builder
from guest.choice import DEFAULT, KernelChoice
from guest.confinement import Confine, Workshop, unconfined
from guest.kept_trees import KeptTree
from guest.source import Source
from orchestrator.errors import MachineError
from orchestrator.files.temporary import remove_with_retries

RECIPE_VERSION = 1
"""Version of the build steps; raise it when they build another kernel from the same inputs."""

FRAGMENT = Path(__file__).parent / "kernel.config"

TOOL_PACKAGES = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}
LIBC_HEADER = Path("/usr/include/stdio.h")
FREE_BYTES_NEEDED = 3 * 1000**3
"""An unpacked and built tree takes 1.9 GB; most of it is removed at the end."""


_UNCHANGED = ("changes", "")


@dataclass(frozen=True)
class BuildInputs:
    """All inputs that determine the result of a build; None for those unknown on this machine.

    ``changes`` is the hash of the user's patches and reverts, and empty without any.
    """

    source: str | None
    compiler: str | None
    fragment: str
    patches: str
    recipe: int = RECIPE_VERSION
    changes: str = ""

    @property
    def key(self) -> str:
        """The name of the build in the cache: 16 hexadecimal digits."""
        text = json.dumps(self.document(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def document(self) -> dict[str, Any]:
        """Return the inputs ready for JSON; without changes as before there were any."""
        return {name: value for name, value in asdict(self).items() if (name, value) != _UNCHANGED}

    def admit(self, manifest: Mapping[str, Any]) -> bool:
        """Tell whether a manifest has the same inputs, as far as they are known."""
        built_from = manifest.get("inputs", {})
        own_changes = built_from.get("changes", "") == self.changes
        return own_changes and all(
            value is None or built_from.get(name) == value
            for name, value in self.document().items()
        )


@dataclass(frozen=True)
class GuestKernel:
    """A built guest kernel. ``manifest`` is its manifest.json; paths are absolute."""

    key: str
    linux: Path
    modules_dir: Path
    release: str
    manifest: dict[str, Any]

    @property
    def tree(self) -> Path:
        """The prepared kernel tree that modules are built against."""
        return self.linux.parent / "tree"


def missing_tools() -> dict[str, str]:
    """Return the tools that the build needs and this machine lacks, each with its package."""
    missing = {
        tool: package for tool, package in TOOL_PACKAGES.items() if shutil.which(tool) is None
    }
    if not LIBC_HEADER.exists():
        missing[str(LIBC_HEADER)] = "libc6-dev"
    return missing


def current_inputs(choice: KernelChoice = DEFAULT) -> BuildInputs:
    """Return the inputs of a build on this machine now, without comments in the files.

    Raises:
        MachineError: the chosen kernel, or the series that the environment names, has no source
            here.
    """
    identity: str | None = None
    series: patch_series.Series | None = None
    try:
        found = source.locate(choice)
        identity, series = found.identity(), found.series()
    except MachineError:
        # A kernel that was built of a source that is gone stands for it, but not for another one.
        if choice.source is not None or source.series_asked() is not None:
            raise
    text = patch_series.fragments(FRAGMENT, series)
    options = "\n".join(build_steps.wanted_options(text))
    if series not in (None, patch_series.BASE):
        options += "".join(build_steps.alternatives(text).values())
    if choice.config:
        options += "\n" + choice.options
        options += "".join(each.content.decode() for each in build_steps.requested_patches(choice))
    changes = "".join(patch.changes for patch in patch_series.of_series(series))
    return BuildInputs(
        source=identity,
        compiler=_compiler_version(),
        fragment=hashlib.sha256(options.encode()).hexdigest(),
        patches=hashlib.sha256(changes.encode()).hexdigest(),
        changes=choice.changes_sha256,
    )


def inputs_known(choice: KernelChoice) -> BuildInputs | None:
    """Return the inputs of a build on this machine now, None where its source is not here."""
    try:
        return current_inputs(choice)
    except MachineError:
        return None


def inputs_without_compiler(manifest: Mapping[str, Any]) -> str | None:
    """Return what a kernel was built from as JSON, None where its manifest does not tell it.

    Digests do not depend on the compiler.
    """
    inputs = manifest.get("inputs")
    if not isinstance(inputs, Mapping):
        return None
    return json.dumps(
        {str(name): value for name, value in inputs.items() if name != "compiler"}, sort_keys=True
    )


def find(choice: KernelChoice = DEFAULT) -> GuestKernel | None:
    """Return the cached kernel of a stored run's choice or of the current inputs, or None.

    When the source or the compiler is missing, return the newest kernel whose other inputs are
    equal.

    Raises:
        MachineError: there is one, but other users than this one and root could have changed it;
            or the chosen kernel has no source here.
    """
    if (stored := _of_stored(choice)) is not None:
        return stored
    _require_own(choice)
    return _find(current_inputs(choice))


def _of_stored(choice: KernelChoice) -> GuestKernel | None:
    """Return the cached kernel from whose inputs a stored run's was built, if there is one."""
    if choice.built_from is None:
        return None
    same = (one for one in built() if inputs_without_compiler(one.manifest) == choice.built_from)
    return next(same, None)


def _require_own(choice: KernelChoice) -> None:
    """Raise MachineError unless all that a kernel is built from is this machine's own."""
    if choice.is_foreign and choice.is_changed:
        raise MachineError(
            f"the kernel {choice.text} of a stored run is not built here: its changes come with "
            "the run, and a build would run what they have",
            "read them, and build the kernel yourself: orchestrator guest build SOURCE+PATCH",
        )


def ensure(
    confine: Confine, progress: Progress = build_steps.silent, choice: KernelChoice = DEFAULT
) -> GuestKernel:
    """Return a kernel, as :func:`find`; build it (some minutes) when it is not cached.

    ``confine`` opens the room in which the source's own programs run.

    Raises:
        MachineError: a tool, the source, space or rights are missing, a patch does not apply, or
            the build failed; the message names the fix.
    """
    cache.remove_abandoned_builds(cache.own_root())
    if (stored := _of_stored(choice)) is not None:
        return stored
    _require_own(choice)
    inputs = current_inputs(choice)
    cached = _find(inputs)
    if cached is not None:
        return cached
    require_machine(choice)
    root = cache.make_root()
    waiting = functools.partial(progress, "waiting for another build of the guest kernel", None)
    with cache.builder_lock(root, waiting) as lock:
        found = source.locate(choice)
        wanted = _Wanted(found, choice, inputs, confine)
        return _find(inputs) or _build(wanted, root, progress, lock)


def require_machine(choice: KernelChoice = DEFAULT) -> None:
    """Raise MachineError unless this machine can build the kernel."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise MachineError(
            f"the guest kernel needs x86-64 Linux, and this machine is {platform.machine()}",
            "use an x86-64 Linux machine, or a virtual machine of that kind",
        )
    source.locate(choice)
    missing = missing_tools()
    if missing:
        raise MachineError(
            f"building the guest kernel needs {', '.join(missing)}",
            f"apt-get install {' '.join(missing.values())}",
        )


def _compiler_version() -> str | None:
    """Return the first line of ``gcc --version``, or None where there is no gcc."""
    try:
        answer = subprocess.run(
            ["gcc", "--version"],
            capture_output=True,
            text=True,
            check=True,
            env=build_steps.environment(),
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.partition("\n")[0]


def _find(inputs: BuildInputs) -> GuestKernel | None:
    candidates: list[tuple[float, Path, Path]] = []
    for root in cache.search_roots():
        exact = root / "guest" / inputs.key / "manifest.json"
        if exact.exists():
            return _read(exact, root)
        if inputs.source is None or inputs.compiler is None:
            for manifest in (root / "guest").glob("*/manifest.json"):
                candidates.append((manifest.stat().st_mtime, manifest, root))
    for _, manifest, root in sorted(candidates, reverse=True):
        kernel = _read(manifest, root)
        if inputs.admit(kernel.manifest):
            return kernel
    return None


def _read(manifest: Path, root: Path) -> GuestKernel:
    """Return the kernel of a manifest, after checking that only this user or root wrote it."""
    folder = manifest.parent
    for path in (manifest, folder / "linux", folder / "modules"):
        cache.require_trusted(path, root)
    content = json.loads(manifest.read_text())
    return GuestKernel(
        key=folder.name,
        linux=folder / "linux",
        modules_dir=folder / "modules",
        release=content["release"],
        manifest=content,
    )


def built() -> list[GuestKernel]:
    """Return all kernels that are cached, the newest first; of equal ones the first that is found.

    Raises:
        MachineError: other users than this one and root could have changed one.
    """
    found: dict[str, tuple[float, GuestKernel]] = {}
    for root in cache.search_roots():
        for manifest in (root / "guest").glob("*/manifest.json"):
            kernel = _read(manifest, root)
            found.setdefault(kernel.key, (manifest.stat().st_mtime, kernel))
    return [kernel for _time, kernel in sorted(found.values(), key=lambda pair: -pair[0])]


@dataclass(frozen=True)
class _Wanted:
    """What is built: a source, the choice that it was found for, all inputs, and how."""

    source: Source
    choice: KernelChoice
    inputs: BuildInputs
    confine: Confine

    @property
    def order(self) -> Order:
        """The same for the builder, with our patches and configuration."""
        series = self.source.series()
        fragment = patch_series.fragments(FRAGMENT, series)
        return Order(self.source, patch_series.of_series(series), fragment, self.choice)


def _build(wanted: _Wanted, root: Path, progress: Progress, lock: int) -> GuestKernel:
    """Build into a temporary folder and move it into the cache; needs the builder lock."""
    inputs = wanted.inputs
    folder = root / "guest" / cache.WORKSHOP
    remove_with_retries(folder)  # left by a builder that was killed
    kept = _kept_tree(wanted, root)
    log = root / "guest" / "logs" / f"{inputs.key}.log"
    log.parent.mkdir(mode=0o755, exist_ok=True)
    folder.mkdir(mode=0o700)  # an unpacked source may have programs that run as their owner
    (folder / "inputs").mkdir(mode=0o755)
    try:
        workshop = Workshop(folder, compiled.folder_of(root, wanted.source), lock)
        builder = Builder(workshop, log, progress, wanted.confine, kept)
        order = wanted.order
        result = builder.make(order)
        manifest = {
            **builder.describe(order, result),
            "compiler": inputs.compiler,
            "inputs": inputs.document(),
        }
        cache.replace_text(result / "manifest.json", json.dumps(manifest, indent=1) + "\n")
        cache.publish(result, root / "guest" / inputs.key)
    except OSError as error:
        raise MachineError(
            f"building the guest kernel in {folder} failed: {_reason(error)}",
            f"see {log}, or set {cache.CACHE_VARIABLE} to another folder",
        ) from error
    finally:
        remove_with_retries(folder)
    return _read(root / "guest" / inputs.key / "manifest.json", root)


def _reason(error: OSError) -> str:
    """Return why files could not be written; of a copied folder, why the first one could not."""
    failures = error.args[0] if isinstance(error, shutil.Error) else None
    return f"{failures[0][2]}, and {len(failures)} failures in all" if failures else str(error)


def _kept_tree(wanted: _Wanted, root: Path) -> KeptTree | None:
    """Return the place of the kept tree of a build, None where the disk has no room for one.

    Raises:
        MachineError: it has not enough for a build.
    """
    trees = root / "guest" / cache.TREES
    if shutil.disk_usage(root).free < 2 * FREE_BYTES_NEEDED:
        kept_trees.remove_unused(trees, most=0)
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_NEEDED:
        raise MachineError(
            f"{root} has {free / 1e9:.1f} GB free; a build needs {FREE_BYTES_NEEDED / 1e9:.0f} GB",
            f"free some space, or set {cache.CACHE_VARIABLE} to a folder with enough",
        )
    if free < 2 * FREE_BYTES_NEEDED:
        return None
    without = replace(wanted.inputs, source=None, changes="").document()
    is_confined = wanted.confine is not unconfined  # which changes paths
    return kept_trees.place_of(root, wanted.source, {**without, "confined": is_confined})
