"""What the test bed does on real machines: modules, preflight, load, the Pythons that run it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.backends import local
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import MachineError, UsageError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.examination import Needs
from orchestrator.protocol.reports.machine_facts import Load, Machine
from orchestrator.scenario import load
from orchestrator.testbed import machines, preflight
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import modules, system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.network import readback
from orchestrator.testbed.sampling import host_load

ROOT = Path(__file__).resolve().parents[3]
TESTBED = ROOT / "orchestrator" / "testbed"
PROTOCOL = ROOT / "orchestrator" / "protocol"
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
BOTTLENECK = "topology.bottleneck"


def run(*overrides: str) -> RunSpec:
    (spec,) = plan(load(QUICKSTART, overrides)).runs
    return spec


# ---- the Pythons -------------------------------------------------------------------------------


def checked(version: str, *paths: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Let mypy check files or folders against the library of that Python version."""
    words = [sys.executable, "-m", "mypy", "--python-version", version, "--follow-imports=silent"]
    words += ["--cache-dir", str(cache), *map(str, paths)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.build
@pytest.mark.parametrize(
    "version",
    ["3.10", "3.13", *(pytest.param(each, marks=pytest.mark.long) for each in ("3.11", "3.12"))],
)
def test_every_python_of_a_machine_can_run_the_bed(version: str, tmp_path: Path) -> None:
    answer = checked(version, TESTBED, PROTOCOL, cache=tmp_path / "cache")
    assert answer.returncode == 0, answer.stdout


@pytest.mark.build
@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("3.10", "import tomllib\n"),
        ("3.10", "try:\n    pass\nexcept* ValueError:\n    pass\n"),
        ("3.10", "import contextlib\n\ncontextlib.chdir('/')\n"),
        ("3.13", "import distutils.version\n"),
    ],
)
def test_what_a_python_lacks_is_seen(version: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text(text)
    assert checked(version, tmp_path / "part.py", cache=tmp_path / "cache").returncode != 0


# ---- modules -----------------------------------------------------------------------------------


def test_a_run_needs_the_modules_of_its_queues_policers_and_flows() -> None:
    policer = f"{BOTTLENECK}.policer={{rate: 9mbit, burst: 60kB}}"
    queue = f"{BOTTLENECK}.queue={{kind: fq_codel}}"
    spec = run(queue, policer, "flows.reno.congestion=vegas")
    document: Any = bed_spec(spec, 2**30)
    document["modules"] = [
        {"name": name, "parameters": ""} for name in ("tcp_vegas", "tcp_westwood")
    ]
    by_bed = modules.needed(document)
    assert by_bed >= {
        "sch_link", "sch_fq_codel", "act_police", "openvswitch", "sch_netem", "tcp_vegas",
    }  # fmt: skip
    asked = local.needs([spec])
    assert set(asked["modules"]) == by_bed  # preflight asks for what the bed will load
    assert "sch_pfifo" not in by_bed
    assert asked["io_uring"] is False
    assert "ovs-vswitchd" in asked["programs"]


def test_what_flows_need_is_asked_for() -> None:
    asked = local.needs([run("flows.reno.congestion=logwestwood")])
    assert asked["ours"] == ["sch_link", "tcp_logwestwood"]
    assert {"tcp_logwestwood", "tcp_westwood"} <= set(asked["modules"])
    asked = local.needs([run("flows.reno.traffic={kind: bulk, engine: iperf3}")])
    assert "iperf3" in asked["programs"]
    asked = local.needs(
        [run("flows.reno={name: reno, group: b, traffic: {kind: cbr, rate: 1mbit}}")]
    )
    assert asked["io_uring"] is True


def test_a_users_own_module_is_for_the_guest() -> None:
    own = ROOT / "scenarios" / "own-module" / "own-module.yaml"
    with pytest.raises(UsageError, match="run this scenario with --backend guest"):
        local.needs(plan(load(own)).runs)


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Parameters of a module as /sys/module has them."""
    folder = tmp_path / "tcp_some_cc" / "parameters"
    folder.mkdir(parents=True)
    (folder / "alpha").write_text("7\n")
    monkeypatch.setattr(modules, "SYSFS", str(tmp_path))
    monkeypatch.setattr(modules, "is_there", lambda name: True)
    return folder


def asked(parameters: str) -> Any:
    spec = bed_spec(run(), 2**30)
    return {**spec, "modules": [{"name": "tcp_some-cc", "parameters": parameters}]}


def test_parameters_are_given_back(sysfs: Path) -> None:
    with modules.loaded(asked("alpha=9"), "/none") as found:
        assert (sysfs / "alpha").read_text() == "9"
        assert found["tcp_some-cc"]["parameters"] == {"alpha": "9"}
    assert (sysfs / "alpha").read_text() == "7\n"
    with pytest.raises(KeyError), modules.loaded(asked("alpha=9"), "/none"):
        raise KeyError
    assert (sysfs / "alpha").read_text() == "7\n"


def test_a_parameter_that_is_not_there_is_refused_before_any_is_set(sysfs: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"beta is not there: the module takes no such"),
        modules.loaded(asked("alpha=9 beta=1"), "/none"),
    ):
        raise AssertionError("the run began")
    assert (sysfs / "alpha").read_text() == "7\n"


def test_modules_are_loaded_one_by_one_unless_they_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modprobe = tmp_path / "modprobe"
    refuse = 'test "$1" != tcp_vegas || { echo no >&2; exit 1; }'
    modprobe.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n{refuse}\n')
    modprobe.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(modules, "is_there", lambda name: name == "sch_ingress")
    spec: Any = {**bed_spec(run(), 2**30), "modules": [{"name": "tcp_vegas", "parameters": ""}]}
    with (
        pytest.raises(RuntimeError, match=r"^modprobe tcp_vegas: no$"),
        modules.loaded(spec, "/none"),
    ):
        raise AssertionError("the run began")
    said = (tmp_path / "said").read_text().splitlines()
    assert "sch_link" in said
    assert "sch_netem" in said
    assert "sch_ingress" not in said


@pytest.mark.parametrize("installed", [True, False])
def test_the_module_that_only_counts_is_loaded_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: bool
) -> None:
    modprobe = tmp_path / "modprobe"
    refuse = "" if installed else 'case "$*" in *run_counts) exit 1 ;; esac'
    modprobe.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n{refuse}\n')
    modprobe.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(modules, "is_there", lambda name: False)
    with modules.loaded({**bed_spec(run(), 2**30), "modules": []}, "/none"):
        pass
    said = (tmp_path / "said").read_text().splitlines()
    assert ("run_counts" in said) == installed
    assert "sch_link" in said


# ---- preflight ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_preflight_names_what_is_missing_and_its_fix() -> None:
    needs: Needs = {
        "modules": ["sch_nosuch", "tcp_nosuch"],
        "ours": ["tcp_nosuch"],
        "programs": ["iperf3"],
        "io_uring": False,
    }
    found = {each["name"]: each for each in local.ask(needs)}
    assert all(each["ok"] != bool(each["fix"]) for each in found.values())
    assert "DKMS" in found["tcp_nosuch"]["fix"]
    assert found["sch_nosuch"]["fix"].startswith("apt-get install linux-modules-extra-")
    assert found["mininet"]["ok"] is True
    with pytest.raises(MachineError) as raised:
        local.require_all(found.values(), "the host one")
    assert "the host one cannot run this in real time\n" in str(raised.value)
    assert "\n  tcp_nosuch: no such kernel module" in str(raised.value)


@pytest.mark.parametrize(
    ("missing", "fix"),
    [
        ("distutils", "apt-get install python3-setuptools"),
        ("mininet", "apt-get install mininet"),
    ],
)
def test_a_mininet_that_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, missing: str, fix: str
) -> None:
    def importing(name: str, *more: object) -> object:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr("builtins.__import__", importing)
    found = preflight._mininet()
    monkeypatch.undo()
    detail = f"No module named {missing!r}"
    assert found == {"name": "mininet", "ok": False, "detail": detail, "fix": fix}


@pytest.mark.parametrize(
    ("release", "version"),
    [("6.1.0-56-amd64", (6, 1)), ("5.15.0-1051-kvm", (5, 15)), ("6.12.117+deb12-amd64", (6, 12))],
)
def test_versions_of_kernels(
    monkeypatch: pytest.MonkeyPatch, release: str, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(
        os, "uname", lambda: os.uname_result(("Linux", "n", release, "v", "x86_64"))
    )
    assert system.linux_version() == version


class NotMonitored(host_load.LoadMonitor):
    """A load monitor without a process."""

    def __init__(self) -> None:
        pass


def test_an_older_kernel_s_netem_gets_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(version: tuple[int, int]) -> tuple[bool, bool]:
        spec = bed_spec(run("topology.bottleneck.loss=1%"), 2**30)
        host = Machine(node="here")
        monkeypatch.setattr(system, "linux_version", lambda: version)
        spec["switches"] = []
        machines.RealMachine(host, NotMonitored()).begin(spec)
        netem = spec["links"][0]["forward"]["netem"]
        assert netem is not None
        seeded = any(setting["name"] == "seed" for setting in netem["settings"])
        return seeded, host["netem_seeded"]

    assert begun((6, 1)) == (False, False)
    assert begun((6, 6)) == (True, True)


# ---- load --------------------------------------------------------------------------------------


def stolen_s(cpu: int) -> float:
    """Return the time that a hypervisor has taken from a CPU since boot (/proc/stat)."""
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    fields = next(line.split()[1:] for line in lines if line.startswith(f"cpu{cpu} "))
    return int(fields[7]) / os.sysconf("SC_CLK_TCK")


def load_beside_a_loop(cpu: int, duration_ns: int) -> Load:
    """Monitor a CPU from a process of its own on it, as the bed is, while a loop keeps it busy."""
    program = (
        f"import os; os.sched_setaffinity(0, {{{cpu}}}); os.write(1, b'x')\nwhile True: pass\n"
    )
    results, given = os.pipe()
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as loop:
        try:
            assert loop.stdout is not None
            assert loop.stdout.read(1) == b"x"  # however long it takes to start
            process = os.fork()
            if process == 0:
                try:
                    os.sched_setaffinity(0, {cpu})
                    with contextlib.suppress(PermissionError):  # of others than root
                        os.setpriority(os.PRIO_PROCESS, 0, -20)
                    monitor = host_load.LoadMonitor()
                    monitor.start(system.monotonic_ns() + 50_000_000, duration_ns)
                    os.write(given, json.dumps(monitor.result()).encode())
                finally:
                    os._exit(0)
            os.waitpid(process, 0)
        finally:
            loop.kill()
    os.close(given)
    with os.fdopen(results) as pipe:
        text = pipe.read()
    found: Load = json.loads(text)
    return found


@pytest.mark.slow
def test_the_machine_is_monitored_while_a_loop_keeps_it_busy() -> None:
    cpu = min(os.sched_getaffinity(0))
    before_s = stolen_s(cpu)
    found = load_beside_a_loop(cpu, 1_500_000_000)
    after_s = stolen_s(cpu)
    seconds = found["seconds"]
    assert found["cpu"] == cpu
    assert found["wakeups"] + found["missed"] == 150
    assert found["wakeups"] > found["missed"]
    assert len(seconds) == 2
    assert found["late_ns"]["max"] == max(second["late_ns"] for second in seconds)
    first, last = seconds
    assert first["own"] + first["others"] + first["softirq"] + first["steal"] > 0.8
    # Only what a hypervisor takes from the loop is steal: no more than this process reads itself.
    assert first["steal"] + last["steal"] / 2 < after_s - before_s + 0.1
    assert first["idle"] < 0.2


@pytest.mark.parametrize(("stall_ms", "missed", "latest_ms"), [(0, 1, 0), (430, 2, 420)])
def test_a_machine_that_stands_still_while_its_counters_are_read_was_late(
    monkeypatch: pytest.MonkeyPatch, stall_ms: int, missed: int, latest_ms: int
) -> None:
    """A clock of the test's; each reading takes 10 ms, the second one the stall as well."""
    now_ns, readings = 0, 0

    class Reading:
        def __init__(self, *_: object) -> None:
            nonlocal now_ns, readings
            self.time_ns = now_ns
            readings += 1
            now_ns += 10_000_000 + (stall_ms * 1_000_000 if readings == 2 else 0)

    def sleep(seconds: float) -> None:
        nonlocal now_ns
        now_ns += round(seconds * 1e9)

    def second(before: Reading, after: Reading, late_ns: int) -> dict[str, int]:
        return {"late_ns": late_ns}

    monkeypatch.setattr(system, "monotonic_ns", lambda: now_ns)
    monkeypatch.setattr(system, "set_exact_timers", lambda: None)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(host_load, "_CpuCounters", Reading)
    monkeypatch.setattr(host_load, "_second", second)
    found = host_load._measured(0, 2_000_000_000, None, 0, None)
    assert (found["wakeups"] + found["missed"], found["missed"]) == (200, missed)
    assert found["late_ns"]["max"] == pytest.approx(latest_ms * 1e6, abs=20e6)
    assert [each["late_ns"] > 300e6 for each in found["seconds"]] == [False, stall_ms > 0]


@pytest.mark.slow
def test_what_the_sampler_does_on_another_cpu_is_no_load_of_the_packets() -> None:
    allowed = os.sched_getaffinity(0)
    spare = allowed - {max(allowed)}
    watched = os.fork()
    if watched == 0:
        status = 1
        try:
            os.setpgid(0, 0)
            os.sched_setaffinity(0, {max(allowed)})
            monitor = host_load.LoadMonitor(spare, shared=True)
            origin_ns = system.monotonic_ns() + 50_000_000
            monitor.start(origin_ns, 1_000_000_000)
            monitor.leave()
            stays = os.sched_getaffinity(0) == (spare or {max(allowed)})
            while system.monotonic_ns() < origin_ns + 1_100_000_000:
                pass
            (second,) = monitor.result()["seconds"]
            status = 0 if stays and (second["own"] < 0.3) == bool(spare) else 2
        finally:
            os._exit(status)
    assert os.waitpid(watched, 0)[1] == 0


def test_who_samples_elsewhere_is_back_among_the_packets_to_send_something() -> None:
    allowed = os.sched_getaffinity(0)
    cpu = {max(allowed)}
    watched = os.fork()
    if watched == 0:
        status = 1
        try:
            os.sched_setaffinity(0, cpu)
            monitor = host_load.LoadMonitor(allowed - cpu)
            monitor.leave()
            with contextlib.suppress(KeyError), monitor.among_packets():
                there = os.sched_getaffinity(0)
                raise KeyError
            status = 0 if (there, os.sched_getaffinity(0)) == (cpu, allowed - cpu or cpu) else 2
        finally:
            os._exit(status)
    assert os.waitpid(watched, 0)[1] == 0


def test_a_monitor_of_a_bed_that_fails_ends_with_it() -> None:
    watched = os.fork()
    if watched == 0:
        host_load.LoadMonitor()
        os._exit(0)
    assert os.waitpid(watched, 0)[1] == 0


# ---- sysctls -----------------------------------------------------------------------------------


def test_an_error_of_a_kernel_without_a_sysctl_says_so() -> None:
    with pytest.raises(OSError, match=r"Linux .* has no sysctl net\.ipv4\.nosuch") as raised:
        write_sysctl("net.ipv4.nosuch", 1)
    assert raised.value.errno == errno.ENOENT


class OneHost:
    """What ``readback`` asks of a network with one host, in this process's namespace."""

    def __init__(self) -> None:
        self.spec = {"real_time": True}
        self.net = SimpleNamespace(hosts=[SimpleNamespace(name="a_src0")])
        self.namespaces = {"a_src0": {"net.ipv4.ip_forward", "net.ipv4.nosuch"}}

    def enter(self, name: str) -> contextlib.AbstractContextManager[None]:
        assert name == "a_src0"
        return contextlib.nullcontext()


NO_SUCH = r"^Linux \S+ has no sysctl net\.ipv4\.nosuch$"


def test_a_sysctl_that_the_kernel_lacks_is_named_when_it_is_read_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bed: Any = OneHost()
    assert readback.required_sysctl("net.ipv4.ip_forward") in ("0", "1")
    with pytest.raises(BuildError, match=NO_SUCH):
        readback.required_sysctl("net.ipv4.nosuch")
    with pytest.raises(BuildError, match=NO_SUCH):
        readback.namespaces(bed)
    monkeypatch.setattr(readback, "SYSCTLS_THAT_MATTER", ("net.ipv4.ip_forward",))
    found = readback.sysctls(readback.HostSysctls(bed).read())
    assert set(found["every_host"]) == {"net.ipv4.ip_forward"}
    monkeypatch.setattr(readback, "SYSCTLS_THAT_MATTER", ("net.ipv4.ip_forward", "net.ipv4.nosuch"))
    with pytest.raises(BuildError, match=NO_SUCH):
        readback.HostSysctls(bed)
