"""The test bed sets the kernel's trace up, and writes what it hands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.protocol.reports.trace_records import SETUP, VERSION
from orchestrator.protocol.specification import CaptureSpec
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.sampling import trace
from orchestrator.testbed.sampling.records import Records
from orchestrator.testbed.sampling.trace import Trace

CAPTURE: CaptureSpec = {
    "wanted": 5, "from_ns": 10, "to_ns": 30, "limit_bytes": 2**20, "snap_bytes": 116,
}  # fmt: skip
ORIGIN_NS = 7_000


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def traced(folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> tuple[bytes, bytes]:
    """Trace by a file in the device's place; return what is written to it and by the bed.

    A device hands records out from the begin on, a file from behind what was written.
    """
    device = folder / "device"
    device.write_bytes(bytes(SETUP.size) + content)
    monkeypatch.setattr(trace, "DEVICE", str(device))
    (folder / "out").mkdir()
    records = Records(str(folder / "out"))
    made = Trace(CAPTURE)
    made.begin(ORIGIN_NS)
    before = open_files()
    made.end(records)
    assert open_files() == before, "one is closed, and one is made"
    records.close()
    return device.read_bytes()[: SETUP.size], (folder / "out" / "trace.bin").read_bytes()


def test_the_window_counts_from_the_start_of_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, _written = traced(tmp_path, monkeypatch, b"")
    assert SETUP.unpack(setup) == (VERSION, 5, 7_010, 7_030, 2**20, 116, 0)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, 3 * (1 << 20) + 8])
def test_all_records_are_written_and_a_trace_of_nothing_has_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    content = (bytes(range(251)) * (size // 251 + 1))[:size]
    assert traced(tmp_path, monkeypatch, content)[1] == content


def test_without_a_capture_there_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "DEVICE", str(tmp_path / "none"))
    records = Records(str(tmp_path))
    made = Trace(None)
    made.begin(ORIGIN_NS)
    made.end(records)
    records.close()
    assert not (tmp_path / "trace.bin").exists()


def test_a_kernel_that_cannot_trace_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "DEVICE", str(tmp_path / "none"))
    with pytest.raises(BuildError, match=r"the kernel cannot trace: .*none: No such file"):
        Trace(CAPTURE).begin(ORIGIN_NS)
