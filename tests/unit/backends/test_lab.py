"""The back end ``lab`` on the controller's side: what stands in the way, and files put together."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.lab import check
from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.backends.lab.check import LabProblem, LabState
from orchestrator.backends.lab.merge_agent_records import merge
from orchestrator.backends.lab.survey import _together
from orchestrator.backends.remote.ssh import ClockOffset
from orchestrator.decode import decode
from orchestrator.decode.facts import facts as read_facts
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import BedError, MachineError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.examination import (
    CongestionState,
    EchoResult,
    InterfaceState,
    RouteState,
    SurveyAnswer,
    SurveySpec,
)
from orchestrator.protocol.links.link import Transmitter
from orchestrator.protocol.reports.records import COUNTER_ROW
from orchestrator.protocol.specification import AgentLinkSpec, LinkQdiscSpec
from orchestrator.scenario import load
from orchestrator.testbed.sampling.records import Records
from tests.support.shipped_lab import LIVE, ROUTER, planned

S = 10**9
GOOD = ClockOffset(5000 * S, 0, 100_000, 0)


def interface(*addresses: str) -> InterfaceState:
    return {
        "up": True, "mtu": 1500, "addresses": [(address, 24) for address in addresses],
        "speed_mbitps": 1000, "offloads": {}, "qdisc": "mq", "foreign": [],
    }  # fmt: skip


def module() -> CongestionState:
    return {"version": None, "srcversion": "A1", "sha256": None, "parameters": ["alpha_max"]}


def answer(**interfaces: InterfaceState) -> SurveyAnswer:
    return {
        "kernel": "6.1.0", "machine": "x86_64", "locked": None, "leftovers": [], "forwards": True,
        "interfaces": {**interfaces, "": ["eth0", *interfaces]}, "comes_in_by": "eth0",
        "congestion": {"reno": module(), "cubic": module(), "logwestwood": module()},
        "missing_sysctls": [], "ports_in_use": [], "routes": {}, "echoes": [], "programs": {},
        "users_programs": {}, "counts": None,
        "io_uring": None, "emulation": None, "clock_source": "tsc",
    }  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunSpec:
    return planned(tmp_path)


@pytest.fixture
def found() -> LabState:
    """A lab without a fault."""
    return LabState(
        {
            "one": answer(eth1=interface("10.1.0.1")),
            "two": answer(eth1=interface("10.2.0.2")),
            "three": answer(eth2=interface("10.2.0.3")),
            "four": answer(eth1=interface("10.1.0.9"), eth2=interface("10.2.0.9")),
        },
        dict.fromkeys(("one", "two", "three", "four"), GOOD),
    )


def answers_about_routes() -> dict[str, SurveyAnswer]:
    """The answers to the second question in a lab without a fault."""

    def route(interface: str, gateway: str | None) -> RouteState:
        return {"interface": interface, "gateway": gateway, "source": None}

    def echo(*ends: str) -> EchoResult:
        return {"source": ends[0], "destination": ends[1], "round_trip_ns": 200_000, "ttl": 63}

    one, two, three = "10.1.0.1", "10.2.0.2", "10.2.0.3"
    found = {host: answer() for host in ("one", "two", "three", "four")}
    found["one"]["routes"] = {each: route("eth1", "10.1.0.9") for each in (two, three)}
    found["one"]["echoes"] = [echo(one, two), echo(one, three)]
    found["two"]["routes"] = {one: route("eth1", "10.2.0.9")}
    found["two"]["echoes"] = [echo(two, one)]
    found["three"]["routes"] = {one: route("eth2", "10.2.0.9")}
    found["three"]["echoes"] = [echo(three, one)]
    found["four"]["routes"] = {
        one: route("eth1", None), two: route("eth2", None), three: route("eth2", None),
    }  # fmt: skip
    return found


def told(problems: Any) -> list[tuple[str, str]]:
    return [(problem.host, problem.what) for problem in problems]


def test_nothing_stands_in_the_way_of_a_good_lab(run: RunSpec, found: LabState) -> None:
    assert told(check.look(run, found)) == []
    assert found.addresses == {"one": "10.1.0.1", "two": "10.2.0.2", "three": "10.2.0.3"}
    assert told(check.look_again(run, found, answers_about_routes())) == []
    assert found.bare_ns["one", "three"] == 200_000


def test_every_fault_of_a_host_is_told(run: RunSpec, found: LabState) -> None:
    one, four = found.answers["one"], found.answers["four"]
    one["interfaces"]["eth1"] |= {"up": False, "mtu": 9000, "speed_mbitps": 10, "addresses": []}
    one |= {"locked": "another run of a lab uses this host", "ports_in_use": [5001],
            "missing_sysctls": ["net.ipv4.tcp_backlog_ack_defer"], "io_uring": False,
            "leftovers": ["/run/a", "/run/b: not undone"],
            "programs": {"iperf3": False}}  # fmt: skip
    four["interfaces"]["eth2"] |= {"foreign": ["htb 1:", "ingress ffff:"]}
    four |= {"forwards": False, "comes_in_by": "eth1", "emulation": "eth2 netem: no such thing"}
    found.clocks["two"] = ClockOffset(0, 0, 4_000_000, 0)
    assert told(check.look(run, found)) == [
        ("one", "another run of a lab uses this host"),
        ("one", "a run that was killed left /run/b: not undone"),
        ("one", "eth1 is down"),
        ("one", "eth1 has an MTU of 9000, and a bottleneck's frames have 1500"),
        ("one", "eth1 has 10 Mbit/s, and the bottleneck 10"),
        ("one", "kernel 6.1.0 has no net.ipv4.tcp_backlog_ack_defer"),
        ("one", "ports of flows are in use: 5001"),
        ("one", "there is no iperf3"),
        ("one", "UDP is sent by io_uring, which is switched off"),
        ("one", "eth1 has no IPv4 address"),
        ("two", "its clock can be read to within 4.0 ms only"),
        ("four", "it does not forward"),
        ("four", "eth2 has htb 1:, which somebody else has set"),
        ("four", "eth2 has ingress ffff:, which somebody else has set"),
        ("four", "the SSH connection uses eth1, which is to be a bottleneck"),
        ("four", "the kernel cannot emulate this: eth2 netem: no such thing"),
    ]


def test_modules_have_to_be_there_and_the_same(run: RunSpec, found: LabState) -> None:
    found.answers["one"]["congestion"]["cubic"] = None
    found.answers["two"]["congestion"]["logwestwood"] = {**module(), "parameters": []}
    found.answers["three"]["congestion"]["logwestwood"] = {**module(), "srcversion": "B2"}
    problems = list(check.look(run, found))
    assert told(problems) == [
        ("one", "there is no congestion control cubic"),
        ("two", "tcp_logwestwood takes no parameter alpha_max"),
        ("three", "tcp_logwestwood is of other sources (B2) than on one (A1)"),
    ]
    fixes = [problem.fix for problem in problems]
    assert fixes[0] == "modprobe tcp_cubic"
    assert fixes[1] == fixes[2] == "ansible-playbook -i INVENTORY playbooks/site.yml"


def test_packets_have_to_go_through_the_router_and_back(run: RunSpec, found: LabState) -> None:
    assert told(check.look(run, found)) == []
    second = answers_about_routes()
    second["one"]["routes"]["10.2.0.2"] = None
    one, two, three, four = (second[host]["routes"] for host in ("one", "two", "three", "four"))
    one["10.2.0.3"] = {"interface": "eth1", "gateway": "10.1.0.254", "source": None}
    second["one"]["echoes"][0]["round_trip_ns"] = None
    two["10.1.0.1"] = {"interface": "eth0", "gateway": "10.2.0.9", "source": None}
    three["10.1.0.1"] = {"interface": "eth2", "gateway": None, "source": None}
    four["10.2.0.3"] = {"interface": "eth0", "gateway": None, "source": None}
    assert told(check.look_again(run, found, second)) == [
        ("one", "packets to two (10.2.0.2) have no route"),
        ("one", "packets to three (10.2.0.3) go by 10.1.0.254, not by four"),
        ("one", "no echo comes back from two (10.2.0.2)"),
        ("two", "packets to one (10.1.0.1) leave by eth0"),
        ("three", "packets to one (10.1.0.1) go directly, not by four"),
        ("four", "packets to three (10.2.0.3) leave by eth0"),
    ]


def test_what_stands_in_the_way_is_a_table() -> None:
    check.require_none([])
    with pytest.raises(MachineError) as refused:
        check.require_none(
            [LabProblem("a", "it is so", "do this"), LabProblem("bee", "no", "that")]
        )
    assert str(refused.value).splitlines() == [
        "2 problems prevent the lab run; nothing was run:",
        "  host  what is wrong  fix",
        "  a     it is so       do this",
        "  bee   no             that",
        "  fix: the last column, by line",
    ]


def transmitter(rate_bps: int) -> LinkQdiscSpec:
    return Transmitter(rate_bps, 0.01).qdisc().document()


def test_the_questions_of_several_runs_are_one(run: RunSpec) -> None:
    router = check.question(run, next(host for host in plan_of(run).hosts if host.role == "router"))
    (link,) = router["links"]
    slow: AgentLinkSpec = {**link, "forward": {**link["forward"], "link": transmitter(10**6)}}
    fast: AgentLinkSpec = {**link, "forward": {**link["forward"], "link": transmitter(10**7)}}
    first: SurveySpec = {**router, "interfaces": ["a"], "ports": [5001, 5003], "links": [slow]}
    second: SurveySpec = {
        **router, "interfaces": ["a", "b"], "ports": [5001, 5002], "udp": True, "links": [fast],
    }  # fmt: skip
    assert first["udp"] is False
    assert _together([first, second]) == {
        **router, "interfaces": ["a", "b"], "ports": [5001, 5003], "udp": True,
        "links": [slow, fast],
    }  # fmt: skip
    assert first["interfaces"] == ["a"]


COUNTED: dict[str, dict[str, list[Any]]] = {
    "one": {"hosts": [["a_src0", "a_src1"]], "names": ["TcpExt:Old", "Ip:A", "Ip:B"]},
    "two": {"hosts": [["a_dst0"], ["a_dst1"]], "names": ["Ip:A", "TcpExt:New", "Ip:B"]},
    "three": {"hosts": [], "names": []},
}
"""The router has no end of a flow. A kernel has counters that the other has not."""


def agent(folder: Path, host: str, origin_ns: int, end: bool = True) -> Records:
    """Return the records of an agent, with the facts that all of them have."""
    place = folder / host
    place.mkdir(parents=True)
    records = Records(str(place))
    state = {"offloads": {}, "rx_packets": 1, "rx_dropped": 0, "tx_dropped": 0}
    for when in ("start", "end"):
        records.fact("interfaces", at=when, interfaces={"eth1": state})
        changed = [[host, "MTU of eth1", "1500", "9000"]] if when == "end" else []
        records.fact("host_state", at=when, settings=20, differences=changed)
        records.fact("softnet", at=when, drops=3)
    records.fact("versions", kernel="6.1.0" if host == "one" else "6.12.0", python="3.11.2")
    records.fact("sysctls", values={"net.ipv4.tcp_sack": "1"})
    records.fact("counters", **COUNTED[host])
    records.fact("namespaces", at="end", values={f"{host}_node": {"net.ipv4.tcp_sack": "1"}})
    records.fact(
        "timeline", steps=1, due=1, late_ns={"sysctl": len(host)}, events=[[0, len(host)]],
        granted_frames=0, impairments={}, netem_changes={},
    )  # fmt: skip
    if end:
        records.fact("done", origin_ns=origin_ns, duration_ns=10 * S)
    return records


@pytest.fixture
def live(tmp_path: Path) -> RunSpec:
    folder = tmp_path / "scenario"
    folder.mkdir()
    return planned(folder, LIVE, (ROUTER, ""))


CLOCK = {"host": "one", "offset_ns": 1, "uncertainty_ns": 2, "drift_ns": 3, "between_ns": 4}


def test_what_several_wrote_becomes_what_one_would_have_written(
    live: RunSpec, tmp_path: Path
) -> None:
    parts = tmp_path / "parts"
    one, two, three = (agent(parts, host, n * S) for n, host in enumerate(("one", "two", "three")))
    for records, times in ((one, (0, 200)), (two, (100, 200)), (three, (50,))):
        for time in times:
            records.tcp(time, struct.pack("<q", time))
    # Flow 2 has two transfers from one port: the second's end is not known.
    for start in (10, 20):
        one.fact("transfer_begins", flow="turns-reno[0]", port=35001, start_ns=start)
    two.fact("transfer_ends", flow="turns-reno[0]", port=35001, end_ns=15, bytes=1000)
    none = [0] * 10
    one.datagrams(100, 5, [7, 700, *none[:8], -1, -1])
    three.datagrams(100, 5, [0, 0, 6, 600, 7, 0, 0, 60, 6, 1, 4, 30])
    probe = {
        "source": "a_src0", "sink": "a_dst0", "frame_bytes": 50, "expected_ns": 4, "attempts": 12,
        "fill_ns": 0,
    }  # fmt: skip
    two.fact("round_trip", at="start", **probe, measured_ns=5, ttl=63)
    two.fact("round_trip", at="end", **probe, measured_ns=6, ttl=62)
    three.fact("namespace", host="a_dst1", sysctl="x", value=1, clock_ns=2 * S + 77)
    one.counters(5, 0, [(0, 9), (1, 1), (2, 2)])
    two.counters(5, 1, [(0, 3), (1, 9), (2, 4)])
    two.counters(4, 0, [(2, -1)])
    for records in (one, two, three):
        records.close()
    output = tmp_path / "out"
    output.mkdir()
    merge(
        live,
        {host: OutputFolder(parts / host) for host in ("one", "two", "three")},
        [CLOCK],
        output,
    )

    data = (output / "tcp.bin").read_bytes()
    records_of: Any = [struct.unpack_from("<qIq", data, place) for place in range(0, len(data), 20)]
    assert records_of == [(time, 8, time) for time in (0, 50, 100, 200, 200)]
    transfers: Any = decode.transfers(OutputFolder(output)).tolist()
    assert transfers == [(2, 10, 15, 1000), (2, 20, -1, 0)]
    datagrams: Any = decode.datagrams(OutputFolder(output)).tolist()
    assert datagrams[0] == (100, 5, 7, 700, 6, 600, 7, 0, 0, 60, 6, 1, 4, 30)
    facts = read_facts(OutputFolder(output))

    def the(name: str, **wanted: Any) -> Any:
        (fact,) = [each for each in facts
                   if each["fact"] == name and wanted.items() <= each.items()]  # fmt: skip
        return fact

    assert the("versions")["kernel"] == "6.1.0, 6.12.0"
    assert the("counters")["names"] == ["Ip:A", "Ip:B"]
    assert the("counters")["hosts"] == [["a_src0", "a_src1"], ["a_dst0"], ["a_dst1"]]
    counted: Any = list(COUNTER_ROW.iter_unpack((output / "counters.bin").read_bytes()))
    assert counted == [(4, 1, 1, -1), (5, 0, 0, 1), (5, 0, 1, 2), (5, 2, 0, 3), (5, 2, 1, 4)]
    assert the("softnet", at="end")["drops"] == 9
    assert the("host_state", at="start")["differences"] == []
    ended = the("host_state", at="end")
    assert ended["settings"] == 60
    assert [difference[0] for difference in ended["differences"]] == ["one", "two", "three"]
    assert sorted(the("interfaces", at="start")["interfaces"]) == [
        "one/eth1", "three/eth1", "two/eth1",
    ]  # fmt: skip
    timeline = the("timeline")
    assert (timeline["steps"], timeline["due"]) == (3, 3)
    assert (timeline["late_ns"], timeline["events"]) == ({"sysctl": 5}, [[0, 5]])
    assert (the("round_trip")["ttl"], the("round_trip_after")["ttl"]) == (63, 62)
    assert the("namespace")["clock_ns"] == 77  # since traffic began by its own clock
    assert the("clock") == {"fact": "clock", **CLOCK}
    assert the("queues") == {"fact": "queues", "names": [], "policers": []}
    assert the("done") == {"fact": "done", "origin_ns": 0, "duration_ns": 10 * S}


def test_what_is_not_whole_is_told(live: RunSpec, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    agent(parts, "one", 0).close()
    agent(parts, "two", 0, end=False).close()
    whole = {host: OutputFolder(parts / host) for host in ("one", "two")}
    (tmp_path / "out").mkdir()
    with pytest.raises(BedError, match="the agent of two did not finish its records"):
        merge(live, whole, [], tmp_path / "out")
    with (parts / "two" / "facts.jsonl").open("a") as file:
        file.write(json.dumps({"fact": "done", "origin_ns": 0, "duration_ns": 1}) + "\n")
        end = {"fact": "transfer_ends", "flow": "turns-reno[0]", "port": 1, "end_ns": 1, "bytes": 1}
        file.write(json.dumps(end) + "\n")
    with pytest.raises(BedError, match=r"turns-reno\[0\]: a transfer ended that had not begun"):
        merge(live, whole, [], tmp_path / "out")
    (parts / "one" / "tcp.bin").write_bytes(bytes(5))
    with pytest.raises(BedError, match=r"one: tcp\.bin ends in the middle of a record"):
        merge(live, whole, [], tmp_path / "out")


def test_a_shipped_scenario_of_the_lab_asks_of_its_own_interfaces_only() -> None:
    file = Path(__file__).resolve().parents[3] / "scenarios" / "lab" / "emulated.yaml"
    run = plan(load(file)).runs[0]
    assert run.lab is not None
    asked = {host.name: check.question(run, host)["interfaces"] for host in run.lab.hosts}
    assert asked == {host.name: list(host.interfaces) for host in run.lab.hosts}
