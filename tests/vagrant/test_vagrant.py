"""`vagrant up` of the shipped Vagrantfile, from a box of packages to the destroyed machine.

Each test continues where the previous one ended: run the whole file (`make test-vagrant`).
"""

from __future__ import annotations

import json
import shlex
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kmods.catalogue import modules_of
from tests.vagrant import assertions, daemons
from tests.vagrant.machine import BOX, NAME, ORCHESTRATOR, PROJECT, Machine, recap

MODULES = sorted(
    path.stem for path in (PROJECT / "kmods").glob("tcp_*.c") if ".mod" not in path.name
)
PYTHON = "/opt/orchestrator/venv/bin/python"
BOTH = ("testbeds", "lab_hosts")
AS_BOTH = ("--extra-vars=@playbooks/vars/vagrant.yml", "--extra-vars=lab_host_user=vagrant")
_LOADED = "cut -d' ' -f1 /proc/modules"
_BACKLOG = "/proc/sys/net/core/netdev_max_backlog"
_AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
BROUGHT = (
    "/opt/orchestrator",
    "/usr/local/bin/orchestrator",
    "/etc/sysctl.d/60-orchestrator.conf",
    "/etc/modules-load.d/orchestrator.conf",
    "/etc/systemd/system/orchestrator-web.service",
    "/etc/sudoers.d/orchestrator-lab",
    "/var/lib/orchestrator",
    "/usr/src/paper-congestion-controls*",
    "/var/lib/dkms/paper-congestion-controls",
    "/lib/modules/*/updates/dkms/tcp_*",
)


def test_the_vagrantfile_is_valid(machine: Machine) -> None:
    assert "validated successfully" in machine.vagrant("validate", "validate").said


def test_vagrant_up_ends_with_a_doctor_that_passes(machine: Machine) -> None:
    said = machine.vagrant("up", "up").said
    lines = [line.removeprefix(f"    {NAME}: ") for line in said.splitlines()]
    counts = recap("\n".join(lines))
    assert counts["failed"] == counts["unreachable"] == 0
    assert counts["changed"] > 0
    doctor = lines[lines.index("local: ready") :]  # what is missing would be named instead
    assert sum(line.startswith("ok ") for line in doctor) > 10
    assert [line for line in doctor if line.startswith("MISSING")] == []


def test_every_module_was_built_for_the_stock_kernel_and_is_loaded(machine: Machine) -> None:
    release, status, there, now = machine.look(
        "modules", "uname -r", "sudo dkms status", f"cat {_AVAILABLE}", _LOADED
    )
    assert release.endswith("-amd64"), release
    (line,) = [line for line in status.splitlines() if line.startswith("paper-congestion-controls")]
    assert release in line
    assert "installed" in line
    assert ours(now) == working(release)
    assert {name.removeprefix("tcp_") for name in working(release)} <= set(there.split())


def test_the_quickstart_runs_inside(machine: Machine) -> None:
    command = shlex.join(["orchestrator", *assertions.RUN_INSIDE])
    with machine.undisturbed():
        done = machine.inside("run inside", command, good=(0, 3))
    (run,) = json.loads(done.said)["runs"]
    assertions.require_measured(run, "local")
    assert run["fidelity"]["verdict"] != "unfaithful", json.dumps(run["fidelity"])
    machine.utilisation = assertions.utilisation(run)


def test_a_run_from_the_host_stores_its_results_there(machine: Machine, tmp_path: Path) -> None:
    db = tmp_path / "home.db"
    words = [*assertions.RUN_FROM_HOST, "--db", str(db)]
    with machine.undisturbed():
        done = machine.run("run from the host", ORCHESTRATOR, *words, good=(0, 3))
    (run,) = json.loads(done.said)["runs"]
    assertions.require_measured(run, "vagrant")
    release, left = machine.look(
        "after a run from the host", "uname -r", "ls /var/tmp /run | grep -c tcp-orchestrator; true"
    )
    assert run["kernel"] == release
    found = assertions.require_samples(db, run["id"])["vagrant"]
    assertions.require_captures(db, run["id"])
    assert (found["provider"], found["box"]) == ("libvirt", BOX)
    assert left == "0"


def test_a_control_group_bounds_a_sandbox_as_a_whole(machine: Machine) -> None:
    script = (Path(__file__).parent / "control_group.py").read_text(encoding="utf-8")
    command = f"sudo {PYTHON} -c {shlex.quote(script)}"
    said = machine.inside("control group", command).said.splitlines()
    assert said == ["64 MiB of memory in all", "False", "20 processes in all", "False"]


def test_the_results_of_the_machine_are_fetched(machine: Machine) -> None:
    machine.vagrant("results", "provision", "--provision-with", "results")
    copy = PROJECT / "build" / "results-vm.db"
    try:
        assertions.require_only_run(copy, "local")
    finally:
        copy.unlink()


