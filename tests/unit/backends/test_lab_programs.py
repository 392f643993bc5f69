"""Users' programs on lab hosts, at the controller: what agents are given, say and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends import program_files
from orchestrator.backends.lab import check, merge_programs
from orchestrator.backends.lab.agent_spec import agent_documents, plan_of
from orchestrator.backends.lab.merge_agent_records import _counters
from orchestrator.backends.lab.signals import Signals
from orchestrator.decode.flows.socket_flows import flow_ports
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.kept_files import FILE, MOST_RUN_BYTES
from orchestrator.protocol.reports.facts import Fact
from tests.support.shipped_lab import LIVE, ROUTER, planned

HOSTS = (
    "{host: one, interface: eth1}]",
    "{host: one, interface: eth1}, {host: four, interface: eth1}]",
)
PROGRAM = (
    "{name: turns, group: a, traffic: {kind: campaign, controls: [reno, cubic], turn: 1s}}",
    """\
name: page
    group: a
    congestion: cubic
    traffic:
      kind: program
      files: www
      server: [./serve, "8000"]
      client: ["true"]
      ready: {port: 8000}
      keep: {client: [page], server: [log]}""",
)
BULK = (
    "  - {name: bulk, group: a, congestion: {name: logwestwood, parameters: {alpha_max: 64}}}\n",
    "",
)
ADDRESSES = {"one": "10.1.0.1", "two": "10.2.0.2", "three": "10.2.0.3", "four": "10.1.0.4"}


@pytest.fixture
def run(tmp_path: Path) -> RunSpec:
    """Programs between one and two, and between four and three, over a live path."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "serve").write_text("#!/bin/sh\n", encoding="utf-8")
    return planned(tmp_path, LIVE, (ROUTER, ""), HOSTS, BULK, PROGRAM)


def say(flow: Any, signal: Any) -> dict[str, Any]:
    return {"say": "signal", "flow": flow, "signal": signal}


def test_a_signal_goes_to_the_other_end_of_its_flow(run: RunSpec) -> None:
    signals = Signals(run)
    ready = {"do": "signal", "flow": 1, "signal": "ready"}
    assert signals.route("four", say(1, "ready")) == ("three", ready)
    assert signals.route("three", say(1, "over"))[0] == "four"
    assert signals.route("four", say(1, "over"))[0] == "three"
    assert signals.route("one", say(0, "over"))[0] == "two"


@pytest.mark.parametrize(
    ("machine", "flow", "signal"),
    [
        ("one", 2, "ready"),
        ("one", -1, "ready"),
        ("one", True, "ready"),
        ("one", "0", "ready"),
        ("one", 0, "go"),
        ("one", 0, ["ready"]),
        ("one", 0, None),
        ("one", 1, "over"),
        ("two", 0, "ready"),
    ],
)
def test_a_signal_that_a_machine_may_not_tell_is_refused(
    run: RunSpec, machine: str, flow: Any, signal: Any
) -> None:
    with pytest.raises(ValueError, match=r"signal|server"):
        Signals(run).route(machine, say(flow, signal))


def test_a_signal_is_told_once(run: RunSpec) -> None:
    signals = Signals(run)
    signals.route("one", say(0, "ready"))
    with pytest.raises(ValueError, match="not a signal of this machine"):
        signals.route("one", say(0, "ready"))


