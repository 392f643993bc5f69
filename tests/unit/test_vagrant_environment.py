"""What makes the project's environment on a machine takes pip's settings for its own installer."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "playbooks" / "make_environment.py"


@pytest.fixture
def pip_settings() -> Callable[[Mapping[str, str]], dict[str, str]]:
    spec = importlib.util.spec_from_file_location("make_environment", PROGRAM)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Mapping[str, str]], dict[str, str]] = module.pip_settings
    return found


def test_a_mirror_and_its_authority_are_used(
    tmp_path: Path, pip_settings: Callable[[Mapping[str, str]], dict[str, str]]
) -> None:
    (tmp_path / ".pip").mkdir()
    (tmp_path / ".pip" / "pip.conf").write_text("[global]\ncert = /old\ntimeout = 7\n")
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://u:p%%40@mirror.example.org/simple\ncert = /own.pem\n"
        "[install]\nextra-index-url =\n  https://one.example.org\n  https://two.example.org\n"
        "find-links = /a /b\n"
    )
    home = {"HOME": str(tmp_path)}
    told = pip_settings(home)
    assert told["UV_DEFAULT_INDEX"] == "https://u:p%%40@mirror.example.org/simple"
    assert told["SSL_CERT_FILE"] == "/own.pem"
    assert told["UV_HTTP_TIMEOUT"] == "7"
    assert told["UV_INDEX"] == "https://one.example.org https://two.example.org"
    assert told["UV_FIND_LINKS"] == "/a,/b"
    stronger = {"PIP_INDEX_URL": "https://other.example.org", "PIP_CERT": ""}
    assert pip_settings({**home, **stronger}) == {
        **told,
        "UV_DEFAULT_INDEX": "https://other.example.org",
    }
    (tmp_path / "named").write_text("[global]\ncert = /named.pem\n")
    assert (
        pip_settings({**home, "PIP_CONFIG_FILE": str(tmp_path / "named")})["SSL_CERT_FILE"]
        == "/named.pem"
    )


def test_nothing_is_made_where_it_is_ready(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    words = [sys.executable, str(PROGRAM), str(tmp_path), str(tmp_path / "ready")]
    subprocess.run(words, check=True)
    assert not (tmp_path / "venv").exists()
