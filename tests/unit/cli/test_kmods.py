"""``orchestrator kmods check``: what it prints of what was found out, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kmods import catalogue
from orchestrator.cli import commands, kmods
from orchestrator.execution import module_check
from orchestrator.execution.module_check import CaseResult, ModuleCheckResult, ModuleFlowResult
from orchestrator.protocol.examination import Observed

OLD = SimpleNamespace(release="6.12.1")
GOOD = ModuleCheckResult(
    "tibet",
    [
        CaseResult("loads", None, "with its defaults", "loaded", "loaded"),
        CaseResult(
            "parameters", None, "their names, by default", ["n_cong", "t0_us"], ["n_cong", "t0_us"]
        ),
        CaseResult("parameters", "t0_us", "by default", "1000000", "1000000"),
        CaseResult("parameters", "n_cong", "by default", "0", "0"),
        CaseResult("refuses", "t0_us", "-1", "EINVAL", "EINVAL"),
        CaseResult("refuses", "t0_us", "60000001", "EINVAL", "EINVAL"),
        CaseResult("refuses", "n_cong", "1001", "EINVAL", "EINVAL"),
        CaseResult("unloads", None, "while a socket uses it", "EAGAIN", "EAGAIN"),
    ],
    ModuleFlowResult("ok", "faithful", 0.99987, None),
)
NOT_LOADED = ModuleCheckResult(
    "fast",
    [CaseResult("loads", None, "with its defaults", "loaded", "ENOEXEC")],
    ModuleFlowResult("failed", None, None, "no module tcp_fast"),
)


def turned(index: int, got: Observed) -> ModuleCheckResult:
    """Return the good one with another answer of the kernel."""
    answers = list(GOOD.answers)
    answers[index] = replace(answers[index], got=got)
    return replace(GOOD, answers=answers)


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command on what was found out, instead of a guest."""

    def run(found: Sequence[ModuleCheckResult], *args: str) -> Result:
        monkeypatch.setattr(kmods, "ensure_kernel", lambda line: OLD)
        monkeypatch.setattr(module_check, "check", lambda kernel, names, observe: list(found))
        return CliRunner().invoke(commands, ["kmods", "check", *args])

    return run


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_table_shows_modules_that_pass(check: Callable[..., Result]) -> None:
    result = check([GOOD])
    headings, _line, row = result.stdout.splitlines()
    assert cells(headings) == [
        "module",
        "loads",
        "parameters",
        "refuses bad values",
        "unloads",
        "utilisation",
        "verdict",
    ]
    assert cells(row) == ["tibet", "yes", "2 verified", "3 verified", "yes", "1.000", "faithful"]
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("found", "row", "said"),
    [
        (
            turned(2, "5"),
            ["tibet", "yes", "NO: 1 of 2", "3 verified", "yes", "1.000", "faithful"],
            "tibet: parameters: t0_us by default: wanted 1000000, got 5",
        ),
        (
            turned(1, ["t0_us"]),
            ["tibet", "yes", "NO: 2 of 2", "3 verified", "yes", "1.000", "faithful"],
            "tibet: parameters: their names, by default: wanted ['n_cong', 't0_us'], got ['t0_us']",
        ),
        (
            turned(5, "loaded"),
            ["tibet", "yes", "2 verified", "NO: 2 of 3", "yes", "1.000", "faithful"],
            "tibet: refuses: t0_us 60000001: wanted EINVAL, got loaded",
        ),
        (
            turned(7, "unloaded"),
            ["tibet", "yes", "2 verified", "3 verified", "NO", "1.000", "faithful"],
            "tibet: unloads: while a socket uses it: wanted EAGAIN, got unloaded",
        ),
        (
            replace(GOOD, driven=ModuleFlowResult("ok", "faithful", 0.92, None)),
            ["tibet", "yes", "2 verified", "3 verified", "yes", "0.920", "faithful"],
            "tibet: utilisation: wanted 0.93 at least, got 0.92",
        ),
        (
            replace(GOOD, driven=ModuleFlowResult("ok", "doubtful", 0.99, None)),
            ["tibet", "yes", "2 verified", "3 verified", "yes", "0.990", "doubtful"],
            "tibet: verdict: wanted faithful, got doubtful",
        ),
        (
            NOT_LOADED,
            ["fast", "NO", "-", "-", "NO", "-", "failed"],
            "fast: run failed: no module tcp_fast",
        ),
    ],
)
def test_a_failing_check_is_reported(
    check: Callable[..., Result], found: ModuleCheckResult, row: list[str], said: str
) -> None:
    result = check([GOOD, found])
    assert cells(result.stdout.splitlines()[-1]) == row
    assert said in result.stderr.splitlines()
    assert result.exit_code == 1


