"""Each check sees the one property that is broken on purpose behind the set-up's back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

# Run inside the bed after it was built and read back, before anything is measured.
HOOKS = {
    "offloads": (
        "offloads_on",
        """
from orchestrator.testbed.network.ethtool import Ethtool
with bed.enter("a_src0"):
    Ethtool().set_offloads("eth0", on=True)
""",
    ),
    "rate 5% low": (
        "backlogged_rate",
        """
from orchestrator.protocol.links.link import rate_setting
from orchestrator.testbed.network import link
name, index = bed.links["bottleneck"].device("b")
link.change(bed.wires, index, [rate_setting(9_500_000).document()], name)
""",
    ),
    "queue 10% short": (
        "full_queue_delay",
        """
from orchestrator.testbed.network.queues import qdisc
name, index = bed.links["bottleneck"].device("b")
link = bed.links["bottleneck"]
settings = [
    {**s, "value": 90} if s["name"] == "limit_packets" else s
    for s in link.spec["forward"]["queue"]["settings"]
]
queue = {"kind": "pfifo", "settings": settings}
qdisc.add_queue(bed.wires, index, queue, name, change=True)
bed.wires.flush()
""",
    ),
    "a queue of two packets at a host's link": (
        "drops_outside_bottleneck",
        """
from orchestrator.testbed.network.queues import qdisc
link = bed.links["a_src0"]
settings = [
    {**s, "value": 2} if s["name"] == "limit_packets" else s
    for s in link.spec["forward"]["queue"]["settings"]
]
name, index = link.device("b")
queue = {"kind": "pfifo", "settings": settings}
qdisc.add_queue(bed.wires, index, queue, name, change=True)
bed.wires.flush()
""",
    ),
    "another congestion control": (
        "congestion_control",
        """
spec["flows"][0]["congestion"] = "cubic"
""",
    ),
    "extra loss": (
        "loss",
        """
from orchestrator.protocol.links.netem import IndependentLoss, Netem
from orchestrator.testbed.network.queues import qdisc
name, index = bed.links["bottleneck"].device("b")
requested = bed.links["bottleneck"].spec["forward"]["netem"] is not None
netem = Netem(delay_s=0.01, seed=1, loss=IndependentLoss(0.002)).qdisc().document()
qdisc.add_netem(bed.wires, index, netem, name, change=requested)
bed.wires.flush()
""",
    ),
    "one millisecond more": (
        "base_rtt",
        """
from orchestrator.protocol.links.link import delay_setting
from orchestrator.testbed.network import link
name, index = bed.links["b_src0"].device("b")
link.change(bed.wires, index, [delay_setting(0.021).document()], name)
""",
    ),
}

# As above, but these act after the idle network was measured.
LATER_HOOKS = {
    "a delay 1 ms shorter while traffic runs": (
        "rtt_floor",
        """
from orchestrator.protocol.links.link import delay_setting
from orchestrator.testbed.network import link
from orchestrator.testbed.sampling.sampler import Sampler
run = Sampler.run
def change(delay_s):
    name, index = bed.links["bottleneck"].device("a")
    link.change(bed.wires, index, [delay_setting(delay_s).document()], name)
def run_on_a_shorter_path(self, origin_ns):
    change(0.009)
    run(self, origin_ns)
    change(0.010)
Sampler.run = run_on_a_shorter_path
""",
    ),
    "a sample of the queues lost": (
        "samples_missing",
        """
from orchestrator.testbed.sampling.records import Records
queue = Records.queue
Records.queue = lambda self, time_ns, counters: (
    None if time_ns == 5_000_000_000 else queue(self, time_ns, counters)
)
""",
    ),
    "a reading of the queues for the checks lost": (
        "samples_missing",
        """
from orchestrator.testbed.sampling.records import Records
reading = Records.reading
Records.reading = lambda self, time_ns, place, counters: (
    None if time_ns == 5_000_000_000 else reading(self, time_ns, place, counters)
)
""",
    ),
    "a sample of the sockets lost": (
        "samples_missing",
        """