def test_the_dashboard_is_read_only_and_serves_this_host_only(machine: Machine) -> None:
    at = "http://127.0.0.1:8080/"
    with urllib.request.urlopen(at, timeout=60) as answer:
        assert b"quickstart" in answer.read()
    request = urllib.request.Request(at, data=b"x=1", method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value as answer:
        assert answer.code in (403, 405)
    listeners, owner = machine.look(
        "dashboard", "sudo ss -Hltn 'sport = :8080'", "ps -o user:32= -C orchestrator"
    )
    assert listeners.split()[3] == "127.0.0.1:8080"
    assert len(listeners.split()) == 5
    assert set(owner.split()) == {"orchestrator-web"}


def test_a_second_provisioning_and_check_mode_change_nothing(machine: Machine) -> None:
    """Ansible runs in the machine, as with Vagrant, and at the same time on the host."""
    lab_host, both = machine.inventory("lab host", ["lab_hosts"]), machine.inventory("both", BOTH)
    with ThreadPoolExecutor() as beside:
        again = beside.submit(machine.vagrant, "provision again", "provision")
        lab = machine.play("lab host", "site.yml", lab_host, *AS_BOTH)
        checked = machine.play("check mode", "site.yml", both, "--check", *AS_BOTH)
    assert recap(again.result().said.replace(f"    {NAME}: ", ""))["changed"] == 0
    assert lab["failed"] == 0
    assert lab["changed"] > 0  # one more kind of machine than it was
    assert checked["failed"] == checked["changed"] == 0


def test_a_reboot_keeps_modules_values_and_dashboard(machine: Machine) -> None:
    machine.vagrant("reload", "reload")
    release, now, backlog, dashboard = machine.look(
        "after reload",
        "uname -r",
        _LOADED,
        f"cat {_BACKLOG}",
        "systemctl is-active orchestrator-web",
    )
    assert ours(now) == working(release)
    assert (backlog, dashboard) == ("10000", "active")


def test_uninstall_removes_everything(machine: Machine) -> None:
    words = ("--extra-vars=testbed_results_too=true",)
    both = machine.inventory("both", BOTH)
    assert machine.play("uninstall", "uninstall.yml", both, *words)["changed"] > 0
    files = f"ls -d {' '.join(BROUGHT)} 2>/dev/null"
    packages = "dpkg-query -W mininet dkms 2>/dev/null; true"
    left, user, now, backlog, there = machine.look(
        "what is left",
        files,
        "getent passwd orchestrator-web",
        _LOADED,
        f"cat {_BACKLOG}",
        packages,
    )
    assert left == user == there == ""
    assert ours(now) == []
    assert backlog == "1000"


@pytest.mark.thorough
def test_uninstall_changes_nothing_where_nothing_is_set_up(machine: Machine) -> None:
    """Check mode of a first run, and at the same time uninstalling what is not installed."""
    both = machine.inventory("both", BOTH)
    with ThreadPoolExecutor() as beside:
        first = beside.submit(
            machine.play, "check mode of a first run", "site.yml", both, "--check"
        )
        words = ("--extra-vars=testbed_results_too=true",)
        again = machine.play("uninstall again", "uninstall.yml", both, *words)
    assert again["changed"] == again["failed"] == 0
    assert first.result()["failed"] == 0
    assert first.result()["changed"] > 0
    assert machine.inside("nothing was done", "ls -d /opt/orchestrator || true").said == ""


def test_destroy_leaves_nothing(machine: Machine) -> None:
    machine.vagrant("destroy", "destroy", "--force")
    assert NAME not in daemons.virsh("list", "--all", "--name")
    assert not [name for name in daemons.volumes() if name.endswith(f"_{NAME}.img")]
    asked = ["pgrep", "--full", "--list-full", f"guest={PROJECT.name}_{NAME}"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 1


def test_results_inside_were_close_to_the_guests(machine: Machine, tmp_path: Path) -> None:
    """This is last, as the guest kernel is built with the CPU time that the machine leaves."""
    machine.guest.result()
    words = (*assertions.RUN_IN_GUEST, "--db", str(tmp_path / "guest.db"))
    (guest,) = json.loads(machine.run("run in the guest", ORCHESTRATOR, *words).said)["runs"]
    assertions.require_close(machine.utilisation, guest)


def working(release: str) -> list[str]:
    """Return this project's modules that work on a kernel, in order; the others do not load."""
    return sorted(module.source.stem for module in modules_of(release).values())


def ours(modules: str) -> list[str]:
    """Return which of this project's modules a kernel has."""
    return sorted(set(modules.split()) & set(MODULES))
