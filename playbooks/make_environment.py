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
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}
"""What uv calls pip's settings, and what is between several values."""

TRUE = {"1", "on", "t", "true", "y", "yes"}

# The dashboard's user may write nothing, so what it loads is compiled now, with what a run loads.
LOADED = (
    "import orchestrator.backends.local, orchestrator.cli.run, orchestrator.execution.doctor, web"
)


def main(folder: Path, ready: Path) -> None:
    """Make the environment unless it is ready."""
    with (folder / ".environment-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            make(folder / "venv", folder / "project")
            ready.touch()


def make(venv: Path, project: Path) -> None:
    """Make ``venv`` anew. Nothing is compiled but what is loaded: most of it is never used.

    uv does it, because pip would spend more than half of its time on reading the index of each
    package. uv is fetched by the pip that `python3 -m venv` would install.
    """
    wheels = sorted(Path("/usr/share/python-wheels").glob("pip-*.whl"))
    if not wheels:
        raise SystemExit("there is no pip to begin with: apt-get install python3-venv")
    python = venv / "bin" / "python"
    run("/usr/bin/python3", "-m", "venv", "--clear", "--without-pip", venv)
    with tempfile.TemporaryDirectory() as tools:
        fetch = ["install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        fetch += ["--no-compile", "--no-deps", "--require-hashes", f"--target={tools}"]
        lock = project / "playbooks" / "installer.lock"
        run(python, "-m", "pip", *fetch, f"--requirement={lock}", PYTHONPATH=str(wheels[-1]))

        options, variables = for_uv(pip_settings(os.environ))
        install = [f"{tools}/bin/uv", "pip", "install", "--quiet", "--no-cache", "--no-deps"]
        install += [f"--python={python}", *options]
        locked = project / "requirements.lock"
        run(*install, "--require-hashes", f"--requirements={locked}", **variables)
        run(*install, "--no-build-isolation", f"--editable={project}", **variables)
    run(python, "-c", LOADED)


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what pip is set to by its files and variables, by the names of its options.

    From where it reads them, the later the stronger: pip's user guide, Configuration.
    """
    home = Path(environment.get("HOME", "/root"))
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf"]
    files += [Path(environment.get("XDG_CONFIG_HOME", home / ".config")) / "pip/pip.conf"]
    named = environment.get("PIP_CONFIG_FILE")
    if named:
        files = [] if named == os.devnull else [*files, Path(named)]
    read = configparser.RawConfigParser()
    read.read(files)
    settings: dict[str, str] = {}
    for section in ("global", "install"):
        settings |= dict(read[section]) if read.has_section(section) else {}
    settings |= {
        name.removeprefix("PIP_").lower(): value
        for name, value in environment.items()
        if name.startswith("PIP_") and value
    }
    return {name.replace("_", "-"): value for name, value in settings.items()}


def for_uv(settings: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return options and variables that give uv the settings of pip, which uv does not read.

    A machine may have its own index or certificate authority there. As with pip, each of several
    indexes may have a package. Hashes prove that it is the right one.
    """
    options = ["--no-index"] * (settings.get("no-index", "").lower() in TRUE)
    variables = {
        variable: between.join(settings[name].split())
        for name, (variable, between) in UV_VARIABLES.items()
        if settings.get(name)
    }
    return options, {
        "UV_SYSTEM_CERTS": "1",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        **variables,
    }


def run(*words: str | Path, **variables: str) -> None:
    """Run a command, which must succeed; it says itself what is wrong."""
    done = subprocess.run(words, env={**os.environ, **variables}, cwd="/", check=False)
    if done.returncode != 0:
        raise SystemExit(f"failed with status {done.returncode}: {' '.join(map(str, words))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
