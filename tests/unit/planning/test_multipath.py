"""Flows of Multipath TCP: their subflows, what the test bed gets of them, and every fault."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.backends.guest.features import absent_features, lack_of_named, require_features
from orchestrator.compile import bounds, testbed_spec
from orchestrator.decode.flows.socket_flows import ends, flow_ports
from orchestrator.errors import ScenarioError, UsageError
from orchestrator.execution.samples_plan import samples_plan
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.protocol import specification
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.scenario import load
from orchestrator.testbed.sampling.sender_states import SenderStates

PATHS = [
    {"name": "wifi", "rate": "20mbit", "delay": "10ms"},
    {"name": "lte", "rate": "10mbit", "delay": "40ms"},
    {"name": "sat", "rate": "1mbit", "delay": "300ms"},
]
MPTCP: dict[str, Any] = {"paths": ["wifi", "lte"]}
WITHOUT = {"source": "6.12", "config": {"MPTCP": False}}


def planned(tmp_path: Path, *flows: dict[str, Any], hosts: int = 1, **more: Any) -> RunSpec:
    topology = {"kind": "multipath", "paths": PATHS, "hosts": hosts}
    document = {"version": 1, "name": "mptcp", "duration": "5s", "topology": topology, **more}
    file = tmp_path / "mptcp.yaml"
    file.write_text(json.dumps({**document, "flows": flows}))
    (run,) = plan(load(file)).runs
    return run


def spec_of(run: RunSpec) -> specification.TestbedSpec:
    return testbed_spec.bed_spec(run, 10**9)


def fault(tmp_path: Path, *flows: dict[str, Any], **more: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, *flows, **more)
    (only,) = caught.value.faults
    return only.message


def test_each_subflow_is_a_flow_over_its_path(tmp_path: Path) -> None:
    run = planned(tmp_path, {"name": "phone", "mptcp": MPTCP}, start_jitter="100ms")
    assert [(flow.name, flow.group, flow.path) for flow in run.flows] == [
        ("phone-wifi", "wifi", ("wifi_src0:forward", "wifi:forward", "wifi_dst0:forward")),
        ("phone-lte", "lte", ("lte_src0:forward", "lte:forward", "lte_dst0:forward")),
    ]
    first, second = run.flows
    assert first.start_s == second.start_s > 0, "one draw for the connection"
    assert [flow.engine for flow in run.flows] == ["builtin", "subflow"]
    assert [flow.subflow.number for flow in run.flows if flow.subflow] == [0, 1]
    parameters = [flow["parameters"] for flow in spec_of(run)["flows"]]
    assert parameters[0]["multipath"]
    assert parameters[1]["connection_port"] == first.port
    assert parameters[1]["addresses"] == ["10.0.0.3", "10.0.0.4"]
    assert [each.get("subflow_of") for each in samples_plan(run)["flows"]] == [0, 0]


def test_connections_of_an_entry_have_subflows_of_their_own(tmp_path: Path) -> None:
    run = planned(
        tmp_path, {"name": "cross", "group": "wifi"},
        {"name": "phone", "mptcp": MPTCP, "count": 2}, hosts=2,
    )  # fmt: skip
    subflows = {flow.name: flow.subflow for flow in run.flows if flow.subflow is not None}
    assert list(subflows) == [f"phone-{path}[{n}]" for path in ("wifi", "lte") for n in range(4)]
    third = subflows["phone-lte[3]"]
    assert (third.connection, third.number) == ("phone[3]", 1)
    assert third.port == next(flow.port for flow in run.flows if flow.name == "phone-wifi[3]")


def test_the_sink_announces_what_the_source_can_reach(tmp_path: Path) -> None:
    mptcp = {"paths": ["wifi", "lte", "sat"], "backup": ["sat"], "stale_loss_cnt": 7}
    spec = spec_of(planned(tmp_path, {"name": "phone", "mptcp": mptcp}))
    address = {host["name"]: host["address"] for host in spec["hosts"]}
    source, sink = spec["path_managers"]
    assert source == {"host": "wifi_src0", "further_subflows": 2, "endpoints": []}
    assert (sink["host"], sink["further_subflows"]) == ("wifi_dst0", 2)
    assert sink["endpoints"] == [
        {"address": address["lte_dst0"], "announced": True, "backup": False},
        {"address": address["sat_dst0"], "announced": True, "backup": True},
    ]
    settings = spec["namespaces"]["wifi_src0"]
    assert (settings["net.mptcp.stale_loss_cnt"], settings["net.mptcp.enabled"]) == (7, 1)
    assert settings["net.ipv4.ip_local_port_range"] == "15001 25000"
    assert "lte_src0" not in spec["namespaces"]


def test_a_run_without_it_has_nothing_of_it(tmp_path: Path) -> None:
    spec = spec_of(planned(tmp_path, {"name": "one", "group": "wifi"}))
    assert "path_managers" not in spec
    assert spec["namespaces"] == {}
    assert spec["flows"][0]["parameters"] == {"bytes": None}


def test_buffers_have_room_for_all_paths_during_the_longest_round_trip(tmp_path: Path) -> None:
    def buffer_bytes(*flows: dict[str, Any]) -> int:
        text = spec_of(planned(tmp_path, *flows))["sysctls"]["net.ipv4.tcp_rmem"]
        return int(str(text).split()[-1])

    plain = buffer_bytes(*({"name": path["name"], "group": path["name"]} for path in PATHS))
    mptcp = {"paths": [path["name"] for path in PATHS]}
    # 31 Mbit/s for 0.6 s, and as long in the queue of 1 BDP.
    assert buffer_bytes({"name": "phone", "mptcp": mptcp}) == pytest.approx(
        8 * 31e6 * 1.2 / 8, rel=0.02
    )
    assert plain == 6 * 2**20


def test_the_output_has_room_for_what_the_kernel_tells_of_subflows(tmp_path: Path) -> None:
    plain = bounds.of(planned(tmp_path, *({"name": n, "group": n} for n in ("wifi", "lte"))))
    multipath = bounds.of(planned(tmp_path, {"name": "phone", "mptcp": MPTCP}))
    for file in ("tcp.bin", "facts.jsonl"):
        assert multipath.file_bytes[file] > plain.file_bytes[file]


@pytest.mark.parametrize(
    ("flow", "text"),
    [
        ({"group": "wifi", "mptcp": MPTCP}, "the paths of `mptcp` are its groups: leave `group`"),
        ({}, "`group` is missing"),
        ({"mptcp": {"paths": ["wifi", "let"]}},
         "there is no group `let` (did you mean `lte`?); defined: wifi, lte, sat"),
        ({"mptcp": {"paths": ["wifi", "wifi"]}}, "`wifi` is given twice"),
        ({"mptcp": {**MPTCP, "backup": ["sat"]}}, "`sat` is none of the paths"),
        ({"mptcp": {**MPTCP, "scheduler": "a b"}}, "should match pattern"),
        ({"mptcp": {**MPTCP, "add_addr_timeout": "1500ms"}}, "must be whole seconds"),
        ({"mptcp": MPTCP, "traffic": {"kind": "bulk", "engine": "iperf3"}},
         "`mptcp` is for bulk traffic with the built-in engine, not for bulk of the engine iperf3"),
        ({"mptcp": MPTCP, "traffic": {"kind": "ping"}},
         "`mptcp` is for bulk traffic with the built-in engine, not for ping of the engine ping"),
        ({"mptcp": MPTCP, "traffic": {"kind": "bulk", "window": "64p"}},
         "the windows of subflows cannot be limited: leave `window` out"),
    ],
)  # fmt: skip
def test_a_fault_is_told(flow: dict[str, Any], text: str, tmp_path: Path) -> None:
    assert text in fault(tmp_path, {"name": "phone", **flow})


def test_paths_must_share_their_machines(tmp_path: Path) -> None:
    groups = [{"name": name} for name in ("wifi", "lte")]
    topology = {"kind": "dumbbell", "bottleneck": {"rate": "10mbit", "delay": "10ms"},
                "access": {"delay": "1ms"}, "groups": groups}  # fmt: skip
    flow = {"name": "phone", "mptcp": MPTCP}
    text = fault(tmp_path, flow, topology=topology)
    assert text.startswith("`lte` and `wifi` have not the same machines: list both in")
    topology["multihomed"] = [["lte", "wifi"]]
    assert len(planned(tmp_path, flow, topology=topology).flows) == 2


def test_a_program_has_no_host_of_a_connection(tmp_path: Path) -> None:
    """Both need ports of their own of the namespace, which has one range of them."""
    program = {"name": "sleep", "group": "lte", "traffic": {"kind": "program", "client": ["true"]}}
    groups = [{"name": name} for name in ("wifi", "lte")]
    topology = {"kind": "dumbbell", "bottleneck": {"rate": "10mbit", "delay": "10ms"},
                "access": {"delay": "1ms"}, "groups": groups}  # fmt: skip
    phone = {"name": "phone", "mptcp": {"paths": ["wifi"]}}
    assert len(planned(tmp_path, phone, program, topology=topology).flows) == 2
    text = fault(tmp_path, phone, {**program, "group": "wifi"}, topology=topology)
    assert text.startswith("wifi_src0 has connections of Multipath TCP, and the ports of their")


def test_a_list_of_losses_is_of_a_subflow_where_no_other_one_passes(tmp_path: Path) -> None:
    flow = {"name": "phone", "mptcp": MPTCP}
    loss = {"kind": "list", "packets": [7], "flow": "phone-lte"}
    lte = {**PATHS[1], "loss": loss}
    run = planned(tmp_path, flow, topology={"kind": "multipath", "paths": [PATHS[0], lte]})
    (link,) = [link for link in spec_of(run)["links"] if link["name"] == "lte"]
    first = run.flows[0]
    assert json.dumps(link).count(str(first.port)) > 0, "the port of the connection"
    topology = {"kind": "dumbbell", "access": {"delay": "1ms"},
                "bottleneck": {"rate": "10mbit", "delay": "10ms", "loss": loss},
                "groups": [{"name": "wifi"}, {"name": "lte"}],
                "multihomed": [["wifi", "lte"]]}  # fmt: skip
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, flow, topology=topology)
    assert {each.message for each in caught.value.faults} == {
        "packets of flow `phone-lte` are not told from those of `phone-wifi` here: both are "
        "subflows of one connection, and have its port"
    }


def test_connections_of_a_machine_have_the_same_settings(tmp_path: Path) -> None:
    one, two = ({"name": name, "mptcp": MPTCP} for name in ("one", "two"))
    assert len(planned(tmp_path, one, two).flows) == 4
    two["mptcp"] = {**MPTCP, "checksum_enabled": True}
    text = fault(tmp_path, one, two)
    assert text == (
        "these are settings of the machine of wifi_src0, and flow `one` has others there: give "
        "both the same ones"
    )


def test_a_kernel_may_be_built_without_it(tmp_path: Path) -> None:
    run = planned(tmp_path, {"name": "phone", "mptcp": MPTCP})
    require_features(run, "6.12.117")
    assert lack_of_named([run]) is None
    lack = r"has no Multipath TCP .*kernels from 6\.8 on and with CONFIG_MPTCP=y do\n  fix: name"
    with pytest.raises(UsageError, match=lack):
        require_features(run, "6.1.100")
    run = planned(tmp_path, {"name": "phone", "mptcp": MPTCP}, kernel=WITHOUT)
    with pytest.raises(UsageError, match=lack):
        require_features(run, "6.12.117")
    assert not any("Multipath" in text for text in absent_features("6.12"))


def identity(local: tuple[str, int], remote: tuple[str, int]) -> bytes:
    """Return both ports and both addresses, as struct inet_diag_sockid has them."""
    addresses = [bytes(map(int, end[0].split("."))) + bytes(12) for end in (local, remote)]
    return struct.pack("!HH", local[1], remote[1]) + b"".join(addresses)


def test_a_subflow_is_found_by_its_hosts_and_the_connections_port(tmp_path: Path) -> None:
    run = planned(
        tmp_path, {"name": "phone", "mptcp": MPTCP, "count": 2}, {"name": "tcp", "group": "lte"}
    )
    ports = [flow.port for flow in run.flows]
    wifi, lte = (("10.0.0.1", "10.0.0.2"), ("10.0.0.3", "10.0.0.4"))
    sockets = [
        identity((wifi[0], ports[0] + 20_000), (wifi[1], ports[0])),
        identity((lte[0], 17_123), (lte[1], ports[0])),
        identity((lte[1], ports[0]), (lte[0], 17_123)),
        identity((lte[0], 17_123), (lte[1], ports[1])),
        identity((lte[0], ports[4] + 20_000), (lte[1], ports[4])),
        identity((wifi[0], 17_123), (lte[1], ports[0])),  # over no path that has a name
    ]
    raw = np.frombuffer(b"".join(sockets), np.uint8).reshape(len(sockets), -1)
    flow, endpoint = ends(raw, 0, flow_ports(run))
    assert flow.tolist() == [0, 2, 2, 3, 4, -1]
    assert endpoint.tolist()[:5] == [SENDER, SENDER, RECEIVER, SENDER, SENDER]
    states = SenderStates(enumerate(spec_of(run)["flows"]), None)  # type: ignore[arg-type]
    found = [states._subflow(socket, 0) for socket in sockets]
    assert found == [-1, 2, -1, 3, -1, -1]
