"""Ansible inventories: supported forms, and faults with their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.scenario.inventory import InventoryError, InventoryHost, read_inventory

YAML = """\
all:
  vars: {ansible_user: everyone, ansible_port: 2200}
  hosts:
    alone: {ansible_host: 10.0.0.9}
  children:
    lab:
      vars: {ansible_user: lab}
      children:
        senders:
          hosts:
            sender[1:2]: {ansible_become: true}
            sender2: {ansible_port: 22}
          vars: {ansible_ssh_private_key_file: keys/id}
        receivers:
          hosts:
            receiver1:
              ansible_ssh_common_args: -o UserKnownHostsFile=known
              ansible_python_interpreter: /opt/python3
"""
INI = """\
# a comment
alone ansible_host=10.0.0.9

[senders]
sender[1:2] ansible_become=yes
sender2 ansible_port=22
[receivers]
receiver1 ansible_ssh_common_args='-o UserKnownHostsFile=known' \
ansible_python_interpreter=/opt/python3   # and another
[senders:vars]
ansible_ssh_private_key_file = "keys/id"
[lab:children]
senders
receivers
[lab:vars]
ansible_user=lab
[all:vars]
ansible_user=everyone
ansible_port=2200
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), [("hosts.yml", YAML), ("hosts", INI)])
def test_both_forms_of_an_inventory_give_the_same_hosts(
    tmp_path: Path, name: str, text: str
) -> None:
    found = read_inventory(written(tmp_path, name, text))
    key = tmp_path / "keys" / "id"
    assert found == {
        "alone": InventoryHost("alone", "10.0.0.9", 2200, "everyone"),
        "sender1": InventoryHost("sender1", "sender1", 2200, "lab", key, None, True),
        "sender2": InventoryHost("sender2", "sender2", 22, "lab", key, None, True),
        "receiver1": InventoryHost(
            "receiver1", "receiver1", 2200, "lab", None, tmp_path / "known", python="/opt/python3"
        ),
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yml", "all: [1]", "a.yml:1:1: a group must be a mapping"),
        (
            "a.yml",
            "all: {hosts: {a: }, host: 1}",
            "a.yml:1:21: a group has no such key; valid: h",
        ),
        ("a.yml", "all: {\n  hosts: [}", "a.yml:2:11:"),
        ("a.yml", "all: {hosts: {a: {ansible_port: ssh}}}", "a: `ssh` is no port"),
        ("a.yml", "all: {hosts: {a: {ansible_connection: local}}}", "connection is local, not ssh"),
        ("a.yml", "all: {hosts: {a: {ansible_host: '{{ x }}'}}}", "ansible_host is a template"),
        ("a.yml", "all: {hosts: {a: {ansible_ssh_args: -J jump}}}", "put the rest into ~/.ssh"),
        ("a.yml", "all: {hosts: {'a[x:z]': }}", "a.yml:1:15: ranges of hosts are of numbers only"),
        ("hosts", "[senders\na", "hosts:1: a section is [group]"),
        ("hosts", "a\n[a:vars]\nx", "hosts:3: a variable is written key=value"),
        ("hosts", "a b", "hosts:1: behind a host comes key=value"),
        ("hosts", "[a:children]\nb\n[b:children]\na\n[a]\nx", "is below itself"),
    ],
)
def test_what_is_not_understood_is_reported(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(InventoryError) as refused:
        read_inventory(written(tmp_path, name, text))
    assert message in str(refused.value)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="cannot be read: No such file"):
        read_inventory(tmp_path / "none.yml")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InventoryError, match="is not UTF-8"):
        read_inventory(tmp_path / "binary")
