"""What is read from the modules' sources, and what a scenario may say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kmods import build, catalogue
from orchestrator.errors import ScenarioError
from orchestrator.plan import plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).resolve().parents[2] / "scenarios" / "quickstart.yaml"
NAMES = sorted(catalogue.modules())

SOURCE = """\
// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module.
 *
 * Shown by get_info and the trace: bw the rate, min_rtt RTTmin, pacing_gain a
 * window in segments, cwnd_gain nothing.
 */
CC_PARAM(first, 3, 1, 9, "what; it does");
CC_PARAM_CHECKED(second, 4, 2, 64, true,
                 "a power of two");
CC_PARAM(third, 0, 0, 1, CC_LATER_TEXT);
static struct tcp_congestion_ops ops = { .name = "example", };
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tcp_example.c").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "cc.h").write_text('#define CC_LATER_TEXT \\\n\t"one " \\\n\t"two"\n', "utf-8")
    return tmp_path


def test_a_module_is_read_from_its_source(folder: Path) -> None:
    (module,) = catalogue.modules(folder).values()
    assert module.name == "example"
    texts = {name: parameter.text for name, parameter in module.parameters.items()}
    assert texts == {"first": "what; it does", "second": "a power of two", "third": "one two"}
    assert [(p.default, p.low, p.high) for p in module.parameters.values()] == [
        (3, 1, 9),
        (4, 2, 64),
        (0, 0, 1),
    ]
    assert module.shown == (
        ("the rate", "bytes/s"),
        ("RTTmin", "us"),
        ("a window", "segments"),
        ("nothing", ""),
    )


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("first", 1, None),
        ("first", 9, None),
        ("first", 10, "first takes from 1 to 9, not 10"),
        ("first", 0, "first takes from 1 to 9, not 0"),
        ("second", 32, None),
        ("second", 33, "second takes powers of two from 2 to 64, not 33"),
    ],
)
def test_a_value_must_fit(folder: Path, name: str, value: int, fault: str | None) -> None:
    assert catalogue.modules(folder)["example"].parameters[name].fault(value) == fault


@pytest.mark.parametrize("name", NAMES)
def test_every_module_says_what_it_takes_and_shows(name: str) -> None:
    module = catalogue.modules()[name]
    assert module.source.name == f"tcp_{name}.c"
    assert len(module.shown) == 4, "the line `Shown by get_info and the trace: ...` is missing"
    for parameter in module.parameters.values():
        assert parameter.fault(parameter.default) is None
        assert parameter.text


def test_the_build_is_known_by_its_sources(folder: Path) -> None:
    (folder / "Kbuild").write_text("obj-m := tcp_example.o\n", encoding="utf-8")
    before = build._key(folder)
    assert build._key(folder) == before
    (folder / "unrelated.txt").write_text("nothing", encoding="utf-8")
    assert build._key(folder) == before
    (folder / "cc.h").write_text("/* changed */\n", encoding="utf-8")
    assert build._key(folder) != before


def planned(*congestion: str) -> dict[str, int]:
    overrides = [
        f"flows.{flow}.congestion={value}"
        for flow, value in zip(("westwood", "reno"), congestion, strict=False)
    ]
    (run,) = plan(load(QUICKSTART, overrides)).runs
    return run.flows[0].parameters


def test_parameters_reach_the_plan() -> None:
    assert planned("{name: logwestwood, parameters: {alpha_max: 64}}") == {"alpha_max": 64}


@pytest.mark.parametrize(
    ("congestion", "said"),
    [
        (["{name: logwestwood, parameters: {alpha: 64}}"], "has no parameter `alpha`"),
        (["{name: logwestwood, parameters: {alpha: 64}}"], "valid: mode, alpha_min, alpha_max"),
        (["{name: logwestwood, parameters: {alpha_max: 65}}"], "takes powers of two from 2"),
        (["{name: logwestwood, parameters: {alpha_max: much}}"], "whole number"),
        (["{name: westwood, parameters: {alpha: 1}}"], "`westwood` takes no parameters"),
        (["logwestwod"], "did you mean `logwestwood`?"),
        (
            ["{name: tibet, parameters: {t0_us: 500000}}", "tibet"],
            "parameters of tibet hold for the whole kernel, and flow 0 gives others",
        ),
    ],
)
def test_what_does_not_fit_is_refused(congestion: list[str], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planned(*congestion)
    assert said in str(caught.value)
