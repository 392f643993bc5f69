"""How kept files of programs are shown, exported and downloaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.application.stored import kept_export
from orchestrator.cli import commands
from orchestrator.recording.kept import KeptFile
from results.runs.programs import FlowFile
from results.store.store import Store
from tests.support.kept_files import EMPTY, FILES, PAGE, stored
from web import create_app


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        stored(store)
    return path


def call(path: Path, *words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(commands, [*words, "--db", str(path)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
def test_show_lists_them_with_size_and_hash_and_why_others_are_left_out(path: Path) -> None:
    _status, shown, _errors = call(path, "show", "last", "--programs")
    words = [" ".join(line.split()) for line in shown.splitlines()]
    assert f"a server log/a 4 {PAGE}" in words
    assert f"a client b 0 {EMPTY}" in words
    large = f"a client large {1 << 40} not kept: with it, the program's files would have more than"
    assert f"{large} 8 MiB" in words
    assert "b client *.xml - not kept: nothing has this name" in words
    _status, document, _errors = call(path, "show", "last", "--json")
    assert json.loads(document)["runs"][0]["kept_files"][0] == {
        "flow": "a", "role": "server", "name": "log/a", "size_bytes": 4, "sha256": PAGE,
        "left_out": None,
    }  # fmt: skip


@pytest.mark.slow
def test_an_export_writes_them_to_a_new_folder_only(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    status, printed, errors = call(path, "export", "last", "--format", "kept", "-o", str(folder))
    names = ["a/server/log/a", "a/client/a", "a/client/b"]
    assert (status, printed.split()) == (0, [str(folder / name) for name in names])
    assert [(folder / name).read_bytes() for name in names] == [b"page", b"page", b""]
    assert (folder / names[0]).stat().st_mode & 0o777 == 0o644 & ~_umask()
    assert "b, client: *.xml is not kept: nothing has this name" in errors
    for more, words in (
        ([], "exists already; name a new folder"),
        (["--force"], "--format kept writes a new folder only"),
    ):
        again = call(path, "export", "last", "--format", "kept", "-o", str(folder), *more)
        assert again[0] == 2
        assert words in again[2]


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@pytest.mark.slow
def test_an_export_says_that_nothing_is_kept_or_that_it_needs_a_run(
    path: Path, tmp_path: Path
) -> None:
    target = str(tmp_path / "kept")
    status, _printed, errors = call(path, "export", "trial", "--format", "kept", "-o", target)
    assert (status, "name a run" in errors) == (2, True)
    assert not Path(target).exists()


@pytest.mark.parametrize("flow", ["..", ".", "a/b", "../x", "", "a\nb", "-rf", ".hidden"])
def test_the_name_of_a_strangers_flow_leads_nowhere(flow: str) -> None:
    one = FlowFile(0, flow, KeptFile(3, "client", "a", 4, PAGE, None))
    assert kept_export._path(one) == "flow-3/client/a"


def test_a_download_is_an_attachment_that_no_browser_shows(path: Path) -> None:
    client = create_app(path).test_client()
    with Store.open_read_only(path) as store:
        run_id = store.resolve("last")
    page = client.get(f"/runs/{run_id}").text
    table = page.partition('id="kept"')[2].partition("</table>")[0]
    assert PAGE in table
    assert "nothing has this name" in table
    assert table.count("href=") == 3
    for position, content in enumerate((b"page", b"page", b"")):
        answer = client.get(f"/runs/{run_id}/kept/{position}")
        assert (answer.status_code, answer.data) == (200, content)
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        name = FILES[position].name.rpartition("/")[2]
        assert answer.headers["Content-Disposition"] == f"attachment; filename={run_id}-{name}"
    for wrong in ("3", "5", "99", "-1", "a", "0/x"):
        assert client.get(f"/runs/{run_id}/kept/{wrong}").status_code == 404
