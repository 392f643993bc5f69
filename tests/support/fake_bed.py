"""A test bed that writes what a real one wrote."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends import guest
from orchestrator.execution.runner import Progress, RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.support.hostile_texts import build_nothing

ROOT = Path(__file__).resolve().parents[2]


CAPTURED = ROOT / "tests" / "data" / "bed"


OVERRIDES = ("duration=2s", "warmup=1s", "topology.bottleneck.queue.limit=20p")


DIGEST = "ca575417d3eabcf5c39f13b4e37d6d052c2e8094820c1cecc80177b324dc1de3"


MODULE = b"\0depends=\0name=tcp_westwood\0"


# Copies the captured files in two halves, as a guest would write them bit by bit; the bed writes
# its progress at once.
FAKE = """
import sys, time
from pathlib import Path
source, target = Path(sys.argv[1]), Path(sys.argv[2])
print("fake console", flush=True)
names = "bed.log facts.jsonl queue.bin readings.bin sojourn.bin datagrams.bin transfers.bin"
names += " failure senders.bin tcp.bin counters.bin"
for name in [*names.split(), "progress"]:
    if not (source / name).exists():
        continue
    data = (source / name).read_bytes()
    half = 0 if name == "progress" else len(data) // 2
    with (target / name).open("wb") as file:
        file.write(data[:half])
        file.flush()
        time.sleep(0.12)
        file.write(data[half:])
if (source / "hang").exists():
    time.sleep(600)
"""


class Watcher:
    def __init__(self) -> None:
        self.phases: list[str] = []

    def progress(self, progress: Progress) -> None:
        self.phases.append(progress.phase)


@pytest.fixture
def bed(tmp_path: Path) -> Path:
    """A copy of the captured files, to be damaged at will."""
    return Path(shutil.copytree(CAPTURED, tmp_path / "bed"))


@pytest.fixture
def kernel(tmp_path: Path) -> GuestKernel:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "tcp_westwood.ko").write_bytes(MODULE)
    manifest = {"modules_sha256": {"tcp_westwood": "abc"}, "source": "captured"}
    return GuestKernel("key", tmp_path / "linux", modules, "6.12", manifest)


def play(
    bed: Path, kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[dict[str, Any], Watcher]:
    """Run the quickstart with the fake in the guest's place; return its document."""

    def command(_boot: object, paths: Any) -> list[str]:
        return [sys.executable, "-c", FAKE, str(bed), str(paths.output)]

    monkeypatch.setattr(guest, "command_of", command)
    build_nothing(tmp_path, monkeypatch)
    watcher = Watcher()
    planned = plan(load(ROOT / "scenarios" / "quickstart.yaml", OVERRIDES))
    asked = RunOptions(tmp_path / "runs.db", guest.Guest(kernel, unconfined=True, **options))
    ids = run_plan(planned, asked, watcher)
    with Store.open_read_only(tmp_path / "runs.db") as store:
        (document,) = run_document.of_ids(store, ids)["runs"]
    return document, watcher
