"""Executors: their addresses, and the messages between controller and workers."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.backends.cluster import address, wire
from orchestrator.backends.cluster.wire import Order, OrderResult
from orchestrator.backends.guest.boot import GuestBoot
from orchestrator.cli import commands
from orchestrator.compile.bounds import Bounds
from orchestrator.errors import BedError, UsageError

ROOT = Path(__file__).resolve().parents[3]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
NO_FILES = (None, None, None)
ANSWER = OrderResult("ok", "worker1", "", b"files", b"console")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    made = (tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    for path in made:
        path.write_text("PEM")
        path.chmod(0o600)
    return made


def test_executors_that_are_safe_are_taken(files: tuple[Path, Path, Path]) -> None:
    assert address.parse("local", NO_FILES) is None
    assert address.parse("dask=local", NO_FILES) == address.ClusterAddress(None, None)
    for url in ("tls://lab.example.org:8786", "tls://10.0.0.1:1", "tls://[::1]:65535"):
        found = address.parse(f"dask={url}", files)
        assert found == address.ClusterAddress(url, address.Certificates(*files))


@pytest.mark.parametrize(
    ("executor", "said"),
    [
        ("dask=tcp://lab:8786", "not encrypted"),
        ("dask=lab:8786", "not encrypted"),
        ("dask=127.0.0.1:8786", "not encrypted"),
        ("dask=ws://lab:8786", "not encrypted"),
        ("dask=tls://lab", "no address"),
        ("dask=tls://lab:0", "no address"),
        ("dask=tls://lab:70000", "no address"),
        ("dask=tls://lab:1/x", "no address"),
        ("dask=inproc://x", "no address"),
        ("dask=", "no such executor"),
        ("dask", "no such executor"),
        ("ray=local", "no such executor"),
        ("", "no such executor"),
    ],
)
def test_other_executors_are_refused_before_anything_runs(
    executor: str, said: str, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    words = ["run", str(QUICKSTART), "--db", str(tmp_path / "runs.db"), "--executor", executor]
    words += [
        f"--tls-{name}={path}" for name, path in zip(("ca", "cert", "key"), files, strict=True)
    ]
    ended = CliRunner().invoke(commands, words)
    assert ended.exit_code == UsageError.exit_status
    assert said in ended.output
    assert address.VALID in ended.output
    assert not (tmp_path / "runs.db").exists()


def test_certificates_are_required_and_keys_are_private(files: tuple[Path, Path, Path]) -> None:
    executor = "dask=tls://lab:8786"
    for missing, option in enumerate(("--tls-ca", "--tls-cert", "--tls-key")):
        given = tuple(None if n == missing else path for n, path in enumerate(files))
        with pytest.raises(UsageError, match=f"{option} FILE or ORCHESTRATOR_TLS"):
            address.parse(executor, given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no such file"):
        address.parse(executor, (files[0], files[0].with_name("none"), files[2]))
    files[2].chmod(0o640)
    with pytest.raises(UsageError, match="other users may read this key; chmod 600"):
        address.parse(executor, files)


def test_only_guests_are_spread() -> None:
    words = ["run", str(QUICKSTART), "--backend", "lab", "--executor", "dask=local"]
    ended = CliRunner().invoke(commands, words)
    assert ended.exit_code == UsageError.exit_status
    assert "only runs of --backend guest can be spread" in ended.output


@pytest.mark.slow
def test_dask_is_imported_only_when_it_is_used() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from orchestrator.cli import commands\n"
        "for words in (['--help'], ['run', '--help'], ['run', 'x', '--executor', 'dask=tcp://h:1']):\n"
        "    CliRunner().invoke(commands, words)\n"
        "import orchestrator.execution.runner, orchestrator.backends.guest\n"
        "from orchestrator.application.executor import choose\n"
        "choose('local', 'guest', 1, (None, None, None)).run_options(None, None, 1.0, print)\n"
        "print(sorted({'dask', 'distributed', 'tornado', 'bokeh'} & sys.modules.keys()))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_orders_and_answers_arrive_as_they_were_sent() -> None:
    boot = GuestBoot(2**28, 7, ("tcp_bbr.x=1", "y"), 3, 2.5)
    order = Order("a" * 64, "b" * 64, boot, Bounds(12.5), b"\0tar\n")
    again = Order.from_bytes(order.to_bytes())
    assert again == order
    assert again.bounds.total_bytes == order.bounds.total_bytes
    assert OrderResult.from_bytes(ANSWER.to_bytes(), 5, 7) == ANSWER


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (None, "no message"),
        ({"status": "ok"}, "no message"),
        (b"", "no message"),
        (b"\x80\x04", "no message"),
        (wire._MAGIC, "no header"),
        (wire._MAGIC + b"{}\n", "no header"),
        (wire._MAGIC + b"[" * 100_000 + b"\n", "no header"),
        (wire._MAGIC + b"{" + b" " * 2**19 + b"}\n", "no header"),
        (wire._MAGIC + b'{"sizes": [-1, 1]}\n', "no sizes"),
        (wire._MAGIC + b'{"sizes": ["1"]}\nx', "no sizes"),
        (wire._MAGIC + b'{"sizes": [1]}\nxx', "not as long"),
        (wire._MAGIC + b'{"sizes": [0, 0, 0]}\n', "not as long"),
        (ANSWER.to_bytes()[:-1], "not as long"),
        (wire._message({"status": "done"}, [b"", b""]), "no known status"),
        (wire._message({"status": "ok", "worker": "w", "error": ""}, [b""]), "no known status"),
        (wire._message({"status": "ok", "worker": 1, "error": ""}, [b"", b""]), "no texts"),
        (wire._message({"status": "ok", "worker": "w", "error": ""}, [b"xx", b"y"]), "read"),
        (OrderResult("ok", "w", "", b"123456").to_bytes(), "more than 5 bytes"),
        (OrderResult("ok", "w", "", b"", b"12345678").to_bytes(), "more than 7 bytes"),
        (
            wire._message(
                {"status": "ok", "worker": "w", "error": ""}, [zlib.compress(b"12")[:-2], b""]
            ),
            "end early",
        ),
    ],
)
def test_what_is_no_answer_fails_the_run(message: object, said: str) -> None:
    with pytest.raises(BedError, match=f"malformed output: .*{said}"):
        OrderResult.from_bytes(message, 5, 7)


def test_texts_of_workers_are_safe_to_show() -> None:
    answer = OrderResult("failed", "w\x1b[31m" * 1000, "\x1b]0;title\x07" * 5000)
    again = OrderResult.from_bytes(answer.to_bytes(), 0, 0)
    assert "\x1b" not in again.worker + again.error
    assert len(again.worker) < 400
    assert len(again.error) == wire.MOST_TEXT


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ((3, "traffic", 1.5), (3, "traffic", 1.5)),
        ([0, "boot", 0.0], (0, "boot", 0.0)),
        ((3, "ok", 1.5), None),
        ((3, "traffic", float("nan")), None),
        ((3, "traffic", -1.0), None),
        ((3, ["traffic"], 1.0), None),
        (("3", "traffic", 1.5), None),
        ((3, "traffic"), None),
        ({"number": 3}, None),
        (None, None),
    ],
)
def test_reports_of_progress_are_not_believed(event: object, found: object) -> None:
    assert wire.progress_of(event) == found
