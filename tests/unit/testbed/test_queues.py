"""What the bed is told of queues and policers, and what it hands back of them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode import decode
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.protocol.links.qdisc import Statistic
from orchestrator.protocol.numbering import QUEUE_HANDLE
from orchestrator.protocol.probe_specification import BurstProbe
from orchestrator.protocol.specification import SettingSpec
from orchestrator.scenario import load
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network import redirect
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
QUEUE = "topology.bottleneck.queue"
POLICER = "topology.bottleneck.policer"


def policed(*overrides: str) -> list[SettingSpec]:
    """The settings of the bottleneck's policer, forward."""
    (run,) = plan(load(QUICKSTART, overrides)).runs
    link = bed_spec(run, 2**30)["links"][0]
    assert link["reverse"]["policer"] is None
    policer = link["forward"]["policer"]
    assert policer is not None
    return policer["settings"]


def bursts(*overrides: str) -> list[BurstProbe]:
    """The probes of the bottleneck by full frames."""
    (run,) = plan(load(QUICKSTART, overrides)).runs
    found = bed_spec(run, 2**30)["probes"]["bursts"]
    assert [probe["frame_bytes"] for probe in found] == [1514, 50] * (len(found) // 2)
    return found[::2]


def test_a_drop_tail_queue_is_overfilled_and_others_are_not() -> None:
    (full,) = bursts()
    assert (full["queue_packets"], full["packets"] > 100) == (100, True)
    (short,) = bursts(f"{QUEUE}={{kind: codel}}")
    assert (short["queue_packets"], short["packets"]) == (None, 8)
    assert short["rounds"] * (short["packets"] - 2) >= 40  # gaps enough


def test_a_probe_fits_through_policers_and_waits_until_they_have_filled() -> None:
    (short,) = bursts(f"{POLICER}={{forward: {{rate: 800kbit, burst: 7570B}}}}")
    assert (short["queue_packets"], short["packets"]) == (None, 5)
    assert short["settle_ns"] >= 7570 * 8 / 800e3 * 1e9
    assert bursts(f"{POLICER}={{forward: {{rate: 800kbit, burst: 3000B}}}}") == []


def test_a_policer_is_told_in_the_kernels_terms_and_read_back() -> None:
    settings = policed(f"{POLICER}={{forward: {{rate: 4mbit, burst: 15140B}}}}")
    values = {setting["name"]: setting["value"] for setting in settings}
    assert values["rate_bytes_per_s"] == 500_000
    burst_ns = int(values["burst_ticks"]) * 64
    assert burst_ns >= 15140 / 500_000 * 1e9 > burst_ns - 64
    options = netlink.attribute(0, qdisc.pack(settings))[4:]
    assert qdisc.unpack(settings, options) == {
        setting["name"]: setting["expected"]
        for setting in settings
        if setting["expected"] is not None
    }
    attributes = netlink.parse_attributes(options)
    assert len(attributes[1]) == 56  # struct tc_police
    assert len(attributes[2]) == 1024  # TC_RTAB_SIZE


def test_a_fast_policers_rate_has_64_bits() -> None:
    settings = policed(f"{POLICER}={{forward: {{rate: 80gbit, burst: 1MB}}}}")
    values = {setting["name"]: setting["value"] for setting in settings}
    assert (values["rate_bytes_per_s"], values["rate64_bytes_per_s"]) == (2**32 - 1, 10**10)


@pytest.mark.parametrize(
    ("policer", "why"),
    [
        ("{rate: 4mbit, burst: 1513B}", "at least 1514B: a full-size frame would never pass"),
        ("{rate: 8kbit, burst: 100kB}", "at most what the rate carries in 60s"),
        ("{rate: 4mbit}", "`burst` is missing"),
    ],
)
def test_policers_that_cannot_be(policer: str, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        policed(f"{POLICER}={policer}")
    assert why in str(refused.value)


def test_a_policer_of_one_direction_survives_the_resolved_scenario() -> None:
    (run,) = plan(load(QUICKSTART, (f"{POLICER}={{reverse: {{rate: 4mbit, burst: 2kB}}}}",))).runs
    assert run.resolved["topology"]["bottleneck"]["policer"] == {
        "reverse": {"rate": "4mbit", "burst": "2kB"}
    }


def stats(bytes_: int, packets: int, drops: int, *, kind: int, app: bytes = b"") -> bytes:
    """gnet_stats as the kernel nests them under TCA_STATS2 or TCA_ACT_STATS."""
    basic = netlink.attribute(1, struct.pack("=QIxxxx", bytes_, packets))
    queue = netlink.attribute(3, struct.pack("=5I", 2, 3028, drops, 0, 7))
    return bytes(
        netlink.attribute(kind, basic + queue + (netlink.attribute(4, app) if app else b""))
    )


class Answers:
    """Stands in for a netlink socket that dumps one message."""

    def __init__(self, kind: int, body: bytes) -> None:
        self.data = struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body

    def dump_raw(self, _kind: int, _body: bytes) -> bytes:
        return self.data


def test_further_words_of_a_qdisc_come_behind_its_counters() -> None:
    head = qdisc.TCMSG.pack(0, 102, QUEUE_HANDLE, 0, 0)
    app = struct.pack("=4I", 11, 12, 13, 14)
    body = head + netlink.attribute(1, "red") + stats(2**33 + 5, 9, 4, kind=7, app=app)
    words: Any = {(102, QUEUE_HANDLE): [{"attribute": [7, 4], "offset": at} for at in (12, 4)]}
    answers: Any = Answers(36, body)
    counters = qdisc_counters.NamespaceCounters(answers, words)
    assert counters.names == [(102, QUEUE_HANDLE)]
    assert struct.unpack("<10I", counters.sample()) == (5, 2, 9, 4, 7, 0, 3028, 2, 14, 12)


def test_a_policer_passes_what_is_redirected_and_drops_the_rest() -> None:
    police = netlink.attribute(1, netlink.attribute(1, "police") + stats(0, 0, 8, kind=4))
    mirred = netlink.attribute(2, netlink.attribute(1, "mirred") + stats(1500, 1, 0, kind=4))
    body = qdisc.TCMSG.pack(0, 100, 1, qdisc.INGRESS, 0) + netlink.attribute(1, "matchall")
    body += netlink.attribute(2, netlink.attribute(2, police + mirred))
    answers: Any = Answers(redirect.RTM_NEWTFILTER, body)
    found = redirect.Policers(answers, [100]).sample()
    assert struct.unpack("<8I", found)[:4] == (1500, 0, 1, 8)


def test_samples_hold_statistics_and_policers(tmp_path: Path) -> None:
    words = [*range(1, 9), *range(11, 19), 100, 20, 7, *range(21, 29)]
    (tmp_path / "queue.bin").write_bytes(struct.pack("<q27I", 5, *words))
    places = (((7, 4), 0), ((7, 4), 4)), (((7, 4), 8),)
    statistics = [(), tuple(Statistic(str(n), "", one) for n, one in enumerate(places))]
    rows = decode.queue_samples(OutputFolder(tmp_path), statistics, [0, -10, 14])
    assert rows["queue"].tolist() == [0, 1, 2]
    assert rows["packets"].tolist() == [3, 13, 23]
    assert rows["statistic_0"].tolist() == [0, 120, 0]
    assert rows["statistic_1"].tolist() == [0, 7, 0]
    # A link that follows a trace counts TUN's header instead of Ethernet's.
    assert rows["bytes"].tolist()[:2] == [1 | 2 << 32, (11 | 12 << 32) - 10 * 13]
    assert rows["backlog_bytes"].tolist()[:2] == [7, 17 - 10 * 18]
    # A policer counts where the link layer's header is off.
    assert rows["bytes"].tolist()[2] == (21 | 22 << 32) + 14 * 23


def test_a_statistic_may_be_signed_and_a_sum(tmp_path: Path) -> None:
    words = [*range(8), 2**32 - 3000, 2**32 - 1, 5]
    (tmp_path / "queue.bin").write_bytes(struct.pack("<q11I", 0, *words))
    place = ((7, 4), 0)
    statistics = [(Statistic("credit", "bytes", (place,), signed=True),
                   Statistic("sum", "", (place, place)))]  # fmt: skip
    rows = decode.queue_samples(OutputFolder(tmp_path), statistics, [0])
    assert (rows["statistic_0"].tolist(), rows["statistic_1"].tolist()) == ([-3000], [2**32 + 4])
