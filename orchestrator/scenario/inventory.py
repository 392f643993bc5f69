"""Reads the SSH addresses of hosts from an Ansible inventory file, YAML or INI.

A scenario may name any file as its inventory, for example a private key, and errors end up in the
logs of CI servers. So an error names the position and the expected form, and does not quote the
file. Only the values of Ansible's own keys are quoted.

``group_vars`` and ``host_vars`` folders, plug-ins and templates are not read. How to reach a host
must be in the file itself, or in the user's SSH settings.
Source: docs.ansible.com, "How to build your inventory".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from orchestrator.files.user_files import FileError, read, require_regular
from orchestrator.units import shown

MAX_BYTES = 1_000_000
DEFAULT_PYTHON = "/usr/bin/python3"
_RANGE = re.compile(r"\[([0-9]{1,9}):([0-9]{1,9})\]")
_MOST_MENTIONS = 100
"""The most times that a YAML inventory may name one group."""
_MOST_HOSTS = 10_000
_TRUE = ("yes", "true", "1", "on", "y", "t")
_HOST_KEYS = re.compile(r"-o\s*UserKnownHostsFile=(\S+)")

Values = dict[str, Any]


class InventoryError(ValueError):
    """An inventory cannot be read or parsed; the message names the file and the position."""


@dataclass(frozen=True)
class InventoryHost:
    """SSH address of a host; for None the user's SSH settings apply."""

    name: str
    address: str
    port: int = 22
    user: str | None = None
    key: Path | None = None
    known_hosts: Path | None = None
    become: bool = False
    python: str = DEFAULT_PYTHON


@dataclass
class _Group:
    values: Values = field(default_factory=dict)
    hosts: dict[str, Values] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    mentions: int = 0


_Groups = dict[str, _Group]


@dataclass(frozen=True)
class _Position:
    """A position in an inventory, as errors show it."""

    path: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else str(self.path)


def read_inventory(path: Path) -> dict[str, InventoryHost]:
    """Return the hosts of an inventory file by their names.

    Raises:
        InventoryError: the file cannot be read, or is not an inventory.
    """
    try:
        text = read(path, MAX_BYTES).decode("utf-8-sig")
    except FileError as error:
        raise InventoryError(str(error)) from None
    except UnicodeDecodeError:
        raise InventoryError(f"`{path}` is not UTF-8 text") from None
    groups = _yaml(text, path) if path.suffix in (".yml", ".yaml") else _ini(text, path)
    return {name: _host(name, values, path) for name, values in _merged(groups, path).items()}


def _yaml(text: str, path: Path) -> _Groups:
    try:
        document = YAML(typ="rt", pure=True).load(text)  # which keeps the positions of keys
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise InventoryError(f"{path}{where}: this is not valid YAML") from None
    except RecursionError:
        raise InventoryError(f"`{path}` is nested too deeply") from None
    groups: _Groups = {}
    try:
        for name, body, position in _mapping(document, _Position(path), "an inventory"):
            _add_group(groups, name, body, position)
    except RecursionError:  # an alias that contains itself
        raise InventoryError(f"`{path}` is nested too deeply") from None
    return groups


def _add_group(groups: _Groups, name: str, body: object, where: _Position) -> None:
    group = groups.setdefault(name, _Group())
    group.mentions += 1
    if group.mentions > _MOST_MENTIONS:  # aliases within aliases grow without end
        raise InventoryError(f"{where}: a group is named more than {_MOST_MENTIONS} times")
    for key, content, inside in _mapping(body, where, "a group"):
        if key == "vars":
            group.values |= _values(content, inside, "vars of a group")
        elif key == "hosts":
            for pattern, values, line in _mapping(content, inside, "hosts of a group"):
                for host in _expanded(pattern, str(line)):
                    group.hosts.setdefault(host, {}).update(_values(values, line, "a host"))
        elif key == "children":
            for child, inner, line in _mapping(content, inside, "children of a group"):
                group.children.append(child)
                _add_group(groups, child, inner, line)
        else:
            raise InventoryError(f"{inside}: a group has no such key; valid: hosts, children, vars")


