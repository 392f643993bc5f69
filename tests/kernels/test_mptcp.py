"""Multipath TCP on another kernel, and on kernels that are without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.other_kernels import SCENARIOS, orchestrator, run

pytestmark = [pytest.mark.guest, pytest.mark.long]

TUTORIAL = str(SCENARIOS / "tutorial/87-mptcp.yaml")


def test_the_tutorial_is_faithful_on_another_kernel(tmp_path: Path) -> None:
    words = (TUTORIAL, "--reduced", "--kernel", "7.3")
    documents = run(*words, "--db", str(tmp_path / "runs.db"))
    assert [each["fidelity"]["verdict"] for each in documents] == ["faithful"] * 2
    assert [each["flows"][1]["mptcp_share"] > 0.3 for each in documents] == [True, False]


@pytest.mark.parametrize(
    ("kernel", "lack"),
    [
        ("6.1", "kernels from 6.8 on and with CONFIG_MPTCP=y do"),
        ("{source: '6.12', config: {MPTCP: n}}", "kernels from 6.8 on and with CONFIG_MPTCP=y do"),
    ],
)
def test_a_kernel_without_it_is_an_error(tmp_path: Path, kernel: str, lack: str) -> None:
    file = tmp_path / "mptcp.yaml"
    text = Path(TUTORIAL).read_text(encoding="utf-8")
    file.write_text(text.replace("name: mptcp", f"name: mptcp\nkernel: {kernel}", 1))
    done = orchestrator("run", str(file), "--db", str(tmp_path / "runs.db"))
    assert done.returncode == 2
    assert f"has no Multipath TCP (`mptcp`): {lack}" in done.stderr
    assert "fix: name such a kernel (`kernel: 6.12`, --kernel 6.12)" in done.stderr