def test_agents_get_files_module_and_their_share_of_what_is_kept(
    run: RunSpec, tmp_path: Path
) -> None:
    bare = {(a, b): 0 for a in ADDRESSES for b in ADDRESSES}
    documents = agent_documents(run, ADDRESSES, bare)
    assert {document["most_kept_bytes"] for document in documents.values()} == {MOST_RUN_BYTES // 4}
    assert all(document["counts"] for document in documents.values())
    assert documents["one"]["namespaces"]["a_src0"]["net.ipv4.tcp_congestion_control"] == "cubic"
    for name in ("one", "three"):
        given = tmp_path / name
        given.mkdir()
        program_files.provide(run, documents[name], given)
        (flow,) = documents[name]["flows"]
        assert (given / flow["parameters"]["files"] / "serve").read_text() == "#!/bin/sh\n"


def test_hosts_are_asked_for_the_programs_that_run_there(run: RunSpec) -> None:
    asked = {host.name: check.question(run, host) for host in plan_of(run).hosts}
    assert [asked[name]["users_programs"] for name in ("one", "two")] == [[], ["true"]]
    assert [asked[name]["servers"] for name in ("one", "two")] == [[("tcp", 8000)], []]
    assert all(question["counts"] for question in asked.values())


def test_what_programs_lack_is_told_with_its_host() -> None:
    answer: Any = {"programs": {}, "users_programs": {"curl": False, "sh": True}, "counts": False}
    assert [(problem.host, problem.what) for problem in check._missing("two", answer)] == [
        ("two", "there is no curl, which the scenario runs there"),
        ("two", "there is no module run_counts, which counts the datagrams of programs"),
    ]


def program(flow: str, role: str) -> Fact:
    return {"fact": "program", "flow": flow, "role": role}


def kept(flow: str, role: str, size_bytes: int) -> Fact:
    files = [{"name": "page", "bytes": size_bytes}]
    return {"fact": "kept", "flow": flow, "role": role, "files": files, "left_out": []}


def test_what_agents_report_of_programs_becomes_one_report(run: RunSpec, tmp_path: Path) -> None:
    facts = {
        "one": [program("page[0]", "server"), kept("page[0]", "server", 2)],
        "two": [
            program("page[0]", "client"),
            {"fact": "extracted", "flow": "page[0]", "values": {}},
            kept("page[0]", "client", 3),
        ],
        "three": [],
        "four": [],
    }
    merged = list(merge_programs.program_facts(run, facts))
    assert merged == [*facts["one"], *facts["two"]]
    parts = {}
    for machine in facts:
        (tmp_path / machine).mkdir()
        parts[machine] = OutputFolder(tmp_path / machine)
    (tmp_path / "one" / FILE).write_bytes(b"ab")
    (tmp_path / "two" / FILE).write_bytes(b"cde")
    assert b"".join(merge_programs.kept_files(run, parts, facts)) == b"abcde"
    # Bytes that one machine leaves out would become those of another's files.
    (tmp_path / "one" / FILE).write_bytes(b"a")
    with pytest.raises(BedError, match=r"one: kept\.bin has 1 bytes, its facts are of 2"):
        list(merge_programs.kept_files(run, parts, facts))


@pytest.mark.parametrize(
    "told",
    [
        [program("page[0]", "client")],
        [program("page[1]", "server")],
        [program("bulk", "server")],
        [program("page[0]", "server"), program("page[0]", "server")],
        [{"fact": "extracted", "flow": "page[0]", "values": {}}],
        [kept("page[0]", "client", 1)],
    ],
)
def test_a_machine_reports_its_own_programs_only_and_once(run: RunSpec, told: list[Fact]) -> None:
    with pytest.raises(BedError, match="one: it reports the"):
        list(merge_programs.program_facts(run, {"one": told}))


def test_counters_of_programs_are_of_the_hosts_that_have_them() -> None:
    facts: dict[str, list[Fact]] = {
        "one": [{"fact": "counters", "hosts": [["a"]], "names": ["Ip:A", "Ip:B"]}],
        "two": [{"fact": "counters", "hosts": [["b"]], "names": ["Ip:A", "ProgramUdp0:Sent"]}],
        "three": [
            {
                "fact": "counters",
                "hosts": [["c"]],
                "names": ["Ip:A", "ProgramUdp0:Sent", "ProgramUdp1:Sent"],
            }
        ],
    }
    assert _counters(facts)["names"] == ["Ip:A", "ProgramUdp0:Sent", "ProgramUdp1:Sent"]


def test_connections_are_found_by_the_addresses_of_machines(run: RunSpec) -> None:
    lab = plan_of(run)
    addresses = {node: ADDRESSES[host.name] for host in lab.hosts for node in host.nodes}
    found = [ports.hosts for ports in flow_ports(run, addresses)]
    assert found == [
        (bytes([10, 1, 0, 1]), bytes([10, 2, 0, 2])),
        (bytes([10, 1, 0, 4]), bytes([10, 2, 0, 3])),
    ]
