"""Files that a user or a stranger's scenario names: of every kind, and none of them quoted."""

from __future__ import annotations

import functools
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kmods import catalogue
from orchestrator.cli import commands
from orchestrator.errors import ScenarioError
from orchestrator.files import user_files
from orchestrator.files.user_files import FileError
from orchestrator.kinds.files.capacity import read_trace
from orchestrator.scenario import load
from orchestrator.scenario.inventory import InventoryError, read_inventory

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
SECRETS = {
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRETb3BlbnNzaC1rZXktdjEAAAA\n-----END-----\n",
    "shadow": "root:$y$SECRET$SECRETSECRET:19000:0:99999:7:::\n",
    "netrc": "machine SECRET login SECRET password SECRET\n",
    "credentials": "[default]\naws_secret_access_key = SECRET\n",
    "vars": "[all:vars]\nSECRET\n",
    "section": "[SECRET SECRET\n",
    "token.yml": "SECRET: SECRET\n",
    "kube.yml": "apiVersion: SECRET\nusers: [{token: SECRET}]\n",
    "twice.yml": "all: {SECRET: SECRET, SECRET: SECRET2}\n",
    "tag.yml": "all: !SECRET SECRET\n%SECRET\n",
    "names.yml": "all: {hosts: {SECRET1: , SECRET2: , 'SECRET[a:b]': }}\n",
}
"""Files that a stranger's scenario may name as its trace or inventory."""


