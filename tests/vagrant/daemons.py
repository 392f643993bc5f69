"""libvirt's daemons for a test, on a machine where none run: their files are the test's own.

They live in a mount namespace in which libvirt's folders are folders of the test's. So nothing of
theirs stays. QEMU runs as root there. Otherwise, where /dev/kvm exists but cannot be opened,
libvirt would ask QEMU again at each look-up.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

URI = "qemu:///system"
NETWORK = "vagrant-libvirt"
"""What Vagrant calls the network that it makes."""
START_S = 60.0
_FOLDERS = ("/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt")
_QEMU_CONF = 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\n'
_MOUNT = 'while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"'


def virsh(*words: str) -> str:
    """Run virsh; return its output."""
    done = subprocess.run(
        ["virsh", "--connect", URI, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.strip()


def volumes() -> list[str]:
    """Return the names in the pool that Vagrant makes at its first machine."""
    if "default" not in virsh("pool-list", "--all", "--name").split():
        return []
    return [line.split()[0] for line in virsh("vol-list", "--pool", "default").splitlines()[2:]]


def answer() -> bool:
    """Return whether libvirt answers."""
    words = ["virsh", "--connect", URI, "uri"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def running(folder: Path) -> Iterator[None]:
    """Provide libvirt: the running daemons, or own ones with their files in ``folder``."""
    if answer():
        yield
        return
    folder.mkdir(parents=True)
    binds = []
    for number, place in enumerate(_FOLDERS):
        own = folder / str(number)
        Path(place).mkdir(parents=True, exist_ok=True)
        shutil.copytree(place, own, symlinks=True)
        binds += [str(own), place]
    (folder / "0" / "qemu.conf").write_text(_QEMU_CONF, encoding="ascii")
    with contextlib.ExitStack() as ends:
        for program in ("virtlogd", "libvirtd"):
            log = ends.enter_context((folder / f"{program}.log").open("wb"))
            words = ["unshare", "--mount", "sh", "-euc", _MOUNT, "sh", *binds, "--", program]
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            ends.callback(process.wait)
            ends.callback(process.terminate)
        deadline = time.monotonic() + START_S
        while not answer():  # each try is a process that waits for an answer
            assert process.poll() is None, (folder / "libvirtd.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, f"libvirtd did not answer within {START_S:g} s"
        _remove_what_a_killed_test_left()
        yield
    shutil.rmtree(folder)


def _remove_what_a_killed_test_left() -> None:
    """Remove a network or machine of Vagrant that earlier daemons of a test left active.

    New daemons find these in /run/libvirt, and without their files in /etc/libvirt they are
    transient. `vagrant destroy` ends such a network, and then fails because it is gone.
    """
    if NETWORK in virsh("net-list", "--transient", "--name").split():
        virsh("net-destroy", NETWORK)
    for name in virsh("list", "--transient", "--name").split():
        if name.endswith("_orchestrator"):
            virsh("destroy", name)
