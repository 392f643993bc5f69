from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.protocol.version import SPECIFICATION_VERSION, VersionError, check_version
from orchestrator.testbed import init, local
from orchestrator.testbed.lab import agent, survey

OTHER = SPECIFICATION_VERSION + 1
WHY = "use the controller and the test bed of one version"


def test_the_version_of_this_package_is_accepted() -> None:
    check_version({"version": SPECIFICATION_VERSION})


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"version": OTHER}, f"version {OTHER}"),
        ({"version": str(SPECIFICATION_VERSION)}, f"version '{SPECIFICATION_VERSION}'"),
        ({"version": float(SPECIFICATION_VERSION)}, f"version {float(SPECIFICATION_VERSION)}"),
        ({}, "no version"),
        ([], "no version"),
    ],
)
def test_any_other_is_refused_with_both_versions_and_what_to_do(document: Any, found: str) -> None:
    with pytest.raises(VersionError) as refused:
        check_version(document)
    assert str(refused.value) == (
        f"the specification has {found}, and this test bed knows version "
        f"{SPECIFICATION_VERSION}; {WHY}"
    )


def given(folder: Path) -> Path:
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    (folder / "in" / "spec.json").write_text(json.dumps({"version": OTHER}), encoding="utf-8")
    return folder


def test_a_guest_refuses_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init, "INPUT", str(given(tmp_path) / "in"))
    with pytest.raises(VersionError, match=WHY):
        init._spec()


def test_a_local_bed_reports_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOCK", str(tmp_path / "lock"))
    folder = given(tmp_path)
    assert local.main(str(folder / "in"), str(folder / "out")) == 1
    assert WHY in (folder / "out" / "failure").read_text(encoding="utf-8")


def test_a_lab_agent_reports_another_version_to_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(agent, "say", lambda what, **values: said.append({"say": what, **values}))
    monkeypatch.setattr(agent, "LoadMonitor", lambda *_arguments, **_named: None)
    monkeypatch.setattr(agent, "_listen", lambda *_arguments: None)
    monkeypatch.setattr("signal.signal", lambda *_arguments: None)
    assert agent.work(str(given(tmp_path)), ()) == 1
    (failure,) = said
    assert failure["say"] == "failed"
    assert WHY in failure["problem"]


def test_a_survey_refuses_a_request_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["survey", "/nowhere"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"version": OTHER})))
    with pytest.raises(VersionError, match=WHY):
        survey.main()