def _mapping(value: object, where: _Position, what: str) -> Iterator[tuple[str, object, _Position]]:
    """Yield each key, its value, and the key's position in the file."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InventoryError(f"{where}: {what} must be a mapping")
    for key, content in value.items():
        # A key that was merged by `<<` has no position of its own.
        places: Any = value.lc  # type: ignore[attr-defined] # of ruamel's mappings
        line, column, *_ = places.data.get(key, (places.line, places.col))
        yield str(key), content, _Position(where.path, line + 1, column + 1)


def _values(value: object, where: _Position, what: str) -> Values:
    return {key: content for key, content, _where in _mapping(value, where, what)}


def _ini(text: str, path: Path) -> _Groups:
    groups: _Groups = {}
    section, kind = "ungrouped", "hosts"
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}:{number}"
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped.startswith("["):
            head = re.fullmatch(r"\[([^\]:]+)(?::(\w+))?\]\s*(?:[#;].*)?", stripped)
            if head is None or head[2] not in (None, "vars", "children"):
                text_ = "a section is [group], [group:vars] or [group:children]"
                raise InventoryError(f"{where}: {text_}")
            section, kind = head[1].strip(), head[2] or "hosts"
            groups.setdefault(section, _Group())
            continue
        _ini_line(groups.setdefault(section, _Group()), kind, stripped, where)
    return groups


def _ini_line(group: _Group, kind: str, line: str, where: str) -> None:
    if kind == "vars":
        key, equals, value = line.partition("=")
        if not equals:
            raise InventoryError(f"{where}: a variable is written key=value")
        group.values[key.strip()] = _unquoted(value.strip())
        return
    try:
        parts = shlex.split(line, comments=True)
    except ValueError as error:
        raise InventoryError(f"{where}: {error}") from None
    if kind == "children":
        group.children.append(parts[0])
        return
    values: Values = {}
    for word in parts[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise InventoryError(f"{where}: behind a host comes key=value")
        values[key] = value
    for host in _expanded(parts[0], where):
        group.hosts.setdefault(host, {}).update(values)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _expanded(pattern: str, where: str) -> list[str]:
    """Return the hosts of a name with numeric ranges such as ``node[01:20]``."""
    hosts = [pattern]
    while (match := _RANGE.search(hosts[0])) is not None:
        first, last = int(match[1]), int(match[2])
        if (last - first + 1) * len(hosts) > _MOST_HOSTS:
            raise InventoryError(f"{where}: ranges of more than {_MOST_HOSTS} hosts")
        numbers = [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
        hosts = [_RANGE.sub(number, host, count=1) for host in hosts for number in numbers]
        if not hosts:
            return []
    if "[" in hosts[0]:
        raise InventoryError(f"{where}: ranges of hosts are of numbers only, such as [1:20]")
    return hosts


def _merged(groups: _Groups, path: Path) -> dict[str, Values]:
    """Return the variables of each host: of ``all``, of groups by their depth, then its own."""
    parents = {child: name for name, group in groups.items() for child in group.children}
    lines = {name: _line(name, parents, path) for name in groups}
    # Ansible's order: deeper groups have priority, and then the name that sorts last.
    order = sorted(groups, key=lambda name: (name != "all", len(lines[name]), name))
    variables: dict[str, Values] = {}
    for host in dict.fromkeys(host for group in groups.values() for host in group.hosts):
        own = [name for name in order if host in groups[name].hosts]
        above = {"all", *(name for group_name in own for name in lines[group_name])}
        values: Values = {}
        for name in order:
            values |= groups[name].values if name in above else {}
        for name in own:
            values |= groups[name].hosts[host]
        variables[host] = values
    return variables


def _line(name: str, parents: Mapping[str, str], path: Path) -> list[str]:
    """Return a group and all groups above it."""
    line = [name]
    while line[-1] in parents:
        line.append(parents[line[-1]])
        if line[-1] in line[:-1]:
            raise InventoryError(f"{path}: group {line[-1]} is below itself")
    return line


def _host(name: str, values: Values, path: Path) -> InventoryHost:
    def text(*keys: str) -> str | None:
        for key in keys:
            value = values.get(key)
            if value is not None:
                if "{{" in str(value):
                    raise InventoryError(f"{path}: {name}: {key} is a template: give its value")
                return str(value)
        return None

    connection = text("ansible_connection")
    if connection not in (None, "ssh", "smart", "paramiko", "paramiko_ssh"):
        raise InventoryError(f"{path}: {name}: ansible_connection is {connection}, not ssh")
    port = text("ansible_port", "ansible_ssh_port") or "22"
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise InventoryError(f"{path}: {name}: {shown(port)} is no port")
    key = text("ansible_ssh_private_key_file", "ansible_private_key_file")
    python = text("ansible_python_interpreter") or "auto"
    return InventoryHost(
        name,
        text("ansible_host", "ansible_ssh_host") or name,
        int(port),
        text("ansible_user", "ansible_ssh_user"),
        None if key is None else _file(key, path),
        _known_hosts(name, values, path),
        (text("ansible_become") or "no").lower() in _TRUE,
        DEFAULT_PYTHON if python.startswith("auto") else python,
    )


def _known_hosts(name: str, values: Values, path: Path) -> Path | None:
    """Return the file of host keys in SSH's arguments; no other argument is supported."""
    host_keys: Path | None = None
    for key in ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"):
        given = str(values.get(key) or "").strip()
        named = _HOST_KEYS.fullmatch(given)
        if given and named is None:
            raise InventoryError(
                f"{path}: {name}: {key}: only `-o UserKnownHostsFile=FILE` is understood here; "
                "put the rest into ~/.ssh/config"
            )
        if named is not None:
            host_keys = _file(named[1], path)
    return host_keys


def _file(given: str, path: Path) -> Path:
    """Return the path of a file that the inventory names, from the inventory's own folder."""
    file = (path.parent / Path(given).expanduser()).absolute()
    try:
        require_regular(file)
    except FileError as error:
        raise InventoryError(f"{path}: {error}") from None
    return file
