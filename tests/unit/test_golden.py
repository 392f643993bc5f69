"""Golden files: a difference fails, and so does the test that renews one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golden


@pytest.fixture(autouse=True)
def compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(golden.RENEW, raising=False)


def test_a_text_is_compared_whole(tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text("one\ntwo\n")
    golden.check(file, "one  \ntwo")
    for other in ("one", "one\ntwo\nthree", "one\n two"):
        with pytest.raises(AssertionError, match=r"list\.txt has another text; .*RENEW_GOLDEN=1"):
            golden.check(file, other)


def test_a_file_that_is_missing_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"list\.txt is missing; RENEW_GOLDEN=1 writes it"):
        golden.check(tmp_path / "list.txt", "one")


def test_what_renews_a_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "golden" / "list.txt"
    monkeypatch.setenv(golden.RENEW, "1")
    for text in ("one\n", "two  \n", "two\n"):  # also where nothing changes
        with pytest.raises(pytest.fail.Exception, match="was written anew: look at `git diff`"):
            golden.check(file, text)
    assert file.read_text() == "two\n"
    monkeypatch.delenv(golden.RENEW)
    golden.check(file, "two\n")


def test_what_differs_from_run_to_run_is_left_out() -> None:
    text = "20261128-135243-b43d a@12abcdef\n20261128-135243-0000 a@00abcdef 20261128-135243-b43d"
    told = "1.0 of 2 s simulated, 9.87 times real time, about 2 s left\n"
    assert golden.same_each_time(told) == "1.0 of 2 s simulated, N times real time\n"
    assert golden.same_each_time("at 2026-11-28T13:52:43.123 UTC") == "at 2000-01-01 00:00 UTC"
    assert golden.same_each_time(text) == (
        "20000101-000000-0001 a@00000001\n20000101-000000-0002 a@00000002 20000101-000000-0001"
    )
