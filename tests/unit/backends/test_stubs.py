"""How guests' kernels hold their processes, and what that makes of their boot and sandbox."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator import sandbox
from orchestrator.backends.guest import Guest, stubs
from orchestrator.backends.guest.boot import GuestBoot, command_of, run_guest
from orchestrator.errors import MachineError, UsageError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario.loader import load_values

HELP = b"seccomp=\0seccomp=<on/auto/off>\n    Configure whether"


def spec(**flow: object) -> RunSpec:
    """Return a run of one flow."""
    values = {
        "version": 1,
        "name": "one",
        "seed": 1,
        "duration": "3s",
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {
                "rate": "10mbit",
                "delay": "10ms",
                "queue": {"kind": "droptail", "limit": "50p"},
            },
            "groups": [{"name": "a", "access": {"rate": "100mbit", "delay": "5ms"}}],
        },
        "flows": [{"name": "one", "group": "a", **flow}],
    }
    return plan(load_values(values, {}, "test")).runs[0]


def guest(folder: Path, content: bytes) -> Guest:
    """Return the back end with a kernel whose program has this content."""
    linux = folder / "linux"
    linux.write_bytes(content)
    return Guest(GuestKernel("1", linux, folder, "7.3.4", {}))


@pytest.fixture(autouse=True)
def _no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(stubs.SWITCH, raising=False)


@pytest.mark.parametrize(
    ("content", "held_by"),
    [(HELP, "seccomp"), (b"seccomp=\0" + b"x" * 9000, "ptrace"), (b"", "ptrace")],
)
def test_a_kernel_that_has_the_option_holds_its_processes_by_seccomp(
    content: bytes, held_by: str, tmp_path: Path
) -> None:
    bed = guest(tmp_path, content)
    run = spec(congestion="cubic")
    boot = bed.boot(run)
    assert boot.stubs == held_by
    assert bed.machine(run).provenance["guest_stubs"] == held_by
    paths = sandbox.SandboxPaths(bed.kernel.linux, (), tmp_path, tmp_path / "in", tmp_path / "out")
    assert ("seccomp=on" in command_of(boot, paths)) == (held_by == "seccomp")


def test_a_kernel_that_was_built_anew_is_looked_at_again(tmp_path: Path) -> None:
    for content, held_by in ((b"old", "ptrace"), (HELP, "seccomp")):
        assert guest(tmp_path, content).boot(spec(congestion="cubic")).stubs == held_by


def test_processes_of_a_scenario_are_held_by_ptrace(tmp_path: Path) -> None:
    run = spec(traffic={"kind": "program", "client": ["/usr/bin/true"]})
    assert guest(tmp_path, HELP).boot(run).stubs == "ptrace"


def test_seccomp_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed, run = guest(tmp_path, HELP), spec(congestion="cubic")
    monkeypatch.setenv(stubs.SWITCH, "off")
    assert bed.boot(run).stubs == "ptrace"
    monkeypatch.setenv(stubs.SWITCH, "on")
    with pytest.raises(UsageError, match=r"ORCHESTRATOR_GUEST_SECCOMP is 'on'\n  fix: set it to"):
        bed.boot(run)


def test_a_kernel_that_holds_processes_by_seccomp_needs_a_file_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.backends.contract import RunContext

    def nothing(_group: int) -> None:
        return

    context = RunContext(tmp_path, 0, nothing, nothing)
    boot = GuestBoot(2**28, 1, (), 2, 3.0, stubs="seccomp")
    paths = sandbox.SandboxPaths(tmp_path, (), tmp_path, tmp_path, tmp_path)
    infinity = resource.RLIM_INFINITY
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda kind: (0, 128 if kind == resource.RLIMIT_NOFILE else infinity),
    )
    with pytest.raises(MachineError, match=r"needs 312 open files, and .* have 128") as refused:
        run_guest(boot, [], paths, context, lambda _phase, _time: None)
    assert "ORCHESTRATOR_GUEST_SECCOMP=off" in str(refused.value)
