"""The playbooks against five hosts of a lab, but for packages, modules and services.

Those need machines of their own: `make test-vagrant`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.lab.namespaces import HOSTS, Lab

pytestmark = [
    pytest.mark.lab_hosts,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="only root can make the hosts: network namespaces with servers of their own",
    ),
]

PROJECT = Path(__file__).resolve().parents[2]
SUDOERS = Path("/etc/sudoers.d")
LOOK = "cd /opt && find . -type f | sort | head -4; cat /etc/sudoers.d/* 2>/dev/null; true"
"""What is seen of them on a host, by its sshd's mounts."""


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab", own=["/opt", str(SUDOERS)]) as hosts:
        yield hosts


def changed(hosts: Lab, sockets: Path, *words: str, some: Sequence[str] = HOSTS) -> set[int]:
    """Play site.yml against ``some`` hosts; return how many tasks changed something on any."""
    inventory = hosts.folder / "lab_hosts.yml"
    text = hosts.inventory.read_text(encoding="utf-8")
    inventory.write_text(text.replace("    lab:\n", "    lab_hosts:\n"), encoding="utf-8")
    done = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            f"--inventory={inventory}",
            "--skip-tags=packages,modules,clock",
            "--extra-vars=ansible_python_interpreter=/usr/bin/python3",
            f"--extra-vars=common_archive={hosts.folder / 'project.tar'}",
            f"--limit={','.join(some)}",
            *words,
            "playbooks/site.yml",
        ],
        cwd=PROJECT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(hosts.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CONFIG": str(PROJECT / "playbooks" / "ansible.cfg"),
            # A connection serves all tasks of a play. Its socket's path has to be a short one.
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=5s",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    lines = done.stdout.rsplit("PLAY RECAP", 1)[1].splitlines()[1:]
    matches = re.findall(r"^(\S+) +:.* changed=(\d+) .* failed=0 ", "\n".join(lines), re.MULTILINE)
    assert sorted(host for host, _count in matches) == sorted(some)
    return {int(count) for _host, count in matches}


def seen(hosts: Lab, host: str) -> str:
    """Return what is seen of the playbooks on a host."""
    server = hosts.servers[host]
    words = ["ssh", "-q", "-i", str(server.key), "-o", f"UserKnownHostsFile={server.known_hosts}"]
    done = subprocess.run(
        [*words, "-p", str(server.port), f"root@{server.host}", LOOK],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def sockets() -> Iterator[Path]:
    """A folder of a short name."""
    with tempfile.TemporaryDirectory(prefix="ssh", dir="/tmp") as folder:
        yield Path(folder)


def test_hosts_are_set_up_once_and_only_on_request(hosts: Lab, sockets: Path) -> None:
    words = ("--extra-vars=lab_host_user=tester",)
    # All hosts are alike. Where nothing is to change, two of them stand for all.
    two = ("sender1", "router")
    assert min(changed(hosts, sockets, "--check", *words, some=two)) > 0
    assert {seen(hosts, host) for host in HOSTS} == {""}, "check mode has done nothing"

    assert min(changed(hosts, sockets, *words)) > 0
    for host in HOSTS:
        there = seen(hosts, host)
        assert "./orchestrator/project/.packed-" in there
        assert "tester ALL=(root) NOPASSWD: ALL\n" in there
    assert not (SUDOERS / "orchestrator-lab").exists(), "that would be this machine's"

    assert changed(hosts, sockets, *words) == {0}
    assert changed(hosts, sockets, "--check", *words, some=two) == {0}

    assert changed(hosts, sockets, some=two) == {1}, "the user may no more"
    assert "NOPASSWD" not in seen(hosts, "sender1")
