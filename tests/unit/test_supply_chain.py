"""Licences, the bill of materials and the query for vulnerabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import supply_chain


def test_every_locked_package_has_an_allowed_licence() -> None:
    packages = supply_chain.locked()
    assert len(packages) > 20
    assert not supply_chain.wrong_licences(packages)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("EPL-2.0 OR GPL-2.0-or-later", True),
        ("BSD-3-Clause AND MIT", True),
        ("BSD-3-Clause AND Apache-2.0", True),
        ("Apache-2.0", True),
        ("Apache-2.0 AND GPL-2.0-only", False),
        ("GPL-2.0-only", False),
        ("GPL-2.0-or-later", False),
        ("GPL-2.0-or-later OR LGPL-2.1-or-later", True),
        ("GPL-3.0-or-later", False),
        ("AGPL-3.0-only", False),
        ("SSPL-1.0", False),
        ("none named", False),
        ("(MIT)", False),
        ("", False),
    ],
)
def test_an_unknown_licence_fails(expression: str, allowed: bool) -> None:
    assert supply_chain.is_allowed(expression) is allowed


def test_a_licence_that_is_not_allowed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"flask": "GPL-3.0-only", "hatchling": "GPL-2.0-only", "dask": "AGPL-3.0-only"}
    monkeypatch.setattr(supply_chain, "licence", lambda name: said.get(name, "MIT"))
    assert supply_chain.main(["licences"]) == 1
    told = capsys.readouterr().err
    assert all(f"{name} " in told for name in said)  # of the program, its build and its extra
    assert "click" not in told


@pytest.mark.build
def test_the_bill_of_materials_is_valid_complete_and_reproducible(tmp_path: Path) -> None:
    from cyclonedx.schema import SchemaVersion  # slow to import, and no other test needs it
    from cyclonedx.validation.json import JsonStrictValidator

    for name in ("first", "second"):
        assert supply_chain.main(["sbom", str(tmp_path / name)]) == 0
    text = (tmp_path / "first").read_text()
    assert text == (tmp_path / "second").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    assert "timestamp" not in document["metadata"]
    components = {component["name"]: component for component in document["components"]}
    for name, version in supply_chain.locked().items():
        assert components[name]["version"] == version
        assert components[name]["purl"] == f"pkg:pypi/{name}@{version}"
    assert {"uplot", "linux-source-6.12", "mininet", "bubblewrap"} <= components.keys()
    (root,) = document["dependencies"]
    assert len(root["dependsOn"]) == len(components)


@pytest.mark.slow
def test_an_unreachable_database_is_not_a_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nothing listens
    status = supply_chain.main(["audit", "--timeout=2", "--cache-dir=/nonexistent"])
    said = capsys.readouterr()
    assert status == supply_chain.NOT_CHECKED
    assert said.err.startswith("not checked: nothing is known of")
    assert "vulnerability" not in said.out


def test_answers_that_leave_packages_out_are_not_a_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = [
        {"name": name, "version": version, "vulns": []}
        for name, version in supply_chain.locked().items()
    ]

    class Done:
        stderr = ""
        returncode = 0
        stdout = ""

    monkeypatch.setattr("subprocess.run", lambda *_words, **_more: Done)
    Done.stdout = json.dumps({"dependencies": whole})
    assert supply_chain.audit() == 0
    Done.stdout = json.dumps({"dependencies": whole[1:]})
    assert supply_chain.audit() == supply_chain.NOT_CHECKED
    Done.stdout = json.dumps({"dependencies": [*whole[1:], whole[0] | {"skip_reason": "odd"}]})
    assert supply_chain.audit() == supply_chain.NOT_CHECKED
    Done.stdout = json.dumps({"dependencies": [*whole[1:], whole[0] | {"vulns": [{"id": "X-1"}]}]})
    assert supply_chain.audit() == 1
    assert f"known vulnerability: {whole[0]['name']}: X-1" in capsys.readouterr().err