def test_json_has_everything(check: Callable[..., Result]) -> None:
    result = check([GOOD, NOT_LOADED], "--json")
    good, bad = json.loads(result.stdout)["modules"]
    answers = good.pop("answers")
    assert good == {
        "module": "tibet",
        "ok": True,
        "loads": True,
        "parameters": True,
        "refuses": True,
        "unloads": True,
        "status": "ok",
        "verdict": "faithful",
        "utilisation": 0.99987,
        "error": None,
    }
    assert len(answers) == len(GOOD.answers)
    assert answers[2] == {
        "about": "parameters",
        "parameter": "t0_us",
        "asked": "by default",
        "wanted": "1000000",
        "got": "1000000",
        "ok": True,
    }
    assert {bad["ok"], bad["loads"], bad["parameters"], bad["refuses"], bad["unloads"]} == {False}
    assert bad["error"] == "no module tcp_fast"
    assert result.exit_code == 1


def test_modules_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def check(kernel: object, names: list[str], observe: object) -> list[ModuleCheckResult]:
        asked.append(names)
        return []

    monkeypatch.setattr(kmods, "ensure_kernel", lambda line: OLD)
    monkeypatch.setattr(module_check, "check", check)
    for words in (["tibet", "fast", "tibet"], []):
        assert CliRunner().invoke(commands, ["kmods", "check", *words]).exit_code == 0
    assert asked == [["tibet", "fast"], sorted(catalogue.modules_of("6.12"))]


def test_a_module_that_needs_a_newer_kernel_is_left_out_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[list[str]] = []

    def check(kernel: object, names: list[str], observe: object) -> list[ModuleCheckResult]:
        asked.append(names)
        return []

    monkeypatch.setattr(kmods, "ensure_kernel", lambda line: OLD)
    monkeypatch.setattr(module_check, "check", check)
    lack = "Linux 6.12.1 has no Accurate ECN, which `prague` needs"
    result = CliRunner().invoke(commands, ["kmods", "check"])
    assert result.exit_code == 0
    assert f"prague: not checked: {lack}" in result.stderr
    assert "prague" not in asked[0]
    result = CliRunner().invoke(commands, ["kmods", "check", "prague"])
    assert result.exit_code == 2
    assert f"{lack}: kernels from 7.0 on do" in result.stderr
    monkeypatch.setattr(kmods, "ensure_kernel", lambda line: SimpleNamespace(release="7.3.4"))
    assert CliRunner().invoke(commands, ["kmods", "check", "prague"]).exit_code == 0
    assert asked[1:] == [["prague"]]


def test_an_unknown_module_is_refused_with_the_valid_ones() -> None:
    result = CliRunner().invoke(commands, ["kmods", "check", "tibet", "libar"])
    assert result.exit_code == 2
    assert (
        "there is no module `libar` (did you mean `libra`?); available: csfq, fast" in result.stderr
    )


@pytest.mark.parametrize(
    ("limits", "bad"),
    [
        ({"low": 0, "high": 1}, ["2", "-1", "x"]),
        ({"low": 2, "high": 9}, ["1", "10", "-1", "x"]),
        ({"low": 2, "high": 16, "power_of_two": True}, ["1", "3", "15", "17", "-1", "x"]),
        ({"low": 0, "high": 2**32 - 1}, ["-1", "x"]),
        ({"low": 0, "high": 2**32 - 1, "scope": "namespace"}, ["4294967296"]),
    ],
)
def test_bad_values_are_just_outside_the_range(limits: dict[str, Any], bad: list[str]) -> None:
    known = catalogue.modules()["tibet"].parameters["t0_us"]
    assert module_check.bad_values(replace(known, **limits)) == bad


def test_the_guest_gets_the_ranges_from_the_sources() -> None:
    libra = module_check._spec(catalogue.modules()["libra"])
    assert libra["file"] == "/bed/in/tcp_libra.ko"
    assert [setting["name"] for setting in libra["settings"]] == ["libra_capacity_kbps"]
    assert "pacing" in {parameter["name"] for parameter in libra["parameters"]}