def odd_files(folder: Path) -> dict[str, Path]:
    """Make a file of every kind that is not regular; return them by what an error calls them."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
    return {
        "is a FIFO": folder / "fifo",
        "is a folder": folder / "folder",
        "is a socket": folder / "socket",
        "is a device": Path("/dev/zero"),
    }


def finishes(work: Callable[[], object]) -> None:
    """Call ``work`` and fail if it has not returned soon: opening a FIFO waits for ever."""
    failed: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed over to the test's thread
            failed.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "it blocks"
    if failed:
        raise failed[0]


READERS: dict[str, Callable[[Path], object]] = {
    "any": lambda path: user_files.read(path, 10),
    "unlinked": lambda path: user_files.read_unlinked(path, 10),
    "scenario": load,
    "trace": read_trace,
    "inventory": read_inventory,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path, reader: str) -> None:
    for said, path in odd_files(tmp_path).items():
        with pytest.raises(ValueError if reader != "scenario" else ScenarioError) as refused:
            finishes(functools.partial(READERS[reader], path))
        assert f"{said}, not a regular file" in str(refused.value)


def test_a_link_to_a_regular_file_is_read_and_one_to_a_fifo_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert user_files.read(tmp_path / "link", 7) == b"content"
    assert user_files.read_unlinked(tmp_path / "file", 7) == b"content"
    with pytest.raises(FileError, match="is a symbolic link"):
        user_files.read_unlinked(tmp_path / "link", 7)
    with pytest.raises(FileError, match="larger than 6 bytes"):
        user_files.read(tmp_path / "link", 6)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "other").symlink_to("fifo")
    with pytest.raises(FileError, match="is a FIFO"):
        finishes(lambda: user_files.read(tmp_path / "other", 6))


def test_an_endless_kernel_file_reads_as_empty() -> None:
    # Such as /proc/kmsg, which blocks. Its size is 0, and so much is read.
    assert user_files.read(Path("/proc/self/maps"), 10) == b""


@pytest.mark.parametrize("name", SECRETS)
def test_errors_do_not_quote_a_file_that_is_something_else(tmp_path: Path, name: str) -> None:
    secret = tmp_path / name
    secret.write_text(SECRETS[name], encoding="utf-8")
    with pytest.raises(ValueError, match="must be whole milliseconds") as refused:
        read_trace(secret)
    assert "SECRET" not in str(refused.value)
    ends = "senders: [{host: SECRE, interface: e}], receivers: [{host: x, interface: e}]"
    lab = f"lab={{inventory: {secret}, {ends}}}"
    with pytest.raises(ScenarioError) as faults:
        load(QUICKSTART, [lab])
    told = str(faults.value).replace(lab, "").replace("no host `SECRE`", "")
    assert str(secret) in told
    assert "SECRET" not in told


def test_an_untrusted_inventory_is_bounded(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.yml"
    lines = ["a0: &a0 {hosts: {x: }}"]
    lines += [f"a{n}: &a{n} {{children: {{y: *a{n - 1}, z: *a{n - 1}}}}}" for n in range(1, 40)]
    bomb.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InventoryError, match="more than 100 times"):
        finishes(lambda: read_inventory(bomb))
    bomb.write_text("a: &a {children: {a: *a}}", encoding="utf-8")
    with pytest.raises(InventoryError, match="is below itself"):
        finishes(lambda: read_inventory(bomb))
    bomb.with_name("hosts").write_text("h" + "[0:9999]" * 9, encoding="utf-8")
    with pytest.raises(InventoryError, match="hosts:1: ranges of more than 10000 hosts"):
        finishes(lambda: read_inventory(bomb.with_name("hosts")))


MODULE = 'struct tcp_congestion_ops x = { .name = "x" };\nMODULE_LICENSE("GPL");\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A module's folder, beside a file and a folder that are none of its business."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "x.c").write_text(MODULE, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "private.c").write_text("SECRET", encoding="utf-8")
    return tmp_path / "own"


@pytest.mark.parametrize("target", ["../elsewhere/private.c", "x.c", "nothing"])
def test_a_source_that_is_a_link_is_refused(folder: Path, target: str) -> None:
    (folder / "y.c").symlink_to(target)
    with pytest.raises(
        catalogue.FolderError, match=r"own/y\.c` is a symbolic link.*replace it by a copy"
    ):
        catalogue.read(folder)


@pytest.mark.parametrize("target", ["../elsewhere", "deep", "/"])
def test_a_folder_that_is_a_link_is_refused(folder: Path, target: str) -> None:
    (folder / "deep").mkdir()
    (folder / "more").symlink_to(target)
    with pytest.raises(catalogue.FolderError, match="own/more` is a symbolic link"):
        catalogue.read(folder)


def test_links_that_are_not_sources_are_ignored(folder: Path) -> None:
    (folder / "compile_commands.json").symlink_to("../elsewhere/private.c")
    (folder / ".hidden.c").symlink_to("../elsewhere/private.c")
    assert list(catalogue.read(folder).files) == ["x.c"]


def test_sources_that_are_no_regular_files_are_refused(folder: Path) -> None:
    os.mkfifo(folder / "y.h")
    with pytest.raises(catalogue.FolderError, match=r"own/y\.h` is a FIFO, not a regular file"):
        finishes(lambda: catalogue.read(folder))


def test_a_folder_replaced_by_a_link_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "z.c").write_text("int z;", encoding="utf-8")
    really_open = os.open

    def swapped(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if path == "deep" and not (folder / "deep").is_symlink():
            (folder / "deep").rename(folder / ".before")
            (folder / "deep").symlink_to("../elsewhere")
        return really_open(path, flags, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(catalogue.FolderError, match="own/deep` is a symbolic link"):
        catalogue.read(folder)


def test_very_deep_and_very_large_folders_are_refused(folder: Path) -> None:
    deepest = folder
    for _ in range(user_files.MOST_DEPTH + 2):
        deepest /= "d"
    deepest.mkdir(parents=True)
    with pytest.raises(catalogue.FolderError, match="folders more than 20 deep"):
        catalogue.read(folder)


def test_a_folder_of_keys_is_neither_read_nor_quoted(tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text(SECRETS["key"], encoding="utf-8")
    with pytest.raises(catalogue.FolderError) as refused:
        catalogue.read(tmp_path)
    assert str(refused.value) == f"`{tmp_path}` holds no source: it has no *.c file"


@pytest.mark.parametrize("option", ["--junit", "--svg"])
def test_only_regular_files_are_written(tmp_path: Path, option: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    words = [option, str(tmp_path / "fifo")]
    command = ["plan", str(QUICKSTART)] if option == "--svg" else ["run", str(QUICKSTART)]
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        result = CliRunner().invoke(commands, [*command, *words])
    assert result.exit_code == 2
    assert f"{option}: `{tmp_path}/fifo` is a FIFO, not a regular file" in result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "CC_PARAM(x, 1, 1, 1, " + "a" * 100_000,
        "MODULE_PARM_DESC(x, a b" * 20_000,
        "/* " * 100_000,
        "\n" * 300_000,
        "struct tcp_congestion_ops x = { " * 10_000,
        "struct tcp_congestion_ops " * 10_000,
        '"\\' * 100_000,
        "#define a_TEXT " + '"\\"' * 100_000,
        'CC_SHOWS(x, "' + 'a [b]", "' * 10_000,
        "CC_SHOWS(" + "x " * 10_000,
    ],
    ids=lambda text: text[:16],
)
def test_no_source_makes_validation_slow(folder: Path, text: str) -> None:
    (folder / "x.c").write_text(MODULE + text, encoding="utf-8")
    assert "x" in catalogue.read(folder).modules
