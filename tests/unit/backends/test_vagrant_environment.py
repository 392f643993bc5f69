"""What makes the project's environment on a machine takes pip's settings for its own installer."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "playbooks" / "make_environment.py"


@pytest.fixture
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_environment", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_mirror_and_its_authority_are_used(tmp_path: Path, program: ModuleType) -> None:
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\ncert = /old\ntimeout = 7\n")
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex_url = https://u:p%%40@mirror.example.org/simple\ncert = /own.pem\n"
        "[install]\nextra-index-url =\n  https://one.example.org\n  https://two.example.org\n"
        "find-links = /a /b\nno-index = false\n"
    )
    home = {"HOME": str(tmp_path)}
    options, variables = program.for_uv(program.pip_settings(home))
    assert options == []
    assert variables["UV_DEFAULT_INDEX"] == "https://u:p%%40@mirror.example.org/simple"
    assert variables["SSL_CERT_FILE"] == "/own.pem"
    assert variables["UV_HTTP_TIMEOUT"] == "7"
    assert variables["UV_INDEX"] == "https://one.example.org https://two.example.org"
    assert variables["UV_FIND_LINKS"] == "/a,/b"
    stronger = {"PIP_INDEX_URL": "https://other.example.org", "PIP_CERT": "", "PIP_NO_INDEX": "1"}
    assert program.for_uv(program.pip_settings({**home, **stronger})) == (
        ["--no-index"],
        {**variables, "UV_DEFAULT_INDEX": "https://other.example.org"},
    )


def test_a_file_of_settings_may_be_named(tmp_path: Path, program: ModuleType) -> None:
    (tmp_path / "named").write_text("[global]\ncert = /named.pem\n")
    named = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "named")}
    assert program.pip_settings(named)["cert"] == "/named.pem"
    assert "cert" not in program.pip_settings({"PIP_CONFIG_FILE": os.devnull})


def test_nothing_is_made_where_it_is_ready(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    words = [sys.executable, str(PROGRAM), str(tmp_path), str(tmp_path / "ready")]
    subprocess.run(words, check=True)
    assert not (tmp_path / "venv").exists()
