"""The lines about the kernel of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import StoreError
from results.store.store import Store
from results.wording import kernels
from tests.support.recordings import head, whole

MANIFEST = {
    "release": "7.3.4", "source": "/home/me/linux@0123", "check": "2 problems",
    "patches": {"0001-hz": "6.12", "0002-seed": "7.2", "0003-fast": None, "0007-io": "6.12"},
    "added": ["fix.patch"], "taken_out": ["bad.patch"], "options": {"HZ": "1000"},
}  # fmt: skip


def lines(folder: Path, manifest: Any, kernel: str = "7.3.4", backend: str = "guest") -> list[str]:
    recording = replace(whole(), kernel=kernel)
    if manifest is not None:
        recording.provenance["guest_kernel"] = manifest
    with Store(folder / "runs.db") as store:
        run = store.begin(head(backend=backend))
        store.finish(run, recording, 1.0, {"facts": []})
        return kernels.of_run(store.load(run))


def test_a_kernel_is_named_with_what_was_changed_in_it_and_its_check(tmp_path: Path) -> None:
    assert lines(tmp_path, MANIFEST) == [
        "kernel: Linux 7.3.4, built from linux@0123 -bad.patch +fix.patch HZ=1000",
        "kernel patches: 0001 0007 of 6.12, 0002 of 7.2, 0003 left out",
        "kernel check: 2 problems",
    ]


def test_what_an_earlier_version_or_a_real_machine_does_not_tell_is_left_out(
    tmp_path: Path,
) -> None:
    assert lines(tmp_path, {}) == ["kernel: Linux 7.3.4"]
    machine = lines(tmp_path, None, "6.1.0-18-amd64", "local")
    assert machine == ["kernel: Linux 6.1.0-18-amd64 (back end local)"]


def test_a_run_that_ended_before_its_kernel_was_known_has_no_line(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(head())
        store.fail(run, "no memory")
        assert kernels.of_run(store.load(run)) == []


@pytest.mark.parametrize("wrong", [[], {"patches": ["0001"]}, {"added": 1}, {"options": []}])
def test_what_no_build_writes_is_damage(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(StoreError, match="table provenance: guest_kernel"):
        lines(tmp_path, wrong)
