"""``doctor`` and ``guest``: what a machine lacks, and the kernel it has."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from guest import build, debian_source
from guest.build import GuestKernel
from guest.build_steps import Progress
from guest.choice import KernelChoice
from guest.confinement import Confine, unconfined
from orchestrator import sandbox
from orchestrator.backends import local, vagrant
from orchestrator.backends.contract import Examination, Finding
from orchestrator.backends.guest import examination
from orchestrator.cli import commands
from orchestrator.errors import GuestError, KernelBuildError, MachineError
from orchestrator.execution import doctor
from orchestrator.sandbox.kernel_builds import confined
from results.store.store import Store

KERNEL = GuestKernel(
    "key",
    Path("/c/guest/key/linux"),
    Path("/c/guest/key/modules"),
    "6.12.7",
    {
        "release": "6.12.7", "linux_sha256": "aa", "source": "/usr/src/linux.tar.xz",
        "compiler": "gcc 12", "build_s": 280.4, "modules_sha256": {"tcp_bbr": "b", "tcp_bic": "c"},
    },
)  # fmt: skip


def orchestrator(*args: str) -> Result:
    return CliRunner().invoke(commands, args)


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that has everything; returns the path of its store."""
    monkeypatch.setattr(build, "find", lambda: KERNEL)
    monkeypatch.setattr(sandbox, "require_confinement", lambda: None)
    monkeypatch.setattr(
        "shutil.which",
        lambda name, path="": f"/usr/bin/{name}",
    )
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(examination, "_try", lambda argv: None)
    monkeypatch.setattr(examination, "run_commands", lambda kernel, commands, timeout_s: None)
    monkeypatch.setattr(examination, "GUEST_MEMORY_BYTES", 1)
    monkeypatch.setattr(doctor, "STORE_BYTES", 1)
    monkeypatch.setattr(local, "examine", lambda: Examination([], "needs root"))
    monkeypatch.setattr(vagrant, "examine", lambda: Examination([], "there is no machine"))
    return tmp_path / "results" / "runs.db"


def lacks(db: Path) -> dict[str, Finding]:
    diagnosis = doctor.diagnose(db, "guest")
    found = [*diagnosis.backends["guest"].findings, *diagnosis.common]
    assert diagnosis.ok == all(finding.ok for finding in found)
    assert all(bool(finding.fix) != finding.ok for finding in found)
    return {finding.name: finding for finding in found if not finding.ok}


def test_a_healthy_machine_lacks_nothing(healthy: Path) -> None:
    assert lacks(healthy) == {}
    result = orchestrator("doctor", "--db", str(healthy))
    assert result.exit_code == 0
    assert "ok      guest kernel: Linux 6.12.7 in /c/guest/key" in result.stdout
    assert "fix:" not in result.stdout
    assert not healthy.parent.exists()