from orchestrator.testbed.sampling.records import Records
tcp = Records.tcp
Records.tcp = lambda self, time_ns, answers: (
    None if time_ns == 5_000_000_000 else tcp(self, time_ns, answers)
)
""",
    ),
    "no sample of the sockets near the end": (
        "samples_missing",
        """
from orchestrator.testbed.sampling.records import Records
tcp = Records.tcp
Records.tcp = lambda self, time_ns, answers: (
    None if time_ns > 14_500_000_000 else tcp(self, time_ns, answers)
)
""",
    ),
}


HOST_HOOKS = {
    "a lossy netem on a host's interface": """
from orchestrator.protocol.links.netem import IndependentLoss, Netem
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import nodes
netem = Netem(delay_s=0, seed=1, loss=IndependentLoss(0.01)).qdisc().document()
with bed.enter("a_src0"):
    route = netlink.Netlink()
    qdisc.add_link(route, nodes.HOST_INDEX, netem, "eth0")  # as the root
    route.flush()
""",
    "a small MTU": """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import nodes, rtnl
with bed.enter("a_dst0"):
    route = netlink.Netlink()
    rtnl.set_up(route, nodes.HOST_INDEX, "eth0", mtu=1000)
    route.flush()
""",
    "no selective acknowledgements": """
from orchestrator.testbed.kernel.sysctl import write_sysctl
with bed.enter("a_dst0"):
    write_sysctl("net.ipv4.tcp_sack", 0)
""",
    "a small receive buffer": """
from orchestrator.testbed.kernel.sysctl import write_sysctl
with bed.enter("a_dst0"):
    write_sysctl("net.ipv4.tcp_rmem", "4096 16384 65536")
""",
    "an initial window of 3 segments": """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import nodes, rtnl
with bed.enter("a_src0"):
    route = netlink.Netlink()
    metrics = {11: 3}  # RTAX_INITCWND
    rtnl.set_route_metrics(route, nodes.HOST_INDEX, bed.address("a_src0"), 8, metrics, "a_src0")
    route.flush()
""",
    "a route of its own": """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import nodes, rtnl
with bed.enter("a_src0"):
    route = netlink.Netlink()
    way = {"index": nodes.HOST_INDEX, "gateway": None, "source": None}
    rtnl.add_host_route(route, bed.address("a_dst0"), way, {})
    route.flush()
""",
    "a classifier on a host's interface": """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import nodes
with bed.enter("a_dst0"):
    route = netlink.Netlink()
    qdisc.add_classifier_hook(route, nodes.HOST_INDEX, "eth0")
    route.flush()
""",
    "an MTU of a link's device": """
from orchestrator.testbed.network import rtnl
name, index = bed.links["bottleneck"].device("b")
rtnl.set_up(bed.wires, index, name, mtu=9000)
bed.wires.flush()
""",
    "an MTU of a switch's interface": """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import rtnl
route = netlink.Netlink()
name = bed.net.switches[0].intfList()[0].name
rtnl.set_up(route, rtnl.interfaces(route)[name][0], name, mtu=9000)
route.flush()
""",
}
"""Only the state of a namespace shows these."""


POLICER_HOOK = """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import redirect
link = bed.links["bottleneck"]
name, index = link.device("a")
settings = [
    {**s, "value": round(s["value"] * FACTOR)} if s["name"] == "NAME" else s
    for s in link.spec["forward"]["policer"]["settings"]
]
filters = qdisc.TCMSG.pack(0, index, 0, qdisc.INGRESS, 0)
bed.wires.queue(45, 0, filters, "no filter")  # RTM_DELTFILTER
redirect.add_redirect(
    bed.wires, index, qdisc.INGRESS, link.device("b")[1], name, {"settings": settings}
)
bed.wires.flush()
"""


@pytest.mark.parametrize("what", HOOKS)
def test_a_broken_property_fails_its_check_and_the_verdict(
    run: Run, tmp_path: Path, what: str
) -> None:
    check, code = HOOKS[what]
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    assert check in failed_checks(document), document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"


CONSEQUENCES = {
    "a small MTU": "base_rtt",
    "a lossy netem on a host's interface": "conservation",
    "a small receive buffer": "receive_limit",
}
"""The other check that a foreign setting fails."""


@pytest.mark.parametrize("what", HOST_HOOKS)
def test_a_foreign_setting_of_a_namespace_fails_the_check_of_hosts(
    run: Run, tmp_path: Path, what: str
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(HOST_HOOKS[what], encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    expected = {"hosts_as_requested", CONSEQUENCES.get(what, "hosts_as_requested")}
    assert failed_checks(document) == expected, document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"


SYSCTL_DURING_TRAFFIC = """
import threading
from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.sysctl import write_sysctl
from orchestrator.testbed.machines import ORIGIN_GRID_NS
def change():
    system.Timer().sleep_until(2 * ORIGIN_GRID_NS + 5 * 10**9)
    with bed.enter("a_dst0"):
        write_sysctl("net.ipv4.tcp_sack", 0)
