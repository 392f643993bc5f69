"""A box made from packages, libvirt with software emulation, and the machine of the Vagrantfile."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.vagrant import daemons
from tests.vagrant.machine import BOX, NAME, ORCHESTRATOR, PROJECT, Machine

# Takes a fresh machine minutes, of what the emulated one leaves. To the scheduler a session is as
# good as any other, however nice its processes are to each other: sched(7), the autogroup feature.
_NICE = 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"'
_BUILD = ("sh", "-c", _NICE, "-", ORCHESTRATOR, "guest", "build", "--quiet")


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """The machine, not up yet. In any case it and its parts are removed at the end."""
    assert os.geteuid() == 0, "making a box needs root: sudo make test-vagrant"
    assert not (PROJECT / ".vagrant" / "machines" / NAME).exists(), (
        "there is a machine of this checkout already; `vagrant destroy` it, or test in another one"
    )
    folder = PROJECT / "build" / "vagrant"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "logs").mkdir(parents=True)
    made = Machine(folder)
    with (
        ThreadPoolExecutor() as beside,
        daemons.running(folder / "libvirt"),
        contextlib.ExitStack() as ends,
    ):
        made.guest = beside.submit(made.run, "guest kernel", *_BUILD, session=True)
        networks = set(daemons.virsh("net-list", "--all", "--name").split())
        ends.callback(_forget, made, networks)
        ends.callback(made.run, "destroy at the end", "vagrant", "destroy", "--force")
        made.run("box", PROJECT / "tests" / "vagrant" / "make-box", folder)
        box = folder / "orchestrator.box"
        made.vagrant("box add", "box", "add", "--name", BOX, str(box))
        yield made


def _forget(machine: Machine, networks: set[str]) -> None:
    """Remove libvirt's copy of the box and the networks that Vagrant made."""
    shutil.rmtree(PROJECT / ".vagrant", ignore_errors=True)
    for name in daemons.volumes():
        if name.startswith(BOX.replace("/", "-VAGRANTSLASH-")):
            daemons.virsh("vol-delete", "--pool", "default", name)
    for network in set(daemons.virsh("net-list", "--all", "--name").split()) - networks:
        daemons.virsh("net-destroy", network)
        daemons.virsh("net-undefine", network)
    for name in ("home", "orchestrator.box"):
        path = machine.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
