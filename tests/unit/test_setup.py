"""The set-up's lists of packages, and its message on an unknown system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from results.report import PACKAGES

SETUP = Path(__file__).parents[2] / "tools/setup"


def run_setup(
    *words: str, system: tuple[str, str], folder: Path, path: str = os.defpath
) -> subprocess.CompletedProcess[str]:
    release = folder / "os-release"
    release.write_text(f'NAME="Some Linux"\nID={system[0]}\nVERSION_ID="{system[1]}"\n')
    return subprocess.run(
        ["/bin/bash", SETUP, *words],
        env={"PATH": path, "SETUP_OS_RELEASE": str(release), "PYTHON": "/nonexistent/python"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("system", "has_source", "python"),
    [
        (("debian", "12"), True, "/usr/bin/python3"),
        (("debian", "13"), True, "/usr/bin/python3"),
        (("ubuntu", "22.04"), False, "/usr/bin/python3.11"),
        (("ubuntu", "24.04"), False, "/usr/bin/python3"),
    ],
)
def test_each_system_has_its_packages(
    system: tuple[str, str], has_source: bool, python: str, tmp_path: Path
) -> None:
    packages = run_setup("list", "run", system=system, folder=tmp_path).stdout.split()
    assert {"mininet", "bubblewrap", "build-essential"} <= set(packages)
    assert ("linux-source-6.12" in packages) is has_source
    more = run_setup("list", "test", system=system, folder=tmp_path).stdout.split()
    assert set(packages) < set(more)
    most = run_setup("list", "long", system=system, folder=tmp_path).stdout.split()
    assert set(most) - set(more) == {"tshark", "tcpdump", "tcptrace", "ffmpeg"}
    assert run_setup("python", system=system, folder=tmp_path).stdout == f"{python}\n"


@pytest.mark.slow
@pytest.mark.parametrize("system", [("fedora", "41"), ("arch", ""), ("debian", "11")])
def test_on_other_systems_one_error_names_what_is_missing(
    system: tuple[str, str], tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sed", "cat", "gcc"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = run_setup("run", system=system, folder=tmp_path, path=str(tools))
    assert done.returncode == 4
    assert f"this is {' '.join(system)}" in done.stderr
    missing = done.stderr.splitlines()
    assert "  the program flex" in missing
    assert "  the program gcc" not in missing
    assert any(line.startswith("  /nonexistent/python 3.11 or later") for line in missing)
    assert "ORCHESTRATOR_KERNEL_SOURCE" in done.stderr
    assert "  the program tshark" not in missing
    longer = run_setup("long", system=system, folder=tmp_path, path=str(tools)).stderr.splitlines()
    assert {"  the program tshark", "  the program chromium", "  the program flex"} <= set(longer)


def test_setup_and_playbooks_install_the_same_packages_for_the_test_bed(tmp_path: Path) -> None:
    lines = (SETUP.parent / "testbed.packages").read_text().splitlines()
    packages = {line for line in lines if not line.startswith("#")}
    assert {"mininet", "openvswitch-switch", "iperf3"} < packages
    listed = run_setup("list", "run", system=("debian", "12"), folder=tmp_path).stdout.split()
    assert packages < set(listed)
    reports = (SETUP.parent / "report.packages").read_text().splitlines()
    assert {line for line in reports if not line.startswith("#")} < set(listed)
    assert [line for line in reports if not line.startswith("#")] == PACKAGES.split()
    roles = SETUP.parents[1] / "playbooks/roles"
    mininet = (roles / "mininet/defaults/main.yml").read_text()
    assert "'/../tools/testbed.packages'" in mininet
    testbed = (roles / "testbed/defaults/main.yml").read_text()
    assert "'/../tools/report.packages'" in testbed
    assert not [name for name in packages if f"'{name}'" in mininet]
    lab_host = (roles / "lab_host/defaults/main.yml").read_text()
    match = re.search(r"^lab_host_packages: \[(.+)\]$", lab_host, re.MULTILINE)
    assert match
    # A lab host needs no emulated network; the others are of the system, not of the test bed.
    own = set(match[1].split(", ")) - {"python3", "sudo", "tar"}
    assert own == packages - {"mininet", "openvswitch-switch"}


def test_wrong_usage_is_refused(tmp_path: Path) -> None:
    assert run_setup("all", system=("debian", "12"), folder=tmp_path).returncode == 2
