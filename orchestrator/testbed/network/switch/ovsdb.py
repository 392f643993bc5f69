"""The database of Open vSwitch, as a file and over its socket.

Each start of a program such as `ovs-vsctl` costs a guest about 40 ms of CPU time.
The file's format is that of ovsdb(5), the protocol that of RFC 7047 (JSON-RPC 1.0 over a stream).
The tables are described in ovs-vswitchd.conf.db(5).
"""

from __future__ import annotations

import hashlib
import json
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Mapping, Sequence
    from typing import Any

_ROOT = "Open_vSwitch"
"""The name of the database, and of its table that has one row."""
_ROOT_ROW = "00000000-0000-4000-8000-000000000001"
_READ_BYTES = 1 << 16
_CONFIGURED_WITHIN_MS = 60_000


class DatabaseError(Exception):
    """The server refused a request, or ended the connection; the message has its answer."""


def create(path: str, schema_path: str, other_config: Mapping[str, str]) -> None:
    """Write a database with a schema, and with settings of the whole switch.

    It is what `ovsdb-tool create` and then `ovs-vsctl set Open_vSwitch . other_config:...` write.
    """
    with open(schema_path, "rb") as file:
        schema = file.read()
    row = {"other_config": _map(other_config)}
    with open(path, "xb") as file:
        for record in (schema, json.dumps({_ROOT: {_ROOT_ROW: row}}).encode() + b"\n"):
            digest = hashlib.sha1(record, usedforsecurity=False).hexdigest()
            file.write(b"OVSDB JSON %d %s\n" % (len(record), digest.encode()))
            file.write(record)


class Database:
    """A connection to the server that listens at ``path``, to be used in a ``with`` statement.

    Raises:
        DatabaseError: the server ended the connection or refused something.
    """

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._text = ""
        self._requests = 0

    def transact(self, operations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Do all operations or none; return the result of each, as RFC 7047 section 5.2 has it."""
        self._requests += 1
        self._send(id=self._requests, method="transact", params=[_ROOT, *operations])
        answer = self._receive()
        while answer.get("id") != self._requests or "method" in answer:
            if answer.get("method") == "echo":
                self._send(id=answer["id"], result=answer["params"], error=None)
            answer = self._receive()
        results = answer["result"]
        if answer["error"] is not None or any(result and result.get("error") for result in results):
            raise DatabaseError(f"Open vSwitch's database refused a transaction: {answer}")
        return list(results)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_fault: object) -> None:
        """End the connection; what was done stays."""
        self._socket.close()

    def _send(self, **message: object) -> None:
        self._socket.sendall(json.dumps(message).encode())

    def _receive(self) -> dict[str, Any]:
        """Return the next message; messages follow each other without anything between them."""
        while True:
            try:
                message, end = json.JSONDecoder().raw_decode(self._text)
            except ValueError:
                read = self._socket.recv(_READ_BYTES)
                if not read:
                    raise DatabaseError("Open vSwitch's database ended the connection") from None
                self._text += read.decode()
            else:
                self._text = self._text[end:].lstrip()
                return dict(message)


def add_bridges(database: Database, bridges: Mapping[str, tuple[str, Mapping[str, int]]]) -> str:
    """Create bridges on the kernel datapath, wait until they work, and return OVS's version.

    Args:
        database: the connection.
        bridges: {name: (datapath id in hexadecimal, {interface: number of its OpenFlow port})}.

    Raises:
        DatabaseError: an interface could not be added, or this took more than a minute.
    """
    operations: list[dict[str, Any]] = []
    for name, (datapath_id, interfaces) in bridges.items():
        operations += _bridge(name, datapath_id, interfaces)
    added = _set([_named("bridge", name) for name in bridges])
    changes = [["bridges", "insert", added], ["next_cfg", "+=", 1]]
    root = {"table": _ROOT, "where": []}
    operations.append({"op": "mutate", "mutations": changes, **root})
    operations.append({"op": "select", "columns": ["next_cfg"], **root})
    number = database.transact(operations)[-1]["rows"][0]["next_cfg"]
    configured = {"columns": ["cur_cfg"], "until": "==", "rows": [{"cur_cfg": number}]}
    interface = {"table": "Interface", "where": [], "columns": ["name", "error"]}
    _, versions, created = database.transact(
        [
            {"op": "wait", "timeout": _CONFIGURED_WITHIN_MS, **configured, **root},
            {"op": "select", "columns": ["ovs_version"], **root},
            {"op": "select", **interface},
        ]
    )
    faults = [
        f"{row['name']}: {row['error']}" for row in created["rows"] if row["error"] != _set([])
    ]
    if faults:
        raise DatabaseError(f"Open vSwitch cannot use interfaces: {'; '.join(faults)}")
    return str(versions["rows"][0]["ovs_version"])


def _bridge(name: str, datapath_id: str, interfaces: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the operations that make a bridge, its own port, and a port for each interface."""
    rows: dict[str, dict[str, Any]] = {name: {"name": name, "type": "internal"}}
    for interface, number in interfaces.items():
        rows[interface] = {"name": interface, "ofport_request": number}
    operations = []
    for interface, row in rows.items():
        port = {"name": interface, "interfaces": _named("interface", interface)}
        operations.append(_insert("Interface", "interface", interface, row))
        operations.append(_insert("Port", "port", interface, port))
    row = {
        "name": name,
        "fail_mode": "secure",
        "other_config": _map({"datapath-id": datapath_id, "disable-in-band": "true"}),
        "ports": _set([_named("port", interface) for interface in rows]),
    }
    return [*operations, _insert("Bridge", "bridge", name, row)]


def _insert(table: str, kind: str, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": "insert", "table": table, "row": row, "uuid-name": _named(kind, name)[1]}


def _named(kind: str, name: str) -> list[str]:
    """Return the reference to a row of the same transaction; its name must be an identifier."""
    return ["named-uuid", f"{kind}_{name.encode().hex()}"]


def _set(items: list[list[str]]) -> list[Any]:
    return ["set", items]


def _map(items: Mapping[str, str]) -> list[Any]:
    return ["map", [list(item) for item in items.items()]]