threading.Thread(target=change, daemon=True).start()
"""


def test_a_setting_that_changes_while_traffic_runs_is_detected(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(SYSCTL_DURING_TRAFFIC, encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    assert failed_checks(document) == {"hosts_as_requested"}, document["fidelity"]


@pytest.mark.parametrize("what", LATER_HOOKS)
def test_a_property_that_breaks_after_the_probes_fails_its_check_alone(
    run: Run, tmp_path: Path, what: str
) -> None:
    check, code = LATER_HOOKS[what]
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    assert failed_checks(document) == {check}, document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"


@pytest.mark.long
def test_a_policer_with_a_wrong_rate_or_bucket_is_detected(run: Run, tmp_path: Path) -> None:
    """Its filter is made anew before it is measured, as if the set-up had mistaken it.

    The second policer is faster than its link, whose queue holds what passes.
    """
    bottleneck = "topology.bottleneck"
    asked = ("duration=2s", "warmup=1s")
    hook = tmp_path / "hook.py"
    for name, factor, check, rate in (
        ("rate_bytes_per_s", 0.97, "policer_rate", "4mbit"),
        ("rate_bytes_per_s", 0.97, "policer_rate", "20mbit"),
        ("burst_ticks", 0.9, "policer_burst", "20mbit"),
    ):
        policed = (
            f"{bottleneck}.policer={{forward: {{rate: {rate}, burst: 30kB}}}}",
            f"{bottleneck}.queue.limit=1000p",
        )
        assert failed_checks(run(*asked, *policed)) == set()
        hook.write_text(
            POLICER_HOOK.replace("NAME", name).replace("FACTOR", str(factor)), encoding="utf-8"
        )
        document = run(*asked, *policed, hook=hook)
        assert check in failed_checks(document), document["fidelity"]


def test_a_hook_that_breaks_nothing_leaves_the_run_faithful(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("assert bed.links and spec['flows']\n", encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]


def test_requested_loss_passes_and_twice_the_loss_is_detected(run: Run, tmp_path: Path) -> None:
    asked = ["duration=30s", "warmup=2s", "topology.bottleneck.loss=0.5%"]
    assert failed_checks(run(*asked)) == set()
    hook = tmp_path / "hook.py"
    hook.write_text(HOOKS["extra loss"][1].replace("0.002", "0.01"), encoding="utf-8")
    assert "loss" in failed_checks(run(*asked, hook=hook))


def test_a_hook_that_raises_fails_the_run_with_its_message(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("raise ValueError('broken on purpose')\n", encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    assert document["status"] == "failed"
    assert "broken on purpose" in document["error"]


def test_a_sysctl_that_is_gone_at_the_end_fails_the_run_by_its_name(
    run: Run, tmp_path: Path
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text("bed.namespaces['a_src0'] = {'net.ipv4.nosuch'}\n", encoding="utf-8")
    document = run("duration=1s", "warmup=0s", hook=hook)
    assert document["status"] == "failed"
    assert "BuildError: Linux " in document["error"]
    assert "has no sysctl net.ipv4.nosuch" in document["error"]
