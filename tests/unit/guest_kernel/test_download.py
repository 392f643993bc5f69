"""The download of the guest kernel's source, from a local server that also misbehaves."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from guest import download, pinned, source
from orchestrator.errors import MachineError

CONTENT = bytes(range(256)) * 2000
LIMITS = download.DownloadLimits(
    most_bytes=1_000_000, silence_s=0.3, total_s=5.0, attempts=3, pause_s=0.01
)


class Server(ThreadingHTTPServer):
    """Sends CONTENT; ``behaviour`` says how, ``ranges`` are the Range headers that it got."""

    daemon_threads = True
    behaviour = "right"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/linux.tar.xz"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        behaviour, asked = self.server.behaviour, self.headers["Range"]
        if self.path == "/":
            behaviour = "right"
        self.server.ranges.append(asked)
        body = CONTENT
        if behaviour == "missing":
            self.send_error(404)
            return
        if behaviour.startswith("to "):
            self.send_response(302)
            self.send_header("Location", behaviour.removeprefix("to "))
            self.end_headers()
            return
        start = 0
        if asked and behaviour != "no ranges":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if behaviour == "wrong":
            body = bytes(len(CONTENT))
        if behaviour in ("too much", "endless"):
            body = bytes(2_000_000)
        if behaviour != "endless":
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = len(body)
        if behaviour in ("breaks off", "no ranges", "hangs"):
            end = min(len(body), start + len(CONTENT) // 2 + 1) if asked else len(body) // 2
            end = len(body) if asked and behaviour == "no ranges" else end
        try:
            self.wfile.write(body[start:end])
            if behaviour == "hangs":
                time.sleep(2 * LIMITS.silence_s)
            if behaviour == "slow":
                return
        except ConnectionError:
            return


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        # Looks often for the end of the test, which waits for it.
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("ORCHESTRATOR_KERNEL_URL", server.url)
        monkeypatch.setenv("ORCHESTRATOR_KERNEL_SHA256", hashlib.sha256(CONTENT).hexdigest())
        yield server
        server.shutdown()


def fetch(limits: download.DownloadLimits = LIMITS) -> Path:
    return download.download(lambda _step, _fraction: None, limits)


def left(tmp_path: Path) -> list[str]:
    return sorted(path.suffix for path in (tmp_path / "cache/sources").iterdir())


def test_the_right_file_is_the_source(server: Server) -> None:
    assert source.available() is None
    path = fetch()
    assert path.read_bytes() == CONTENT
    assert source.locate().path == path
    assert fetch() == path
    assert len(server.ranges) == 1  # the second call needs no server


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", ["breaks off", "hangs"])
def test_a_broken_download_continues(server: Server, behaviour: str) -> None:
    server.behaviour = behaviour
    assert fetch().read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_without_ranges_a_download_starts_again(server: Server) -> None:
    server.behaviour = "no ranges"
    assert fetch().read_bytes() == CONTENT


def test_an_incomplete_download_keeps_its_bytes(server: Server, tmp_path: Path) -> None:
    server.behaviour = "breaks off"
    with pytest.raises(MachineError, match="in 1 attempts: it ended after 256000 of 512000 bytes"):
        fetch(download.DownloadLimits(attempts=1))
    assert left(tmp_path) == [".part"]
    assert source.available() is None  # nothing reads an unverified file


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("wrong", "is not the pinned file: its SHA-256 is"),
        ("too much", "more than 1 MB"),
        ("endless", "more than 1 MB"),
        ("missing", "cannot be downloaded: HTTP Error 404"),
        ("to ftp://127.0.0.1/x", "cannot be downloaded: unknown url type: ftp"),
        ("to file:///etc/passwd", "cannot be downloaded"),
        ("to /linux.tar.xz", "cannot be downloaded"),
    ],
)
def test_a_permanent_error_ends_the_download_at_once(
    server: Server, behaviour: str, message: str, tmp_path: Path
) -> None:
    server.behaviour = behaviour
    with pytest.raises(MachineError, match=message) as caught:
        fetch()
    assert "ORCHESTRATOR_KERNEL_URL" in caught.value.fix
    assert ".tar" not in left(tmp_path)


def test_a_damaged_beginning_is_downloaded_again(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "cache" / pinned.pinned().place.with_suffix(".part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"damaged")
    assert fetch().read_bytes() == CONTENT
    assert server.ranges == ["bytes=7-", None]


def test_a_redirect_is_followed(server: Server) -> None:
    server.behaviour = "to /"
    assert fetch().read_bytes() == CONTENT


def test_the_total_time_is_bounded(server: Server) -> None:
    server.behaviour = "hangs"
    began = time.monotonic()
    with pytest.raises(MachineError, match=r"took longer than 0\.1 s"):
        fetch(download.DownloadLimits(total_s=0.1))
    assert time.monotonic() - began < 5


def test_a_file_changed_after_its_download_is_refused(server: Server) -> None:
    fetch().write_bytes(b"other")
    with pytest.raises(MachineError, match="was changed after its download"):
        source.locate()


@pytest.mark.parametrize(
    ("url", "digest", "message"),
    [
        ("", "0" * 64, "KERNEL_SHA256 is set, and"),
        ("http://127.0.0.1/x", "abc", "not a SHA-256"),
        ("/tmp/x", "", "not an http or https address"),
    ],
)
def test_a_wrong_setting_is_refused(
    monkeypatch: pytest.MonkeyPatch, url: str, digest: str, message: str
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_URL", url)
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SHA256", digest)
    with pytest.raises(MachineError, match=message):
        pinned.pinned()
