"""The back end ``vagrant`` up to the machine, the remote supervisor, and the playbooks' files."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.backends import vagrant
from orchestrator.backends.contract import RunContext
from orchestrator.backends.progress import ProgressMonitor
from orchestrator.errors import BedError, MachineError, RemoteError
from orchestrator.scenario.inventory import read_inventory

PROJECT = Path(__file__).resolve().parents[3]
PACK = PROJECT / "playbooks" / "pack.py"
TOLD = """Host orchestrator
  HostName 192.168.121.36
  User vagrant
  Port 2222
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  PasswordAuthentication no
  IdentityFile "/home/a b/.vagrant/machines/orchestrator/libvirt/private_key"
  IdentityFile /home/other/key
  IdentitiesOnly yes
  LogLevel FATAL

"""
"""What Vagrant 2.3.4 prints; a second key, and a blank in the first one's path, added."""


def test_the_address_is_read_from_what_vagrant_tells() -> None:
    address = vagrant.read_ssh_config(TOLD)
    assert (address.host, address.port, address.user) == ("192.168.121.36", 2222, "vagrant")
    assert address.key == Path("/home/a b/.vagrant/machines/orchestrator/libvirt/private_key")
    assert address.root_by_sudo


@pytest.mark.parametrize("text", ["", TOLD.replace("2222", "many"), TOLD.replace("User ", "Us ")])
def test_an_address_that_is_none_is_said_so(text: str) -> None:
    with pytest.raises(MachineError, match="no usable address"):
        vagrant.read_ssh_config(text)


def test_without_vagrant_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="Vagrant is not installed") as error:
        vagrant.address()
    assert "vagrant up" in error.value.fix
    assert vagrant.examine().absent == "Vagrant is not installed"


@pytest.mark.build
def test_without_a_machine_the_fix_is_vagrant_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VAGRANT_HOME", "VAGRANT_DOTFILE_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(vagrant, "PROJECT", tmp_path)
    (tmp_path / "Vagrantfile").write_text((PROJECT / "Vagrantfile").read_text(encoding="utf-8"))
    with pytest.raises(MachineError, match="not running") as error:
        vagrant.address()
    assert "vagrant up" in error.value.fix
    assert vagrant.examine().absent.endswith("vagrant up")


def test_the_remote_supervisor_reports_the_bed_s_end_and_removes_its_folder(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "in").mkdir(parents=True)  # without a spec.json, so the bed fails at once
    words = [sys.executable, "-B", "-m", "orchestrator.testbed.remote_supervisor", str(place)]
    environment = {"PYTHONPATH": str(PROJECT / "orchestrator"), "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as supervisor:
        assert supervisor.stdin is not None
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "ended 1\n"
        assert "Error" in (place / "out" / "failure").read_text(encoding="utf-8")
        supervisor.stdin.close()
        assert supervisor.wait(60) == 0
        assert supervisor.stderr is not None
        supervisor.stderr.read()
    assert not place.exists()


def pack(program: Path, archive: Path) -> list[str]:
    """Return the digests that packing tells: of all, and of the modules."""
    words = ["/usr/bin/python3", str(program), str(archive)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return told.split()


@pytest.mark.slow
def test_packing_is_equal_to_the_bit_and_brings_what_is_needed(tmp_path: Path) -> None:
    first, second = (pack(PACK, tmp_path / name) for name in ("one", "two"))
    assert first == second
    content = (tmp_path / "one").read_bytes()
    assert content == (tmp_path / "two").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(content)) as packed:
        listed = packed.getnames()
        assert all(member.isfile() for member in packed)
    assert listed.pop() == f".packed-{first[0]}", "the last one, so that it says that all is there"
    names = set(listed)
    words = ["git", "-C", str(PROJECT), "ls-files", "orchestrator", "results", "web", "scenarios"]
    tracked = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\n")
    visible = {name for name in tracked if name and "/." not in name}
    assert {name for name in visible if (PROJECT / name).exists()} <= names
    assert {"pyproject.toml", "requirements.lock", "README.md"} <= names
    assert not any(name.startswith((".", "tests/")) or ".pyc" in name for name in names)
    sources = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "kmods").glob("*.[ch]")}
    assert {name for name in sources if not name.endswith(".mod.c")} <= names
    assert {"kmods/Kbuild", "kmods/Makefile", "kmods/dkms.conf", "kmods/core/arith.h"} <= names
    assert {"playbooks/make_environment.py", "playbooks/installer.lock"} <= names


