"""Checks that are not repeated while what they depend on is the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import passed_before
from tools.passed_before import Check


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, and a cache of this test alone."""
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("AGAIN", raising=False)
    folder = tmp_path / "inputs"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text("one")
    return folder


def test_what_has_passed_is_known_until_an_input_changes(inputs: Path) -> None:
    check = Check("name", [inputs], ["version 1"])
    assert not check.has_passed()
    check.remember()
    assert Check("name", [inputs], ["version 1"]).has_passed()
    assert not Check("other", [inputs], ["version 1"]).has_passed()
    assert not Check("name", [inputs], ["version 2"]).has_passed()
    (inputs / "inner" / "file").write_text("two")
    assert not Check("name", [inputs], ["version 1"]).has_passed()
    (inputs / "inner" / "file").write_text("one")
    assert Check("name", [inputs], ["version 1"]).has_passed()
    (inputs / "inner" / "file").rename(inputs / "file")
    assert not Check("name", [inputs], ["version 1"]).has_passed()


def test_all_is_done_again_on_request(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Check("name", [inputs], []).remember()
    monkeypatch.setenv("AGAIN", "1")
    assert not Check("name", [inputs], []).has_passed()


def test_only_so_many_are_remembered(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_before, "_KEPT", 2)
    for number in range(4):
        Check("name", [inputs], [str(number)]).remember()
    assert Check("name", [inputs], ["3"]).has_passed()
    assert len(list((inputs.parent / "cache" / "passed").iterdir())) == 2


def test_a_command_that_passed_is_not_run_again_and_one_that_failed_is(
    inputs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fails = "import sys; print('ran'); sys.exit(3)"
    for _ in range(2):
        assert passed_before.main(["x", str(inputs), "--", sys.executable, "-c", fails]) == 3
    assert capfd.readouterr().out == "ran\nran\n"
    passes = ["x", str(inputs), "--", sys.executable, "-c", "print('ran')"]
    assert [passed_before.main(passes) for _ in range(2)] == [0, 0]
    assert capfd.readouterr().out == "ran\nx: passed before with the same inputs\n"


def test_a_command_line_without_a_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert passed_before.main(["x", "inputs"]) == 2
    assert "AGAIN=1" in capsys.readouterr().err
