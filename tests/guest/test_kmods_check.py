"""``orchestrator kmods check`` in the guest: our modules pass, and broken promises are seen."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from guest.build import GuestKernel
from kmods import catalogue
from kmods.catalogue import Module
from orchestrator.execution import module_check

pytestmark = pytest.mark.guest

ORCHESTRATOR = Path(sys.executable).parent / "orchestrator"


def test_modules_keep_their_promises(kernel: GuestKernel) -> None:
    names = ["idealtcp", "logwestwood"]  # one with settings of namespaces, one with powers of two
    command = [str(ORCHESTRATOR), "kmods", "check", *names, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)["modules"]
    assert [row["module"] for row in rows] == names
    for row in rows:
        parameters = catalogue.modules()[row["module"]].parameters
        assert row["ok"]
        asked = {(answer["about"], answer["parameter"]) for answer in row["answers"]}
        for about in ("parameters", "refuses"):
            assert {name for each, name in asked if each == about} - {None} == set(parameters)
        assert {"loads", "unloads"} <= {about for about, _parameter in asked}
        assert row["utilisation"] >= 0.93


def wrong(kernel: GuestKernel, module: Module) -> set[tuple[str, str | None, str]]:
    """Return what of a module's promises the kernel does not keep."""
    (answers,) = module_check.ask_kernel(kernel, [module])
    return {(answer.about, answer.parameter, answer.asked) for answer in answers if not answer.ok}


def promising(name: str, **changed: dict[str, int]) -> Module:
    """Return a module that claims something else of its parameters."""
    module = catalogue.modules()[name]
    parameters = dict(module.parameters)
    for parameter, claims in changed.items():
        parameters[parameter] = replace(parameters[parameter], **claims)  # type: ignore[arg-type]
    return replace(module, parameters=parameters)


def test_a_wrong_default_is_detected(kernel: GuestKernel) -> None:
    module = promising("tibet", t0_us={"default": 5})
    assert wrong(kernel, module) == {("parameters", "t0_us", "by default")}


def test_a_range_that_is_too_wide_is_detected(kernel: GuestKernel) -> None:
    module = promising("tibet", n_cong={"high": 999})
    assert wrong(kernel, module) == {("refuses", "n_cong", "1000")}


def test_a_range_that_is_too_narrow_is_detected(kernel: GuestKernel) -> None:
    module = promising("tibet", rtt_min_floor_us={"low": 0})
    found = wrong(kernel, module)
    assert ("parameters", None, "load with all at their low ends") in found
    assert {about for about, _parameter, _asked in found} == {"parameters", "unloads"}


def test_a_missing_parameter_is_detected(kernel: GuestKernel) -> None:
    module = catalogue.modules()["newreno_ns2"]
    (known,) = module.parameters.values()
    more = replace(module, parameters={known.name: known, "more": replace(known, name="more")})
    found = wrong(kernel, more)
    assert ("parameters", None, "their names, by default") in found
    assert ("parameters", "more", "by default") in found
    assert {parameter for _about, parameter, _asked in found} == {None, "more"}


def test_a_setting_whose_range_is_too_wide_is_detected(kernel: GuestKernel) -> None:
    module = promising("idealtcp", idealtcp_rtt_us={"high": 1000})
    assert wrong(kernel, module) == {
        ("refuses", "idealtcp_rtt_us", "1001"),
        ("parameters", "idealtcp_rtt_us", "after 1001 was refused"),
    }


def test_a_wrong_name_is_detected(kernel: GuestKernel) -> None:
    assert wrong(kernel, replace(catalogue.modules()["csfq"], name="tibet")) == {
        ("loads", None, "is offered to sockets"),
        ("loads", None, "a socket that asks for it gets"),
        ("unloads", None, "while a socket uses it"),
        ("unloads", None, "when nothing uses it"),
    }
