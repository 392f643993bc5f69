"""The guest's shell, with commands from a pipe."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.kinds.linux_parameters import LINUX_MODULES, WITHOUT_PARAMETERS

pytestmark = pytest.mark.guest

ORCHESTRATOR = Path(sys.executable).parent / "orchestrator"


def shell(commands: str) -> tuple[int, str]:
    """Run the commands in a guest; return their status and output."""
    done = subprocess.run(
        [str(ORCHESTRATOR), "guest", "shell"],
        input=commands,
        text=True,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_commands_from_a_pipe_run_as_root_of_the_guest(kernel: GuestKernel) -> None:
    commands = "id -u; uname -r; cat /proc/sys/net/ipv4/tcp_available_congestion_control; exit 7"
    status, said = shell(commands)
    user, release, congestion = said.splitlines()
    assert (status, user, release) == (7, "0", kernel.release)
    assert {"reno", "cubic", "westwood", "vegas", "yeah", "bbr"} <= set(congestion.split())


def test_modules_of_linux_have_parameters_where_the_language_has_some(kernel: GuestKernel) -> None:
    del kernel  # only needs it built
    names = (*LINUX_MODULES, *WITHOUT_PARAMETERS)
    status, said = shell(
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control\n"
        + "".join(f"ls -d /sys/module/tcp_{name}/parameters 2>&-\n" for name in names)
        + "exit 0"
    )
    loaded, *found = said.splitlines()
    assert status == 0
    assert set(names) <= set(loaded.split())
    assert found == [f"/sys/module/tcp_{name}/parameters" for name in LINUX_MODULES]


def test_the_shell_cannot_write_to_the_host(kernel: GuestKernel, tmp_path: Path) -> None:
    places = ["/etc", "/usr", "/home", "/root", "/var", str(tmp_path)]
    tries = "".join(
        f"touch {root}{place}/intruder\n" for place in places for root in ("", "/tmp/h")
    )
    status, said = shell(
        "mount -o remount,rw /; mkdir /tmp/h\n"
        # The mount of util-linux 2.39 and later splits options, and hostfs wants a path there.
        "LIBMOUNT_FORCE_MOUNT2=always mount -t hostfs none /tmp/h -o / || exit 9\n"
        f"{tries}ls /tmp/h/bed"
    )
    assert status == 0
    assert said.splitlines()[-1] == "out", said
    # Read-only, not there, or (to an ordinary user) not permitted: every single one.
    assert said.count("cannot touch") == len(places) * 2, said
    for place in places:
        with contextlib.suppress(PermissionError):  # /root, to an ordinary user
            assert not (Path(place) / "intruder").exists()
