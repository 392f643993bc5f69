"""The table of traffic engines, and a made-up engine that no other file names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import pytest

from orchestrator.backends import local
from orchestrator.backends.lab import check
from orchestrator.kinds.traffic.bulk import Engine as BulkEngine
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import engines
from orchestrator.protocol.engines import ENGINES, Engine, Program
from orchestrator.protocol.examination import Needs
from orchestrator.protocol.specification import FlowSpec
from orchestrator.sandbox import limits
from orchestrator.scenario import load
from orchestrator.testbed import preflight, traffic
from orchestrator.testbed.network import readback

ROOT = Path(__file__).resolve().parents[3]
MADE_UP = Engine(
    exact_under_sampling=False,
    fit_for_lab=True,
    programs=(Program("true", "coreutils"),),
    processes=3,
    closes_early=True,
)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ENGINES, "made-up", MADE_UP)
    return "made-up"


def with_engine(name: str, scenario: str = "quickstart.yaml") -> RunSpec:
    run = plan(load(ROOT / "scenarios" / scenario)).runs[0]
    return replace(run, flows=tuple(replace(flow, engine=name) for flow in run.flows))


def test_the_table_and_the_test_bed_have_the_same_engines() -> None:
    assert set(ENGINES) == set(traffic.engines())
    assert set(get_args(BulkEngine)) <= set(ENGINES)


def test_no_other_file_tests_for_an_engine_by_name() -> None:
    kinds = ROOT / "orchestrator" / "kinds" / "traffic"
    bed = ROOT / "orchestrator" / "testbed" / "traffic"
    table = ROOT / "orchestrator" / "protocol" / "engines.py"
    for path in (ROOT / "orchestrator").rglob("*.py"):
        if path != table and not path.is_relative_to(kinds) and not path.is_relative_to(bed):
            text = path.read_text()
            assert not any(f'engine == "{name}"' in text for name in ENGINES), path
            assert not any(f'"engine"] == "{name}"' in text for name in ENGINES), path
            assert '"iperf3"' not in text, path


def test_machines_are_checked_for_an_engines_programs(made_up: str) -> None:
    assert "true" in local.needs([with_engine(made_up)])["programs"]
    assert "true" not in local.needs([with_engine("builtin")])["programs"]
    needs: Needs = {"programs": ["true"], "modules": [], "ours": [], "io_uring": False}
    (found,) = [finding for finding in preflight.findings(needs) if finding["name"] == "true"]
    assert found["ok"]


def test_what_is_missing_is_named_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program("no-such-program", "its-package")
    monkeypatch.setitem(ENGINES, "made-up", Engine(exact_under_sampling=True, programs=(program,)))
    needs: Needs = {
        "programs": ["no-such-program"], "modules": [], "ours": [], "io_uring": False,
    }  # fmt: skip
    (found,) = [finding for finding in preflight.findings(needs) if finding["name"] == program.name]
    assert found["fix"] == "apt-get install its-package"


def test_lab_hosts_are_checked_for_an_engines_programs(made_up: str) -> None:
    run = with_engine(made_up, "lab/emulated.yaml")
    assert run.lab is not None
    senders = [host for host in run.lab.hosts if host.role == "sender"]
    assert [check.question(run, host)["programs"] for host in senders] == [["true"]] * len(senders)


def test_the_version_of_a_program_is_recorded(made_up: str) -> None:
    flows = [cast("FlowSpec", {"engine": engine}) for engine in (made_up, "builtin")]
    found = readback.program_versions(flows)
    assert list(found) == ["true"]
    assert found["true"].startswith("true ")


def test_the_sandbox_allows_the_processes_of_flows(made_up: str) -> None:
    count = engines.processes([made_up, made_up, "builtin"])
    assert count == 6
    more = limits.of_guest(2**29, count).processes - limits.of_guest(2**29).processes
    assert more >= count


def test_an_engine_with_shared_state_is_refused_in_a_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    file = ROOT / "scenarios" / "lab" / "emulated.yaml"
    assert plan(load(file)).runs
    monkeypatch.setitem(ENGINES, "builtin", ENGINES["builtin"]._replace(fit_for_lab=False))
    with pytest.raises(Exception, match="does not support bulk traffic: its two ends share"):
        plan(load(file))
