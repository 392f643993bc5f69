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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from guest import build_steps, cache, patch_series, source
from guest.build_steps import Progress
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


@dataclass(frozen=True)
class BuildInputs:
    """All inputs that determine the result of a build; None for those unknown on this machine."""

    source: str | None
    compiler: str | None
    fragment: str
    patches: str
    recipe: int = RECIPE_VERSION

    @property
    def key(self) -> str:
        """The name of the build in the cache: 16 hexadecimal digits."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def admit(self, manifest: dict[str, Any]) -> bool:
        """Tell whether a manifest has the same inputs, as far as they are known."""
        built_from = manifest.get("inputs", {})
        return all(
            value is None or built_from.get(name) == value for name, value in asdict(self).items()
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


def current_inputs(kernel: str | None = None) -> BuildInputs:
    """Return the inputs of a build on this machine now, without comments in the files.

    ``kernel`` is as in :func:`guest.source.locate`.

    Raises:
        MachineError: the named kernel, or the series that the environment names, has no source
            here.
    """
    identity: str | None = None
    series: patch_series.Series | None = None
    try:
        found = source.locate(kernel)
        identity, series = found.identity(), found.series()
    except MachineError:
        # A kernel that was built of a source that is gone stands for it, but not for another one.
        if kernel is not None or source.series_asked() is not None:
            raise
    text = FRAGMENT.read_text()
    options = "\n".join(build_steps.wanted_options(text))
    if series not in (None, patch_series.BASE):
        options += "".join(build_steps.alternatives(text).values())
    changes = "".join(patch.changes for patch in patch_series.of_series(series))
    return BuildInputs(
        source=identity,
        compiler=_compiler_version(),
        fragment=hashlib.sha256(options.encode()).hexdigest(),
        patches=hashlib.sha256(changes.encode()).hexdigest(),
    )


def find(kernel: str | None = None) -> GuestKernel | None:
    """Return the cached kernel of the current inputs, or None.

    ``kernel`` is as in :func:`guest.source.locate`.

    When the source or the compiler is missing, return the newest kernel whose other inputs are
    equal.

    Raises:
        MachineError: there is one, but other users than this one and root could have changed it;
            or the named kernel has no source here.
    """
    return _find(current_inputs(kernel))


def ensure(progress: Progress = build_steps.silent, kernel: str | None = None) -> GuestKernel:
    """Return the kernel of the current inputs; build it (some minutes) when it is not cached.

    ``kernel`` is as in :func:`guest.source.locate`.

    Raises:
        MachineError: a tool, the source, space or rights are missing, a patch does not apply, or
            the build failed; the message names the fix.
    """
    cache.remove_abandoned_builds(cache.own_root())
    inputs = current_inputs(kernel)
    cached = _find(inputs)
    if cached is not None:
        return cached
    require_machine(kernel)
    root = cache.make_root()
    waiting = functools.partial(progress, "waiting for another build of the guest kernel", None)
    with cache.builder_lock(root, waiting) as lock:
        return _find(inputs) or _build(source.locate(kernel), inputs, root, progress, lock)


def require_machine(kernel: str | None = None) -> None:
    """Raise MachineError unless this machine can build the kernel."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise MachineError(
            f"the guest kernel needs x86-64 Linux, and this machine is {platform.machine()}",
            "use an x86-64 Linux machine, or a virtual machine of that kind",
        )
    source.locate(kernel)
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


def _build(
    found: Source, inputs: BuildInputs, root: Path, progress: Progress, lock: int
) -> GuestKernel:
    """Build into a temporary folder and move it into the cache; needs the builder lock."""
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_NEEDED:
        raise MachineError(
            f"{root} has {free / 1e9:.1f} GB free; a build needs {FREE_BYTES_NEEDED / 1e9:.0f} GB",
            f"free some space, or set {cache.CACHE_VARIABLE} to a folder with enough",
        )
    workshop = root / "guest" / cache.WORKSHOP
    remove_with_retries(workshop)  # left by a builder that was killed
    log = root / "guest" / "logs" / f"{inputs.key}.log"
    log.parent.mkdir(mode=0o755, exist_ok=True)
    workshop.mkdir(mode=0o755)
    try:
        build = build_steps.Build(workshop, log, progress, held=(lock,))
        result = build.make(found, patch_series.of_series(found.series()), FRAGMENT)
        manifest = {
            **build.describe(result),
            "compiler": inputs.compiler,
            "inputs": asdict(inputs),
        }
        cache.replace_text(result / "manifest.json", json.dumps(manifest, indent=1) + "\n")
        cache.publish(result, root / "guest" / inputs.key)
    except OSError as error:
        raise MachineError(
            f"building the guest kernel in {workshop} failed: {error}",
            f"see {log}, or set {cache.CACHE_VARIABLE} to another folder",
        ) from error
    finally:
        remove_with_retries(workshop)
    return _read(root / "guest" / inputs.key / "manifest.json", root)