def test_modules_are_built_again_for_their_own_changes_only(tmp_path: Path) -> None:
    (tmp_path / "playbooks").mkdir()
    program = tmp_path / "playbooks" / "pack.py"
    shutil.copy(PACK, program)
    for name in ("orchestrator", "kmods"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.c").write_text("one")
    told = [pack(program, tmp_path / "build" / "project.tar")]
    for name in ("orchestrator", "kmods"):
        (tmp_path / name / "file.c").write_text("two")
        told.append(pack(program, tmp_path / "build" / "project.tar"))
    assert len({project for project, _modules in told}) == 3
    assert told[0][1] == told[1][1] != told[2][1]


def test_the_example_of_an_inventory_is_one_for_lab_scenarios_too() -> None:
    hosts = read_inventory(PROJECT / "playbooks" / "inventory.example.yml")
    assert {"sender1.example.org", "router.example.org", "receiver1.example.org"} <= set(hosts)
    assert hosts["router.example.org"].become


@pytest.mark.build
@pytest.mark.parametrize("playbook", ["site.yml", "uninstall.yml"])
@pytest.mark.parametrize(
    ("program", "version"),
    [
        (Path(sys.executable).with_name("ansible-playbook"), "2.19."),
        pytest.param(Path("/usr/bin/ansible-playbook"), "2.", marks=pytest.mark.long),
    ],
    ids=["locked", "system"],
)
def test_both_ansibles_take_the_playbooks(
    program: Path, version: str, playbook: str, tmp_path: Path
) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    words = [program, "--syntax-check", "--inventory=playbooks/inventory.example.yml"]
    for argument in (["--version"], [*words[1:], f"playbooks/{playbook}"]):
        done = subprocess.run(
            [program, *argument],
            cwd=PROJECT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "ERROR" not in done.stderr
        if argument == ["--version"]:
            assert f"[core {version}" in done.stdout, "tools/setup and the lock bring them"


@pytest.mark.build
def test_the_vagrantfile_is_valid(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "VAGRANT_HOME": str(tmp_path / "home"),
        "VAGRANT_DOTFILE_PATH": str(tmp_path / "dot"),
        "VAGRANT_CHECKPOINT_DISABLE": "1",
    }
    words = ["vagrant", "validate", "--ignore-provider"]
    done = subprocess.run(
        words, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = {**environment, "ORCHESTRATOR_VM_DRIVER": "xen"}
    done = subprocess.run(
        words, cwd=PROJECT, env=wrong, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "kvm or qemu" in done.stdout + done.stderr


def test_no_line_of_a_playbook_ends_with_a_backslash_and_an_n() -> None:
    """Ansible hands Jinja both as they are, so YAML has to make a line's end of them."""

    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            for each in value.values():
                yield from texts(each)
        elif isinstance(value, list):
            for each in value:
                yield from texts(each)

    files = sorted((PROJECT / "playbooks").rglob("*.yml"))
    assert len(files) > 20
    for file in files:
        found = [text for text in texts(YAML(typ="safe").load(file)) if "\\n" in text]
        assert not found, (file, found)


def follow(*lines: bytes | None, wall_s: float = 60.0, watchdog_s: float = 60.0) -> list[Any]:
    """Return what is reported of a bed that prints these lines; None ends its connection."""
    told: list[Any] = []
    place = RunContext(Path("/nowhere"), 0, lambda _group: None, lambda _group: None)
    monitor = ProgressMonitor("the bed", 10.0, wall_s, watchdog_s)
    remote: Any = SimpleNamespace(address="there")
    bed = vagrant._BedInMachine(remote, place, lambda *said: told.append(said), monitor)
    for line in lines:
        bed._lines.put(line)
    bed._follow()
    return told


def test_the_progress_of_a_kept_bed_is_passed_on() -> None:
    lines = b"progress setup 0 10", b"progress traffic 1500000000 99", b"ended 0"
    assert follow(*lines) == [("setup", 0.0), ("traffic", 1.5)]


@pytest.mark.parametrize(
    "line",
    [b"progress", b"progress x 0 0", b"progress setup -1 0", b"progress setup 0", b"progress a",
     b"progress setup 0 1e9", b"progress traffic 11000000000 0", b"progress \xff \xff \xff"],
)  # fmt: skip
def test_a_kept_bed_that_says_what_none_says_is_malformed(line: bytes) -> None:
    with pytest.raises(BedError, match="malformed output"):
        follow(line, b"ended 0")


def test_a_kept_bed_that_only_talks_makes_no_progress() -> None:
    talk = [b"progress traffic 1000000000 " + str(n).encode() for n in range(3)]
    with pytest.raises(BedError, match="no progress for 0 s"):
        follow(*talk, watchdog_s=0.0)
    with pytest.raises(BedError, match=r"longer than 0s of wall time.*--timeout"):
        follow(*talk, wall_s=0.0)
    with pytest.raises(RemoteError, match="lost in phase boot"):
        follow(None)
