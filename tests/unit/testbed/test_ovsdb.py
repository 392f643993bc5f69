"""Open vSwitch's database as the bed writes it, with a real ovsdb-server and no switch daemon."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.testbed.network.switch import ovs, ovsdb

SETTINGS = {"max-idle": "1000000000", "n-handler-threads": "1"}
BRIDGES = {
    "s1": ("1", {"s1-eth1": 1, "s1-eth2": 2}),
    "s2": ("a", {"s2-eth1": 7}),
}
DAEMON = {"cur_cfg": 1, "ovs_version": "3.1.0"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    """The socket of a server whose database ``ovsdb.create`` has written."""
    ovsdb.create(str(tmp_path / "conf.db"), ovs.SCHEMA, SETTINGS)
    place = tmp_path / "db.sock"
    words: list[str | Path] = [
        "ovsdb-server",
        tmp_path / "conf.db",
        f"--remote=punix:{place}",
        "--no-chdir",
    ]
    words += [f"--unixctl={tmp_path}/ctl", "-vconsole:off", "-vsyslog:off"]
    ready = ["--detach", f"--pidfile={tmp_path}/pid", f"--log-file={tmp_path}/log"]
    subprocess.run([*words, *ready], check=True, cwd=tmp_path)
    yield place
    subprocess.run(["ovs-appctl", "-t", tmp_path / "ctl", "exit"], check=True)


def vsctl(server: Path, *words: str) -> str:
    done = subprocess.run(
        ["ovs-vsctl", f"--db=unix:{server}", "--no-wait", *words],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


def played(server: Path, row: dict[str, Any], fault: str | None = None) -> threading.Thread:
    """Return the started thread that does what ovs-vswitchd does: note what it has configured."""

    def play() -> None:
        root: dict[str, Any] = {"table": "Open_vSwitch", "where": []}
        asked = {"op": "wait", "columns": ["next_cfg"], "until": "==", "rows": [{"next_cfg": 1}]}
        update: list[dict[str, Any]] = [{"op": "update", "row": row, **root}]
        if fault is not None:
            where = [["name", "==", "s1-eth2"]]
            broken = {"op": "update", "table": "Interface", "where": where, "row": {"error": fault}}
            update.append(broken)
        with ovsdb.Database(str(server)) as database:
            database.transact([{**asked, "timeout": 20_000, **root}, *update])

    thread = threading.Thread(target=play)
    thread.start()
    return thread


def test_the_file_is_what_the_tools_write(server: Path, tmp_path: Path) -> None:
    subprocess.run(["ovsdb-tool", "create", tmp_path / "theirs", ovs.SCHEMA], check=True)
    for question in ("db-name", "db-version", "db-cksum"):
        ours, theirs = (
            subprocess.run(
                ["ovsdb-tool", question, tmp_path / name], check=True, capture_output=True
            ).stdout
            for name in ("conf.db", "theirs")
        )
        assert ours == theirs
    for name, value in SETTINGS.items():
        assert vsctl(server, "get", "Open_vSwitch", ".", f"other_config:{name}") == f'"{value}"'


def test_a_database_is_never_written_over_another(tmp_path: Path) -> None:
    (tmp_path / "conf.db").touch()
    with pytest.raises(FileExistsError):
        ovsdb.create(str(tmp_path / "conf.db"), ovs.SCHEMA, SETTINGS)


def test_bridges_have_their_ports_and_settings(server: Path) -> None:
    daemon = played(server, DAEMON)
    with ovsdb.Database(str(server)) as database:
        assert ovsdb.add_bridges(database, BRIDGES) == "3.1.0"
    daemon.join()
    assert vsctl(server, "list-br").split() == ["s1", "s2"]
    for name, (datapath_id, interfaces) in BRIDGES.items():
        assert vsctl(server, "list-ports", name).split() == list(interfaces)
        columns = ["other_config:datapath-id", "other_config:disable-in-band"]
        config = vsctl(server, "get", "Bridge", name, *columns).replace('"', "").split()
        assert config == [datapath_id, "true"]
        assert vsctl(server, "get", "Bridge", name, "fail_mode") == "secure"
        assert vsctl(server, "get", "Interface", name, "type") == "internal"
        for interface, number in interfaces.items():
            asked = vsctl(server, "get", "Interface", interface, "ofport_request", "type")
            assert asked.split() == [str(number), '""']


def test_an_interface_that_the_switch_refuses_is_named(server: Path) -> None:
    daemon = played(server, DAEMON, "could not open network device s1-eth2 (No such device)")
    message = r"s1-eth2: could not open .* \(No such device"
    database = ovsdb.Database(str(server))
    with database, pytest.raises(ovsdb.DatabaseError, match=message):
        ovsdb.add_bridges(database, BRIDGES)
    daemon.join()


def test_a_switch_that_never_answers_is_an_error(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ovsdb, "_CONFIGURED_WITHIN_MS", 100)
    database = ovsdb.Database(str(server))
    with database, pytest.raises(ovsdb.DatabaseError, match="timed out"):
        ovsdb.add_bridges(database, BRIDGES)


def test_a_refused_transaction_is_an_error(server: Path) -> None:
    with ovsdb.Database(str(server)) as database:
        with pytest.raises(ovsdb.DatabaseError, match="No column nothing"):
            database.transact([{"op": "insert", "table": "Bridge", "row": {"nothing": 1}}])
        assert database.transact([{"op": "comment", "comment": "the connection goes on"}]) == [{}]


def test_a_lost_server_is_an_error(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        listening.listen()
        with ovsdb.Database(str(tmp_path / "sock")) as database:
            accepted, _ = listening.accept()
            accepted.close()
            with pytest.raises((ovsdb.DatabaseError, BrokenPipeError)):
                database.transact([])


def test_questions_of_the_server_are_answered_wherever_messages_are_cut(tmp_path: Path) -> None:
    echo = {"id": "echo", "method": "echo", "params": ["x"]}
    answer = {"id": 1, "result": [{}], "error": None}
    text = (json.dumps(echo) + json.dumps(answer)).encode()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        listening.listen()
        with ovsdb.Database(str(tmp_path / "sock")) as database:
            accepted, _ = listening.accept()

            def send() -> None:
                for place in range(len(text)):
                    accepted.sendall(text[place : place + 1])

            sender = threading.Thread(target=send)
            sender.start()
            assert database.transact([{"op": "comment", "comment": ""}]) == [{}]
            sender.join()
        with accepted.makefile() as heard:
            request, end = json.JSONDecoder().raw_decode(said := heard.read())
        accepted.close()
    assert request["method"] == "transact"
    assert json.loads(said[end:]) == {"id": "echo", "result": ["x"], "error": None}
