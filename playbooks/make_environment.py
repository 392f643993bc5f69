#!/usr/bin/python3
"""Makes the project's Python environment, by its lock with hashes.

usage: make_environment.py FOLDER READY

FOLDER/venv is made for FOLDER/project, and when it is whole the file READY. Nothing is done if that
is there. Who comes second waits for the first. Needs Debian's python3-venv and nothing else.
"""

from __future__ import annotations

import configparser
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

UV_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}
"""What uv calls pip's settings, and what is between several values."""

# The dashboard's user may write nothing, so what it loads is compiled now, with what a run loads.
LOADED = "import orchestrator.backends.local, orchestrator.cli.run, orchestrator.doctor, web"


def main(folder: Path, ready: Path) -> None:
    """Make the environment unless it is ready."""
    with (folder / ".environment-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            make(folder / "venv", folder / "project")
            ready.touch()


def make(venv: Path, project: Path) -> None:
    """Make ``venv`` anew. Nothing is compiled but what is loaded: most of it is never used.

    uv takes half of the processor's time that pip takes, whose time goes into reading how many
    files there are of each package. It is fetched by the pip that `python3 -m venv` would install.
    """
    python = venv / "bin" / "python"
    run("/usr/bin/python3", "-m", "venv", "--clear", "--without-pip", venv)
    with tempfile.TemporaryDirectory() as tools:
        (wheel,) = Path("/usr/share/python-wheels").glob("pip-*.whl")
        fetch = ["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        fetch += ["--no-compile", "--no-deps", "--require-hashes", f"--target={tools}"]
        lock = project / "playbooks" / "installer.lock"
        run(python, "-m", "pip", *fetch, f"--requirement={lock}", PYTHONPATH=str(wheel))

        install = [f"{tools}/bin/uv", "pip", "install", "--quiet", "--no-cache", "--no-deps"]
        install += [f"--python={python}"]
        settings = {"UV_SYSTEM_CERTS": "1", **pip_settings(os.environ)}
        locked = project / "requirements.lock"
        run(*install, "--require-hashes", f"--requirements={locked}", **settings)
        run(*install, "--no-build-isolation", f"--editable={project}", **settings)
    run(python, "-c", LOADED)


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings as uv's variables.

    uv does not read them, and by them a machine may have an index or an authority of its own. From
    where pip reads them, the later the stronger: pip's user guide, Configuration.
    """
    home = Path(environment.get("HOME", "/root"))
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf"]
    files += [Path(environment.get("XDG_CONFIG_HOME", home / ".config")) / "pip/pip.conf"]
    if "PIP_CONFIG_FILE" in environment:
        files += [Path(environment["PIP_CONFIG_FILE"])]
    read = configparser.RawConfigParser()
    read.read(files)
    told: dict[str, str] = {}
    for section in ("global", "install"):
        told |= dict(read[section]) if read.has_section(section) else {}
    for name in UV_VARIABLES:
        variable = "PIP_" + name.upper().replace("-", "_")
        told |= {name: environment[variable]} if environment.get(variable) else {}
    return {
        variable: between.join(told[name].split())
        for name, (variable, between) in UV_VARIABLES.items()
        if told.get(name)
    }


def run(*words: str | Path, **variables: str) -> None:
    """Run a command, which must succeed."""
    subprocess.run(words, env={**os.environ, **variables}, cwd="/", check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
