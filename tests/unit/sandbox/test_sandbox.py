"""Each part of the sandbox by itself; tests/hostile tests them together."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator import sandbox
from orchestrator.errors import MachineError
from orchestrator.sandbox import access, cgroup, identity, launcher, limits, syscalls, view
from orchestrator.sandbox.identity import Identity
from orchestrator.sandbox.limits import MIB

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a user to give up")


def test_every_sandbox_of_root_has_its_own_uid() -> None:
    with identity.allocate() as first, identity.allocate() as second:
        if os.geteuid():
            assert first is second is None
            return
        assert first is not None
        assert second is not None
        assert first.number != second.number
        for each in (first, second):
            assert 0x70000000 <= each.number < 0x80000000
    with identity.allocate() as again:
        assert again == first


@pytest.mark.parametrize(
    ("ranges", "number"),
    [
        ([(0, 2**32 - 1)], 0x70000000 + 77 * 64 + 3),
        ([(0, 65536)], 65531),  # a container's usual share: 65534 is nobody's
        ([(0, 1000), (100000, 165536)], 165532),
        ([(0, 1)], None),  # root alone: an ordinary user of the host
    ],
)
def test_in_a_container_the_uid_is_one_that_is_mapped(
    monkeypatch: pytest.MonkeyPatch, ranges: list[tuple[int, int]], number: int | None
) -> None:
    monkeypatch.setattr(identity, "_mapped", lambda _path: ranges)
    monkeypatch.setattr(os, "getpid", lambda: 77)
    assert identity._number(3) == number


@ROOT_ONLY
def test_paths_that_only_root_can_reach_are_mounted_elsewhere(tmp_path: Path) -> None:
    own, system = Identity(12345), Path("/usr/bin/env")
    before = sorted(Path("/mnt").iterdir())
    as_it_lies = access.provide_access([system], [tmp_path], True, own, tmp_path / "copies")
    assert (as_it_lies.prefix, as_it_lies.paths[system]) == ((), system)
    assert access.provide_access([tmp_path], [], False, None, tmp_path / "copies").prefix == ()
    hidden = tmp_path / "hidden"  # pytest's folders are the owner's only
    hidden.mkdir()
    (hidden / "file").write_text("text", encoding="utf-8")
    hidden.chmod(0o755)
    elsewhere = access.provide_access([hidden, system], [], True, own, tmp_path / "copies")
    script = (
        f"id -u; cat {elsewhere.paths[hidden]}/file; test -x {elsewhere.paths[system]}; ls {hidden}"
    )
    said = subprocess.run(
        [*elsewhere.prefix, "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert said.stdout == "12345\ntext", said
    assert "Permission denied" in said.stderr
    hidden.chmod(0o700)  # now all of it is root's alone
    copied = access.provide_access([hidden], [], True, own, tmp_path / "copies").paths[hidden]
    assert copied == tmp_path / "copies" / "hidden"
    status = (copied / "file").stat()
    assert (status.st_gid, status.st_mode & 0o777) == (12345, 0o640)
    assert sorted(Path("/mnt").iterdir()) == before


@ROOT_ONLY
def test_access_is_granted_only_below_the_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:
        above = Path(name)
        session = above / "temporary" / "session"
        run = session / "run"
        run.mkdir(parents=True)
        session.chmod(0o700)
        run.chmod(0o700)
        monkeypatch.setenv("TMPDIR", str(above / "temporary"))
        assert not Identity(12345).grant_passage(run)
        assert above.stat().st_mode & 0o777 == 0o700
        above.chmod(0o711)
        assert Identity(12345).grant_passage(run)
        assert run.stat().st_mode & 0o777 == 0o710
        assert session.stat().st_mode & 0o777 == 0o701


def test_the_seccomp_filter_denies_unknown_system_calls() -> None:
    program = syscalls.program()
    instructions = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    returned = {value for code, _true, _false, value in instructions if code == 0x06}
    assert {0x7FFF0000, 0x00050001} <= returned  # allowed; EPERM
    assert {"mount", "bpf", "io_uring_setup", "keyctl", "unshare", "memfd_create"}.isdisjoint(
        syscalls.ALLOWED
    )
    assert not {0x5412, 0x541C} & set(syscalls.IOCTLS)


def test_without_the_library_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscalls, "LIBRARY", "libnothere.so.9")
    syscalls.program.cache_clear()
    with pytest.raises(MachineError, match="apt-get install libseccomp2"):
        sandbox.require_confinement()
    syscalls.program.cache_clear()


def test_a_guests_limits_follow_from_its_plan() -> None:
    small, large = limits.of_guest(512 * MIB, 4), limits.of_guest(4096 * MIB, 400)
    assert small.processes == 264
    assert large.processes == 1056
    assert large.address_bytes > 2 * 4096 * MIB
    assert large.file_bytes == 4096 * MIB
    assert "264 processes" in str(small)


def test_an_error_has_the_limits_of_the_user_where_they_are_lower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = limits.of_guest(512 * MIB)
    infinity = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (infinity, infinity))
    assert str(ours) == (
        "2.0 GiB of address space a process, 256 processes, 2.0 GiB a file, "
        "16384 open files a process"
    )
    users = {resource.RLIMIT_FSIZE: 1000, resource.RLIMIT_NPROC: 10, resource.RLIMIT_NOFILE: 2**20}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, users.get(kind, infinity)))
    assert str(ours) == (
        "2.0 GiB of address space a process, 10 processes, 1000 bytes a file, "
        "16384 open files a process"
    )


def test_a_file_limit_below_a_guests_memory_is_refused_before_it_boots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits.require_file_size(512 * MIB)
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (4096, 512 * MIB - 1))
    with pytest.raises(MachineError) as refused:
        limits.require_file_size(512 * MIB)
    assert str(refused.value).splitlines() == [
        "a guest's memory is a file of 512 MiB, and this process may write 536870911 bytes to a "
        "file",
        "  fix: raise the limit on the size of files, which `ulimit -f` shows",
    ]
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (4096, 512 * MIB))
    limits.require_file_size(512 * MIB)  # the sandbox raises its own soft limit


def test_a_limit_on_open_files_below_a_guests_need_is_refused_before_it_boots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits.require_open_files()
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (40, 40))
    with pytest.raises(MachineError) as refused:
        limits.require_open_files()
    assert str(refused.value).splitlines() == [
        "a guest needs 52 open files, and this process may have 40",
        "  fix: raise the limit on open files, which `ulimit -n` shows",
    ]
    for hard in (128, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, hard=hard: (40, hard))
        limits.require_open_files()  # the sandbox raises its own soft limit


def test_the_launcher_lowers_limits_and_becomes_the_command() -> None:
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_CORE))"
    words = [sys.executable, launcher.__file__, "nofile=64", "core=0", "fixed=1", "--"]
    done = subprocess.run(
        [*words, sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(64, 64) (0, 0)"


def test_landlock_restricts_writes_to_the_allowed_folders(tmp_path: Path) -> None:
    from orchestrator.sandbox.boundary import landlock_version

    version = landlock_version()
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    allowed.mkdir()
    other.mkdir()
    words = [sys.executable, launcher.__file__, f"landlock={version}", f"write={allowed}", "--"]
    script = f"touch {allowed}/one; touch {other}/two"
    subprocess.run([*words, "sh", "-c", script], capture_output=True, check=False)
    assert [path.name for path in allowed.iterdir()] == ["one"]
    # Where the kernel has none, nothing is promised of it, and doctor says so.
    assert [path.name for path in other.iterdir()] == ([] if version else ["two"])


def test_a_control_group_is_made_where_controllers_are_delegated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "cgroup"
    inner = root / "user.slice" / "session.scope"
    inner.mkdir(parents=True)
    for folder in (root, inner.parent, inner):
        (folder / "cgroup.controllers").write_text("memory pids", encoding="ascii")
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.subtree_control").write_text("", encoding="ascii")
    (tmp_path / "own").write_text("1:cpu:/x\n0::/user.slice/session.scope\n", encoding="ascii")
    monkeypatch.setattr(cgroup, "ROOT", root)
    monkeypatch.setattr(cgroup, "MEMBERSHIP", tmp_path / "own")
    assert cgroup.parent() is None
    (inner.parent / "cgroup.subtree_control").write_text("cpu memory pids", encoding="ascii")
    assert cgroup.parent() == inner.parent
    (tmp_path / "own").write_text("1:cpu:/x\n", encoding="ascii")
    assert cgroup.parent() is None


def test_an_exceeded_limit_of_a_group_is_reported(tmp_path: Path) -> None:
    for name, text in {
        "memory.events": "low 0\nmax 7\noom 1\noom_kill 1\n",
        "memory.max": f"{2**30}\n",
        "pids.events": "max 3\n",
        "pids.max": "260\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    assert cgroup.ControlGroup(tmp_path, -1).exceeded() == [
        "1024 MiB of memory in all",
        "260 processes in all",
    ]
    (tmp_path / "memory.events").write_text("oom_kill 0\n", encoding="ascii")
    (tmp_path / "pids.events").unlink()
    assert cgroup.ControlGroup(tmp_path, -1).exceeded() == []


REMOVER = """
import pathlib, subprocess, sys, time
from orchestrator.sandbox import cgroup
group = pathlib.Path(sys.argv[1]) / f"orchestrator-test-{sys.argv[2]}"
group.mkdir()
with subprocess.Popen(["sleep", "600"]) as member:
    (group / "cgroup.procs").write_text(str(member.pid))
    began_s = time.monotonic()
    cgroup._wait_until_empty(group / "cgroup.events", began_s + 0.2)
    assert time.monotonic() - began_s >= 0.2, "it did not wait for the member"
    cgroup._remove(group)
    assert not group.exists()
    member.kill()
