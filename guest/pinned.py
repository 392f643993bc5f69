"""The tarball of the guest kernel's source that is downloaded where the system has none.

It is pinned by its version and SHA-256. ORCHESTRATOR_KERNEL_URL names another address of the same
tarball; together with ORCHESTRATOR_KERNEL_SHA256 it names another tarball. ``guest.download``
downloads it. That one is loaded only then, because what it needs of the web takes time to load.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from guest import cache
from orchestrator.errors import MachineError

VERSION = "6.12.103"
OFFICIAL_FOLDER = "https://cdn.kernel.org/pub/linux/kernel/v6.x"
SHA256 = "f143aaade8877ba5616e788b4482576db28481bcf557ef537f4fcc3938fc3176"
"""Of linux-6.12.103.tar.xz, from kernel.org's sha256sums.asc; see docs/installing.md."""

URL_VARIABLE = "ORCHESTRATOR_KERNEL_URL"
SHA256_VARIABLE = "ORCHESTRATOR_KERNEL_SHA256"
CHECKSUMS = f"{OFFICIAL_FOLDER}/sha256sums.asc"
FOLDER = "sources"
"""The folder of the cache that downloaded sources are in."""


@dataclass(frozen=True)
class Pin:
    """A tarball: its URL, and the SHA-256 (64 hexadecimal digits) of its content."""

    url: str
    sha256: str

    @property
    def place(self) -> Path:
        """Its path below a cache's root."""
        return Path(FOLDER) / f"linux-{self.sha256[:16]}.tar"


def pinned() -> Pin:
    """Return the tarball to download: the project's own unless the environment names another.

    Raises:
        MachineError: the environment names it incompletely or in a wrong form.
    """
    url = os.environ.get(URL_VARIABLE, "")
    digest = os.environ.get(SHA256_VARIABLE, "").lower()
    if digest and not url:
        raise MachineError(
            f"{SHA256_VARIABLE} is set, and {URL_VARIABLE} is not",
            f"set {URL_VARIABLE} to the tarball's address, too, or unset {SHA256_VARIABLE}",
        )
    if digest and not re.fullmatch("[0-9a-f]{64}", digest):
        raise MachineError(
            f"{SHA256_VARIABLE} is not a SHA-256 of 64 hexadecimal digits: {digest}",
            f"copy the tarball's line of {CHECKSUMS}",
        )
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
        raise MachineError(
            f"{URL_VARIABLE} is not an http or https address: {url}",
            "for a file, let ORCHESTRATOR_KERNEL_SOURCE name its path",
        )
    return Pin(url or f"{OFFICIAL_FOLDER}/linux-{VERSION}.tar.xz", digest or SHA256)


def downloaded() -> Path | None:
    """Return the pinned tarball in a cache, or None.

    Raises:
        MachineError: it was changed after its download, or others could have changed it.
    """
    pin = pinned()
    for root in cache.search_roots():
        path = root / pin.place
        if not path.is_file():
            continue
        cache.require_trusted(path, root)
        if cache.remembered_sha256(path) != pin.sha256:
            raise MachineError(
                f"{path} was changed after its download: its SHA-256 is not {pin.sha256}",
                f"rm {path}, then run {command()}",
            )
        return path
    return None


def command() -> str:
    """Return the command that downloads the source."""
    return f"{sys.executable} -m guest.source"
