"""The command line in a scenario's network, in a guest whose time stands still at the prompt."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from guest.build import GuestKernel
from tests.guest.conftest import QUICKSTART

pytestmark = pytest.mark.guest

PROGRAM = str(Path(sys.executable).parent / "orchestrator")
EXACT = "a_dst0: echo 2: 100.188416 ms\n"
"""100 ms of propagation, and four transmissions of 98 bytes at 100 and two at 10 Mbit/s are
100.188160 ms; the rest is rounded up to the link's nanoseconds."""


def shell(commands: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "shell", str(QUICKSTART), *words],
        input=commands, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_commands_run_in_their_hosts_over_the_links_as_they_are(kernel: GuestKernel) -> None:
    del kernel  # only needs it built
    done = shell(
        "ping a_src0 a_dst0 2\n"
        "pingall\n"
        "a_src0 ip -4 -br address show dev eth0; grep a_dst0 /etc/hosts\n"
        "tc bottleneck\n"
        "a_src0 id -u; touch /etc/intruder; printf '\\033[2J\\n'\n"
        "b_src0 exit 7\n"
    )
    assert done.returncode == 7, done.stderr
    assert EXACT in done.stdout
    assert done.stdout.count("echo 1: ") == 1 + 4 * 3
    assert "10.0.0.1/8" in done.stdout
    assert "10.0.0.2 a_dst0\n" in done.stdout
    assert "qdisc pfifo 10: parent 1:1 limit 100p\n" in done.stdout
    assert "touch: cannot touch '/etc/intruder'" in done.stdout
    assert "\\x1b[2J\n" in done.stdout
    assert "\x1b" not in done.stdout


@contextmanager
def started(*words: str) -> Iterator[tuple[IO[str], IO[str], subprocess.Popen[str]]]:
    """Start a shell and yield its input, its output, and the process; it then ends well."""
    with subprocess.Popen(
        [PROGRAM, "shell", str(QUICKSTART), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin, process.stdout, process
        process.stdin.close()
        assert process.wait() == 0


def test_time_stands_still_between_commands_and_passes_in_them(kernel: GuestKernel) -> None:
    del kernel
    with started("a_src0") as (typed, printed, _process):

        def asked(line: str) -> float:
            typed.write(f"{line}; date +%s.%N\n")
            typed.flush()
            return float(printed.readline())

        first_s = asked("true")
        time.sleep(2)
        second_s = asked("true")
        third_s = asked("sleep 1000")
    assert 0 < second_s - first_s < 1
    assert 1000 <= third_s - second_s < 1001


def test_an_interrupt_ends_the_command_and_not_the_shell(kernel: GuestKernel) -> None:
    del kernel
    with started() as (typed, printed, process):
        typed.write("a_src0 echo begun; while true; do sleep 1; done\na_src0 echo later\n")
        typed.flush()
        assert printed.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert printed.readline() == "later\n"


def test_a_guest_that_is_powered_off_is_an_error(kernel: GuestKernel) -> None:
    del kernel
    done = shell("a_src0 kill -9 -1; echo o >/proc/sysrq-trigger; sleep 9\nnodes\n")
    assert done.returncode == 1
    assert "the guest ended" in done.stderr
