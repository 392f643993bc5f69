"""Builds the modules against the guest kernel, once for each state of their sources."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from guest import cache, recipe
from guest.build import GuestKernel
from kmods.catalogue import FOLDER
from orchestrator.errors import MachineError

_SHOWN_LINES = 12


@dataclass(frozen=True)
class BuiltModules:
    """The modules for one guest kernel: ``folder`` holds tcp_<name>.ko."""

    folder: Path

    def sha256(self) -> dict[str, str]:
        """Return the hash of every module by its name, such as ``tcp_tibet``."""
        return {path.stem: cache.sha256(path) for path in sorted(self.folder.glob("*.ko"))}


def sources(folder: Path = FOLDER) -> list[Path]:
    """Return every file that goes into the build."""
    kinds = ("*.c", "*.h", "core/*.h", "Kbuild")
    return sorted(path for kind in kinds for path in folder.glob(kind))


def ensure(kernel: GuestKernel, folder: Path = FOLDER) -> BuiltModules:
    """Return the modules for that kernel, building them when they are not cached.

    Raises:
        MachineError: a tool is missing, the cache cannot be written, or a module does not compile.
    """
    name = f"kmods-{kernel.key}-{_key(folder)}"
    for root in cache.search_roots():
        place = root / "guest" / name
        if place.is_dir():
            cache.require_trusted(place, root)
            return BuiltModules(place)
    if shutil.which("make") is None or shutil.which("gcc") is None:
        raise MachineError("building modules needs make and gcc", "apt-get install build-essential")
    root = cache.make_root()
    place = root / "guest" / name
    with cache.builder_lock(root, lambda: None):
        if not place.is_dir():
            _build(kernel, folder, root, place)
    return BuiltModules(place)


def _key(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sources(folder):
        total.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def _build(kernel: GuestKernel, folder: Path, root: Path, place: Path) -> None:
    with tempfile.TemporaryDirectory(dir=root / "guest", prefix="kmods-") as name:
        workshop, result = Path(name) / "source", Path(name) / "result"
        for path in sources(folder):
            target = workshop / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        words = ["make", "-C", str(kernel.tree), f"M={workshop}", "ARCH=um", "W=1", "modules"]
        done = subprocess.run(
            words,
            env=recipe.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            tail = "\n  ".join(done.stdout.splitlines()[-_SHOWN_LINES:])
            raise MachineError(f"the modules do not compile:\n  {tail}", "mend the source")
        result.mkdir()
        for built in workshop.glob("*.ko"):
            shutil.copy(built, result / built.name)
        cache.publish(result, place)