def test_a_missing_requirement_has_a_fix_and_gives_status_4(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    result = orchestrator("doctor", "--db", str(healthy))
    assert result.exit_code == 4
    assert "MISSING iperf3: not found\n        fix: apt-get install iperf3\n" in result.stdout
    document = json.loads(orchestrator("doctor", "--db", str(healthy), "--json").stdout)
    assert document["ok"] is False
    assert document["backends"] == {
        "guest": "not ready",
        "local": "not set up here",
        "lab": "ready",
        "vagrant": "not set up here",
    }
    assert {"backend", "name", "ok", "detail", "fix"} == set(document["findings"][0])


LACKING = Examination([Finding("iperf3", False, "not found", "apt-get install iperf3")])
READY = Examination([Finding("iperf3", True, "/usr/bin/iperf3")])
ABSENT = Examination([], "there is no kernel source")


@pytest.mark.parametrize(
    ("guest", "other", "ok"),
    [
        (READY, READY, True),
        (READY, LACKING, True),  # what is optional may lack something
        (READY, ABSENT, True),
        (LACKING, READY, False),  # the default may not
        (ABSENT, READY, True),  # inside a machine that is for the other one
        (ABSENT, LACKING, False),
        (ABSENT, ABSENT, False),
    ],
)
def test_the_status_depends_on_the_back_ends_that_are_set_up(
    healthy: Path, monkeypatch: pytest.MonkeyPatch, guest: Examination, other: Examination, ok: bool
) -> None:
    monkeypatch.setattr("orchestrator.backends.guest.examine", lambda: guest)
    monkeypatch.setattr(local, "examine", lambda: other)
    result = orchestrator("doctor", "--db", str(healthy))
    assert result.exit_code == (0 if ok else 4)
    asked = orchestrator("doctor", "--backend", "local", "--db", str(healthy))
    assert asked.exit_code == (0 if other is READY else 4)
    assert "guest" not in asked.stdout


def test_an_unknown_back_end_is_refused(healthy: Path) -> None:
    result = orchestrator("doctor", "--backend", "cloud", "--db", str(healthy))
    assert result.exit_code == 2
    assert "available: guest" in result.stderr


def test_without_kernel_source_the_guest_back_end_is_absent(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(kernel: str | None = None) -> None:
        raise MachineError("the kernel source is not installed", "apt-get install it")

    monkeypatch.setattr(build, "find", lambda: None)
    monkeypatch.setattr("guest.source.locate", lack)
    assert examination.examine().absent == "the kernel source is not installed"


def test_a_failing_probe_is_reported_with_its_fix(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "_try", lambda argv: "ImportError: no")
    missing = lacks(healthy)
    assert set(missing) == {"mininet", "ptrace"}
    assert missing["mininet"].detail == "ImportError: no"
    assert missing["mininet"].fix == "apt-get install mininet"


def test_a_guest_kernel_that_does_not_boot_is_reported(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ["Run /bin/sh as init process", "set fp regs failed, errno = 14", "Kernel panic"]

    def dies(kernel: GuestKernel, commands: bytes, timeout_s: float) -> None:
        raise GuestError("the guest ended early", said)

    monkeypatch.setattr(examination, "run_commands", dies)
    missing = lacks(healthy)
    assert set(missing) == {"guest boots"}
    assert missing["guest boots"].detail == f"the guest ended early | {said[1]} | {said[2]}"
    monkeypatch.setattr(examination, "_try", lambda argv: "no")  # then it would only fail likewise
    assert "guest boots" not in lacks(healthy)


def test_another_processor_is_reported(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert set(lacks(healthy)) == {"processor"}


def test_a_kernel_that_cannot_be_built_is_reported_with_its_fix(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack() -> None:
        raise MachineError("building the guest kernel needs bc", "apt-get install bc")

    monkeypatch.setattr(build, "find", lambda: None)
    monkeypatch.setattr(build, "require_machine", lack)
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", 10**18)
    missing = lacks(healthy)
    assert missing["guest kernel"].fix == "apt-get install bc"
    assert "1000000000 GB" in missing["room to build it"].fix

    monkeypatch.setattr(build, "require_machine", lambda: None)
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", 1)
    assert lacks(healthy) == {}


def test_without_confinement_the_size_of_shared_memory_is_checked(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise MachineError("bubblewrap cannot confine", "allow it")

    def small(_folder: Path) -> SimpleNamespace:
        return SimpleNamespace(
            f_bavail=1, f_bfree=1, f_blocks=1, f_frsize=2**20, f_flag=os.ST_NOEXEC
        )

    monkeypatch.setattr(sandbox, "require_confinement", refuse)
    monkeypatch.setattr("os.statvfs", small)
    monkeypatch.setattr(examination, "GUEST_MEMORY_BYTES", 2**21)
    missing = lacks(healthy)
    assert missing["confinement"].fix == "allow it"
    assert missing["/dev/shm"].detail == "1 MiB free, noexec"
    assert missing["/dev/shm"].fix == "mount -o remount,exec,size=1G /dev/shm"


def test_a_store_that_cannot_be_written_is_reported(
    healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.execution.doctor.os.access", lambda path, mode: False)
    missing = lacks(healthy)
    assert "--db" in missing["results store"].fix


@pytest.mark.parametrize(
    ("schema", "said"),
    [(-1, "with schema -1, which no version"), (12, "never released"), (999, "newer than this")],
)
def test_a_store_that_other_commands_refuse_is_reported(
    healthy: Path, schema: int, said: str
) -> None:
    Store(healthy).close()
    assert lacks(healthy) == {}
    with closing(sqlite3.connect(healthy)) as connection:
        connection.execute(f"PRAGMA user_version = {schema}")
    missing = lacks(healthy)["results store"]
    assert said in missing.detail
    assert "--db" in missing.fix
    assert said in orchestrator("runs", "--db", str(healthy)).stderr


def test_a_file_that_is_no_store_is_reported_and_an_empty_one_becomes_one(healthy: Path) -> None:
    healthy.parent.mkdir()
    healthy.write_bytes(b"")
    assert lacks(healthy) == {}
    healthy.write_text("text" * 1000)
    assert "not a SQLite database" in lacks(healthy)["results store"].detail


@pytest.mark.parametrize(
    ("argv", "trouble"),
    [
        (["true"], None),
        (["false"], "false ended with 1"),
        (["nosuch-program"], "nosuch-program not found"),
        (["sh", "-c", "echo one >&2; echo two >&2; exit 3"], "two"),
    ],
)
def test_a_probe_returns_the_trouble_of_its_command(
    argv: Sequence[str], trouble: str | None
) -> None:
    assert examination._try(argv) == trouble


def test_a_probe_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "PROBE_TIMEOUT_S", 0.05)
    assert examination._try(["sleep", "60"]) == "sleep did not answer within 0 s"


def test_guest_build_shows_steps_and_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    confines: list[Confine] = []

    def ensure(confine: Confine, progress: Progress, choice: KernelChoice) -> GuestKernel:
        confines.append(confine)
        progress("compiling the guest kernel", 0.25)
        return KERNEL if choice.source is None else replace(KERNEL, release=choice.source)

    monkeypatch.setattr(build, "ensure", ensure)
    result = orchestrator("guest", "build")
    assert result.stdout == "Linux 6.12.7 (key): /c/guest/key/linux\n"
    assert result.stderr == "compiling the guest kernel 25%\n"
    assert orchestrator("guest", "build", "--quiet").stdout == ""
    assert orchestrator("guest", "build", "7.3").stdout.startswith("Linux 7.3 (key)")
    assert orchestrator("guest", "build", "--unconfined").exit_code == 0
    assert confines == [confined, confined, confined, unconfined]


def test_the_output_of_a_kernels_build_is_shown_and_not_obeyed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_words: object) -> GuestKernel:
        raise KernelBuildError("make failed\n  \x1b[2J owned \r", "see the log")

    monkeypatch.setattr(build, "ensure", fail)
    result = orchestrator("guest", "build")
    assert result.exit_code == 4
    assert "owned" in result.stderr
    assert not set(result.stderr) & set("\x1b\r")


def test_guest_info_describes_the_kernel_or_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "find", lambda kernel=None: KERNEL)
    lines = orchestrator("guest", "info").stdout.splitlines()
    assert "modules   tcp_bbr tcp_bic" in lines
    assert "built in  280 s" in lines
    assert json.loads(orchestrator("guest", "info", "--json").stdout)["key"] == "key"
    assert not any(line.startswith("patches") for line in lines)
    applied = {"0001-hz": "6.12", "0002-seed": "7.2", "0003-fast": None, "0004-more": "6.12"}
    patched = replace(KERNEL, manifest={**KERNEL.manifest, "patches": applied})
    monkeypatch.setattr(build, "find", lambda kernel=None: patched)
    lines = orchestrator("guest", "info", "7.3").stdout.splitlines()
    assert "patches   0001 0004 of 6.12, 0002 of 7.2, 0003 left out" in lines

    monkeypatch.setattr(build, "find", lambda kernel=None: None)
    result = orchestrator("guest", "info", "7.3")
    assert "fix: orchestrator guest build 7.3" in result.stderr
    result = orchestrator("guest", "info")
    assert result.exit_code == 4
    assert "fix: orchestrator guest build" in result.stderr


def test_guest_list_has_all_kernels_that_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(KERNEL, key="other", release="7.3.4")
    monkeypatch.setattr(build, "built", lambda: [other, KERNEL])
    monkeypatch.setattr(build, "find", lambda kernel=None: KERNEL)
    lines = orchestrator("guest", "list").stdout.splitlines()
    assert [line.split()[:2] for line in lines[2:]] == [["7.3.4", "other"], ["6.12.7", "key"]]
    assert ["default" in line for line in lines[2:]] == [False, True]
    found = json.loads(orchestrator("guest", "list", "--json").stdout)
    assert [kernel["key"] for kernel in found["kernels"]] == ["other", "key"]


def test_guest_fetch_takes_a_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        debian_source, "fetch", lambda series, progress: Path(f"/c/linux-source-{series}.tar.xz")
    )
    said = orchestrator("guest", "fetch", "7.3").stdout
    assert said == "/c/linux-source-7.3.tar.xz\nbuild it: orchestrator guest build 7.3\n"
    result = orchestrator("guest", "fetch", "linux")
    assert result.exit_code == 2
    assert "linux is no series: write a number such as 6.12" in result.stderr
