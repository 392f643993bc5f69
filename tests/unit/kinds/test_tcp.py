"""TCP options: layers, profiles, and flows that must agree on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.backends.guest.memory import memory_bytes
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.profiles import profiles
from orchestrator.kinds.tcp import (
    _EFFECTS,
    RTAX_ADVMSS,
    RTAX_LOCK,
    RTAX_QUICKACK,
    RTAX_RTO_MIN,
    RTAX_RTT,
    RTAX_RTTVAR,
    RTAX_SSTHRESH,
    TcpOptions,
    host_tcp,
    options_of,
)
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def run(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, overrides)).runs[0]


def faults(*overrides: str) -> list[tuple[str, int, int, str]]:
    with pytest.raises(ScenarioError) as refused:
        run(*overrides)
    return [(f.file, f.line, f.column, f.message) for f in refused.value.faults]


def test_every_option_has_an_effect_and_every_profile_is_valid() -> None:
    assert set(TcpOptions.model_fields) - {"profile"} == set(_EFFECTS)
    for profile in profiles().values():
        TcpOptions.model_validate(profile.options)
        assert profile.account


def test_a_flows_options_override_the_scenarios_and_values_their_profile() -> None:
    scenario = TcpOptions.model_validate({"profile": "newreno", "initial_window": 3})
    flow = TcpOptions.model_validate({"profile": "sack", "dsack": True, "initial_window": 4})
    found = options_of(scenario, flow)
    assert (found["sack"], found["dsack"], found["initial_window"]) == (True, True, 4)
    assert options_of(scenario, TcpOptions())["sack"] is False
    assert options_of(TcpOptions(), TcpOptions()) == {}


def test_each_end_gets_only_its_own_options() -> None:
    hosts = run("flows.westwood.tcp={sack: false, delayed_ack: false, initial_window: 3}").hosts
    assert set(hosts) == {"a_src0", "a_dst0"}
    assert hosts["a_src0"].sysctls == hosts["a_dst0"].sysctls == {"net.ipv4.tcp_sack": 0}
    assert hosts["a_src0"].metrics == {11: 3}
    assert hosts["a_dst0"].metrics == {RTAX_QUICKACK: 1}


def test_a_reverse_flow_sends_from_the_other_side() -> None:
    hosts = run("flows.westwood.direction=reverse", "flows.westwood.tcp={frto: false}").hosts
    assert hosts["a_dst0"].sysctls == {"net.ipv4.tcp_frto": 0}
    assert "a_src0" not in hosts


def test_flows_that_meet_at_a_host_must_agree() -> None:
    override = "flows.reno={group: a, name: reno, tcp: {sack: true}}"
    reported = faults(override, "flows.westwood.tcp={sack: false}")
    assert [each[:3] for each in reported] == [(f"--set {override}", 1, 47)]
    assert "sack is a setting of the host a_src0, where flow `westwood` also ends" in reported[0][3]
    assert "sets `false`, not `true`" in reported[0][3]


def test_a_flow_that_would_get_another_flows_options_is_a_fault() -> None:
    (fault,) = faults("flows.reno.group=a", "flows.westwood.tcp={frto: false}")
    assert "and sets `false`: set the same value for this flow" in fault[3]
    (fault,) = faults("flows.reno.group=a", "flows.reno.tcp={frto: false}")
    assert "does not set it: set the same value for that flow" in fault[3]


@pytest.mark.parametrize(
    ("option", "other"),
    [
        *((name, "false") for name in ("sack", "delayed_ack", "compress_acks", "frto")),
        ("ecn", "true"),
        ("recovery", "dupack"),
        ("initial_window", "4"),
    ],
)
def test_writing_linux_defaults_equals_writing_nothing(option: str, other: str) -> None:
    linux = {"false": "true", "true": "false", "dupack": "rack", "4": "10"}[other]
    assert run("flows.reno.group=a", f"flows.westwood.tcp={{{option}: {linux}}}")
    assert run("flows.reno.group=a", f"flows.reno.tcp={{{option}: {linux}}}")
    (fault,) = faults("flows.reno.group=a", f"flows.westwood.tcp={{{option}: {other}}}")
    assert f"{option} is a setting of the host" in fault[3]
    assert faults(
        "flows.reno.group=a",
        f"flows.westwood.tcp={{{option}: {other}}}",
        f"flows.reno.tcp={{{option}: {linux}}}",
    )


def test_options_of_a_sender_do_not_concern_flows_of_the_other_direction() -> None:
    back = "flows.reno={group: a, name: reno, direction: reverse}"
    assert run(back, "flows.westwood.tcp={initial_window: 3}").hosts["a_src0"].metrics == {11: 3}
    assert faults(back, "flows.westwood.tcp={timestamps: false}")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("{profile: newremo}", "unknown TCP profile `newremo` (did you mean `newreno`?); valid: "),
        ("{mss: 40}", "mss"),
        ("{initial_window: 0}", "initial_window"),
        ("{recovery: fack}", "recovery"),
        ("{rto_min: 0.5ms}", "whole milliseconds, from 1ms to 60s"),
        ("{send_buffer: 1kB}", "from 4096 B to 2^31 - 1 B, or kernel"),
        ("{receive_buffer: kernels}", "kernels"),
        ("{sacks: false}", "unknown key `sacks` (did you mean `sack`?)"),
    ],
)
def test_an_invalid_option_is_refused_at_its_place(options: str, why: str) -> None:
    (fault,) = faults(f"tcp={options}")
    assert why in fault[3] or why in options
    assert fault[1] == 1
    assert fault[2] > len("tcp=")


def test_initial_buffers_are_at_most_their_limit() -> None:
    told = host_tcp({"send_buffer": 8192, "receive_buffer": 400_000}).sysctls
    assert told == {
        "net.ipv4.tcp_wmem": "4096 8192 8192",
        "net.ipv4.tcp_rmem": "4096 131072 400000",
    }


def test_the_kernels_own_buffers_are_set_at_no_host_that_asks_for_them() -> None:
    """The other hosts keep the buffers that never limit, and a guest the memory of Linux's own."""
    plain, own = run(), run("flows.westwood.tcp={receive_buffer: kernel}")
    spec, usual = bed_spec(own, 2**30), bed_spec(plain, 2**30)
    name = "net.ipv4.tcp_rmem"
    assert name not in spec["sysctls"]
    assert spec["sysctls"] == {
        key: usual["sysctls"][key] for key in usual["sysctls"] if key != name
    }
    large = {name: usual["sysctls"][name]}
    assert spec["namespaces"] == {host: large for host in own.network.hosts if host != "a_dst0"}
    assert usual["namespaces"] == {}
    assert memory_bytes(plain) < 4 * 2**30 < memory_bytes(own)
    both = bed_spec(run("tcp={receive_buffer: kernel, send_buffer: kernel}"), 2**30)
    assert name not in both["sysctls"]
    assert "net.ipv4.tcp_wmem" in both["namespaces"]["a_dst0"], "it sends nothing"


def test_a_locked_metric_keeps_the_locks_of_others() -> None:
    told = host_tcp({"initial_ssthresh": 20, "rto_min": 0.3, "mss": 1000})
    lock = 1 << RTAX_RTT | 1 << RTAX_RTTVAR | 1 << RTAX_SSTHRESH | 1 << RTAX_RTO_MIN
    assert told.metrics == {
        RTAX_LOCK: lock, RTAX_SSTHRESH: 20, RTAX_RTO_MIN: 300, RTAX_ADVMSS: 1000,
    }  # fmt: skip
    assert told.sysctls == {"net.ipv4.tcp_no_ssthresh_metrics_save": 0}
    assert host_tcp({"mss": 1000}).metrics == {RTAX_ADVMSS: 1000}


def test_the_initial_threshold_is_set_at_the_sender() -> None:
    hosts = run("flows.westwood.tcp={initial_ssthresh: 1}").hosts
    assert set(hosts) == {"a_src0"}
    assert faults("tcp.initial_ssthresh=0")[0][3] == "must be at least 1, not `0`"