"""
"""Makes a group with one process, waits in vain for its end, and removes it."""


@pytest.mark.slow
@ROOT_ONLY
def test_a_group_is_removed_once_its_last_process_has_ended(tmp_path: Path) -> None:
    """In a mount namespace, where the hierarchy of version 2 is mounted."""
    mount = f"mount -t cgroup2 none {tmp_path} && exec "
    words = [sys.executable, "-c", REMOVER, str(tmp_path), str(os.getpid())]
    subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{mount}"$@"', "sh", *words],
        check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def test_abandoned_groups_are_removed_and_others_stay(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f"orchestrator-{dead.pid}-ab", f"orchestrator-{os.getpid()}-cd", "somebody-1-ef"):
        (tmp_path / name).mkdir()
    cgroup.remove_abandoned(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [f"orchestrator-{os.getpid()}-cd", "somebody-1-ef"]


def test_the_sandbox_has_no_accounts_and_no_writable_sysctls() -> None:
    words = view.base_command()
    shown = {words[at + 1] for at, word in enumerate(words) if word.startswith("--ro-bind")}
    assert not {"/etc", "/etc/passwd", "/etc/shadow", "/"} & shown
    assert "/proc/sys" in shown
    assert "--new-session" in words
    assert "--new-session" not in view.base_command(new_session=False)
