"""Packets that are lost on purpose outside of every queue are missed at their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.policer import policer_document
from orchestrator.network import Policer
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

LOSS_ON_A_HOST = """
import struct
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import nodes
with bed.enter("a_src0"):
    route = netlink.Netlink()
netem = struct.pack("=6I", 0, 1000, round(0.01 * 2**32), 0, 0, 0)  # struct tc_netem_qopt
body = qdisc.TCMSG.pack(0, nodes.HOST_INDEX, 0x10000, qdisc.TC_H_ROOT, 0)
body += netlink.attribute(qdisc.TCA_KIND, "netem") + netlink.attribute(qdisc.TCA_OPTIONS, netem)
flags = netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
route.queue(qdisc.RTM_NEWQDISC, flags, body, "netem")
route.flush()
"""

# A filter drops what exceeds a rate, and lets the rest go on. TC_ACT_OK is 0.
FILTER = """
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network import nodes, redirect, rtnl
settings = [{**s, "value": 0} if s["name"] == "conform" else s for s in SETTINGS]
def drop(route, index, hook, has_hook=False):
    options = qdisc.pack(settings)
    kind = netlink.attribute(redirect.TCA_ACT_KIND, "police")
    nested = netlink.attribute(redirect.TCA_ACT_OPTIONS | netlink.NLA_F_NESTED, options)
    body = qdisc.TCMSG.pack(0, index, 0, hook, 1 << 16 | 0x0300)  # all protocols
    body += netlink.attribute(qdisc.TCA_KIND, "matchall")
    action = netlink.attribute(1, [kind, nested])
    actions = netlink.attribute(redirect.TCA_MATCHALL_ACT, [action])
    body += netlink.attribute(qdisc.TCA_OPTIONS, actions)
    if not has_hook:
        qdisc.add_classifier_hook(route, index, "clsact")
    flags = netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
    route.queue(redirect.RTM_NEWTFILTER, flags, body, "filter")
    route.flush()
"""

PLACES = {
    "switch": (
        "switch s1",
        """
route = netlink.Netlink()
index, _counters = rtnl.interfaces(route)[bed.links["a_src0"].intf2.name]
drop(route, index, qdisc.INGRESS)
""",
    ),
    "wires": (
        "a_src0:forward, queue",
        'drop(bed.wires, bed.links["a_src0"].device("b")[1], qdisc.EGRESS, has_hook=True)\n',
    ),
    "sender": (
        "a_src0, sending",
        """
with bed.enter("a_src0"):
    route = netlink.Netlink()
drop(route, nodes.HOST_INDEX, qdisc.EGRESS)
""",
    ),
    "receiver": (
        "a_dst0, receiving",
        """
with bed.enter("a_dst0"):
    route = netlink.Netlink()
drop(route, nodes.HOST_INDEX, qdisc.INGRESS)
""",
    ),
}


def place_of_the_missing(run: Run, tmp_path: Path, code: str) -> str:
    """Run the quickstart with a hook that loses packets outside of all queues; return the place."""
    hook = tmp_path / "hook.py"
    hook.write_text(code, encoding="utf-8")
    document = run("duration=15s", "warmup=2s", hook=hook)
    # Where there was no qdisc for filters, it is one that nobody requested.
    failed = failed_checks(document) - {"hosts_as_requested"}
    assert failed == {"conservation"}, document["fidelity"]
    assert document["fidelity"]["verdict"] == "unfaithful"
    (found,) = (c for c in document["fidelity"]["checks"] if c["name"] == "conservation")
    assert found["measured"] > 0
    return str(found["detail"])


def test_loss_on_a_hosts_own_interface_is_detected(run: Run, tmp_path: Path) -> None:
    assert "missing at a_src0, sending" in place_of_the_missing(run, tmp_path, LOSS_ON_A_HOST)


@pytest.mark.parametrize("where", PLACES)
def test_packets_that_a_filter_drops_are_missed_at_its_place(
    run: Run, tmp_path: Path, where: str
) -> None:
    """The bucket holds the packets of a probe before traffic, but not the traffic."""
    settings = policer_document(Policer(2_000_000, 400_000))["settings"]
    place, code = PLACES[where]
    found = place_of_the_missing(run, tmp_path, f"SETTINGS = {settings!r}\n{FILTER}{code}")
    assert f"missing at {place}" in found
