"""L4S on Linux 7.3: DualPI2, Accurate ECN and TCP Prague, and what earlier kernels say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results.store.store import Store
from tests.support.other_kernels import ROOT, SCENARIOS, orchestrator, run

pytestmark = [pytest.mark.guest, pytest.mark.long]

DUALPI2 = """\
version: 1
name: l4s
seed: 1
duration: 10s
warmup: 3s
start_jitter: 10ms
kernel: 7.3
topology:
  kind: dumbbell
  bottleneck: {rate: 50mbit, delay: 5ms, queue: {kind: dualpi2, l_queue_ecn: any}}
  access: {rate: 1gbit, delay: 1ms}
  groups: [{name: a}, {name: b}]
flows:
  - {name: scalable, group: a, congestion: dctcp, tcp: {ecn: accurate}}
  - {name: classic, group: b, congestion: cubic, tcp: {ecn: false}}
"""


def test_dualpi2_keeps_the_l_queue_short_beside_a_classic_flow(tmp_path: Path) -> None:
    file = tmp_path / "l4s.yaml"
    file.write_text(DUALPI2)
    (made,) = run(str(file), "--db", str(tmp_path / "runs.db"))
    assert made["fidelity"]["verdict"] == "faithful"
    scalable, classic = made["flows"]
    assert made["metrics"]["utilisation"] > 0.95
    assert scalable["rtt_mean_s"] < 0.016 < classic["rtt_mean_s"]
    assert 0.4 < scalable["goodput_bps"] / classic["goodput_bps"] < 2.5
    link = made["links"][0]
    assert link["marks_packets"] > 100
    # Only what was in the queue or on the way at the edges is between these counts.
    came = scalable["ce_packets"] + scalable["ect0_packets"]
    assert link["l_queue_packets"] == pytest.approx(came, abs=50)
    assert link["classic_queue_packets"] - classic["not_ect_packets"] < 100
    assert scalable["ce_packets"] == pytest.approx(link["marks_packets"], abs=5)
    # What the receiver got is what Accurate ECN told the sender.
    assert scalable["received_ce_segments"] == scalable["ce_packets"]
    assert scalable["ecn_marked_segments"] == pytest.approx(scalable["ce_packets"], abs=5)
    assert 0 < scalable["received_ce_bytes"] < scalable["received_ect0_bytes"]
    for name in ("ce", "ect0"):
        told, got = scalable[f"delivered_{name}_bytes"], scalable[f"received_{name}_bytes"]
        assert told == pytest.approx(got, rel=0.01)
    assert scalable["received_ect1_bytes"] == scalable["delivered_ect1_bytes"] == 0
    assert [classic[f"received_{name}_bytes"] for name in ("ce", "ect0", "ect1")] == [0, 0, 0]
    assert classic["delivered_ce_bytes"] is None, "no option came"


@pytest.mark.parametrize(("receiver", "mode"), [("accurate", 2), ("accept", 1), ("false", 0)])
def test_what_was_negotiated_is_sampled_and_only_accurate_ecn_tells_bytes(
    receiver: str, mode: int, tmp_path: Path
) -> None:
    """The receiver's ECN differs from the sender's: ECN at one end only is none."""
    file = tmp_path / "l4s.yaml"
    file.write_text(DUALPI2)
    db = tmp_path / "runs.db"
    (made,) = run(str(file), "--set", f"flows.scalable.tcp.ecn_receiver={receiver}",
                  "--set", "flows.scalable.congestion=cubic", "--db", str(db))  # fmt: skip
    flow = made["flows"][0]
    with Store.open_read_only(db) as store:
        samples = store.load(made["id"]).tcp("scalable", columns=["state", "ecn_mode"])
    established = samples["state"] == 1
    assert set(samples["ecn_mode"][established].tolist()) == {mode}
    assert (flow["received_ect0_bytes"] > 0) == (mode > 0)
    assert (flow["delivered_ect0_bytes"] is not None) == (mode == 2)


OVERLOAD = """\
version: 1
name: overload
seed: 1
duration: 8s
warmup: 3s
kernel: 7.3
topology:
  kind: dumbbell
  bottleneck: {rate: 50mbit, delay: 5ms, queue: {kind: dualpi2}}
  access: {rate: 1gbit, delay: 1ms}
  groups: [{name: a}, {name: b}]
flows:
  - {name: l4s, group: a, traffic: {kind: cbr, rate: 60mbit, ecn: ect1}}
  - {name: classic, group: b, congestion: cubic}
"""


def test_ect1_enters_the_l_queue_and_an_overload_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "overload.yaml"
    file.write_text(OVERLOAD)
    db = ("--db", str(tmp_path / "runs.db"))
    (made,) = run(str(file), *db)
    flow, link = made["flows"][0], made["links"][0]
    assert made["fidelity"]["verdict"] == "faithful"
    assert link["l_queue_packets"] == pytest.approx(flow["sent_packets"], abs=5)
    # The controller keeps the classic target of 15 ms, by drops of at least the excess of a sixth.
    assert 0.16 < flow["loss_ratio"] < 0.19
    assert link["queue_delay_mean_s"] == pytest.approx(0.015, abs=0.002)
    # All that came was marked by the step, most of it by the probability before: counted twice.
    assert flow["ce_packets"] == flow["received_packets"]
    assert link["step_marks_packets"] == pytest.approx(flow["received_packets"], abs=5)
    assert link["marks_packets"] > 1.5 * flow["received_packets"]
    assert (link["overflow_drops_packets"], link["early_drops_packets"] > 1000) == (0, True)
    # ECT(0) goes to the classic queue, as l_queue_ecn says.
    (made,) = run(str(file), "--set", "flows.l4s.traffic.ecn=ect0", *db)
    assert made["links"][0]["l_queue_packets"] == 0
    assert made["links"][0]["classic_queue_packets"] > made["flows"][0]["sent_packets"]


def test_a_kernel_before_the_fields_of_ecn_has_none(tmp_path: Path) -> None:
    for series in ("6.1", "6.12"):
        (made,) = run("scenarios/quickstart.yaml", "--set", "duration=5s", "--set", "warmup=1s",
                      "--kernel", series, "--db", str(tmp_path / "runs.db"))  # fmt: skip
        for flow in made["flows"]:
            assert flow["received_ce_segments"] is None
            assert flow["received_ect0_bytes"] is None
            assert (flow["ce_packets"], flow["not_ect_packets"] > 100) == (0, True)


def write_l4s(tmp_path: Path, flows: str, queue: str = "{kind: dualpi2}") -> str:
    """Write a scenario of 100 Mbit/s and a base RTT of 10 ms with these flows; return its path."""
    file = tmp_path / "l4s.yaml"
    file.write_text(
        "version: 1\nname: l4s\nseed: 1\nduration: 15s\nwarmup: 5s\nstart_jitter: 10ms\n"
        "kernel: 7.3\ntopology:\n  kind: dumbbell\n"
        f"  bottleneck: {{rate: 100mbit, delay: 4ms, queue: {queue}}}\n"
        "  access: {rate: 1gbit, delay: 500us}\n  groups: [{name: a}, {name: b}]\n"
        f"flows:\n{flows}"
    )
    return str(file)


PRAGUE = "  - {name: prague, group: a, congestion: prague, tcp: {ecn: accurate}}\n"
CUBIC = "  - {name: cubic, group: b, congestion: cubic}\n"


def test_prague_fills_a_link_with_dualpi2_and_hardly_queues(tmp_path: Path) -> None:
    (made,) = run(write_l4s(tmp_path, PRAGUE), "--db", str(tmp_path / "runs.db"))
    assert made["fidelity"]["verdict"] == "faithful"
    assert made["metrics"]["utilisation"] > 0.95
    assert made["links"][0]["queue_delay_p99_s"] < 0.002
    (prague,) = made["flows"]
    assert prague["congestion_control"] == "prague"
    assert prague["retransmitted_segments"] == 0
    assert prague["ecn_marked_segments"] > 100


def test_alpha_is_the_share_of_marks_and_the_virtual_rtt_begins_late(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    (made,) = run(write_l4s(tmp_path, PRAGUE), "--db", str(db))
    wanted = ["time_ns", "congestion_2", "congestion_3", "rtt_us"]
    with Store.open_read_only(db) as store:
        shown = store.load(made["id"]).tcp(
            0, 0, [*wanted, "delivered_segments", "delivered_ce_segments"]
        )
    late = shown["time_ns"] > 8_000_000_000  # 500 round trips after slow start
    marks, segments = (
        shown[name][late][-1] - shown[name][late][0]
        for name in ("delivered_ce_segments", "delivered_segments")
    )
    assert shown["congestion_2"][late].mean() / 2**30 == pytest.approx(marks / segments, rel=0.15)
    assert set(shown["congestion_3"][late].tolist()) == {25_000}
    early = (shown["time_ns"] > 1_000_000_000) & (shown["time_ns"] < 4_000_000_000)
    assert abs(shown["congestion_3"][early] - shown["rtt_us"][early]).max() < 1000


def test_a_drop_is_a_loss_for_prague_as_for_reno(tmp_path: Path) -> None:
    queue = "{kind: codel, target: 5ms, interval: 100ms}"
    (made,) = run(write_l4s(tmp_path, PRAGUE + CUBIC, queue), "--db", str(tmp_path / "runs.db"))
    assert made["fidelity"]["verdict"] == "faithful"
    prague, cubic = made["flows"]
    assert prague["retransmitted_segments"] > 0
    assert 1 / 3 < prague["goodput_bps"] / cubic["goodput_bps"] < 3


FAULTS = {
    # Linux's own flag for ECT(1) is for the handshake only (see the module's head).
    "without the hook": (
        "return nf_register_net_hooks(net, prague_hooks,\n\t\t\t\t     ARRAY_SIZE(prague_hooks));",
        "return 0;",
    ),
    # A quarter of the window at each mark: the link is not full.
    "alpha is always 1": ("u64 alpha = prague_used_alpha(p);", "u64 alpha = CORE_ONE_Q32;"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_prague_are_seen(tmp_path: Path, fault: str) -> None:
    module = tmp_path / "module"
    module.mkdir()
    source = (ROOT / "kmods" / "tcp_prague.c").read_text()
    old, new = FAULTS[fault]
    assert source.count(old) == 1
    source = source.replace(old, new)
    if "hook" in fault:
        unregister = "nf_unregister_net_hooks(net, prague_hooks, ARRAY_SIZE(prague_hooks));"
        assert source.count(unregister) == 1
        source = source.replace(unregister, "(void)prague_hooks;")
    (module / "tcp_prague.c").write_text(source)
    flows = PRAGUE.replace("congestion: prague", f"congestion: {{name: prague, module: {module}}}")
    file = write_l4s(tmp_path, flows, "{kind: dualpi2}")
    (made,) = run(file, "--db", str(tmp_path / "runs.db"))
    assert made["status"] == "ok", made["error"]
    if "hook" in fault:
        # All of it is in the classic queue, whose target is 15 ms.
        assert made["links"][0]["queue_delay_p50_s"] > 0.005
    else:
        assert made["metrics"]["utilisation"] < 0.95


def test_an_old_kernel_has_no_prague(tmp_path: Path) -> None:
    words = ("--set", "flows.0.congestion=prague", "--db", str(tmp_path / "runs.db"))
    done = orchestrator("run", "scenarios/quickstart.yaml", *words)
    assert done.returncode == 2
    assert "has no Accurate ECN, which the congestion control `prague` needs" in done.stderr
    assert "kernels from 7.0 on do" in done.stderr


def test_the_modules_that_need_this_kernel_keep_their_promises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", "7.3")
    done = orchestrator("kmods", "check", "prague", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["modules"]
    assert row["ok"]


def test_the_l4s_tutorial_is_faithful_and_gives_equal_digests(tmp_path: Path) -> None:
    words = (str(SCENARIOS / "tutorial/28-l4s.yaml"), "--reduced")
    first = run(*words, "--db", str(tmp_path / "first.db"))
    assert [each["variant"]["queue"] for each in first] == ["dualpi2", "codel", "droptail"]
    assert [each["fidelity"]["verdict"] for each in first] == ["faithful"] * 3
    again = run(*words, "--db", str(tmp_path / "again.db"))
    assert [each["digest"] for each in again] == [each["digest"] for each in first]


def test_the_shares_of_prague_and_cubic_are_of_faithful_runs(tmp_path: Path) -> None:
    words = (str(SCENARIOS / "l4s/sharing.yaml"), "--reduced")
    made = run(*words, "--db", str(tmp_path / "runs.db"))
    assert [each["variant"]["without"] for each in made] == ["none", "step", "sawtooth"]
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 3


def test_prague_falls_back_on_a_classic_aqm_and_not_through_dualpi2(tmp_path: Path) -> None:
    """Alpha as a mark uses it is 1 once a flow has fallen back, and else far below."""
    words = (str(SCENARIOS / "l4s/fallback.yaml"), "--reduced", "--set", "duration=10s",
             "--set", "warmup=3s", "--db", str(tmp_path / "runs.db"))  # fmt: skip
    made = run(*words)
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 12
    shares, alphas, digests = {}, {}, {}
    with Store.open_read_only(tmp_path / "runs.db") as store:
        for each in made:
            axes = each["variant"]
            key = axes["queue"], axes["flows.prague.congestion.parameters.classic_fallback"]
            prague, cubic = each["flows"]
            both = prague["goodput_bps"] + cubic["goodput_bps"]
            shares[key] = prague["goodput_bps"] / both
            shown = store.load(each["id"]).tcp(0, 0, ["time_ns", "congestion_2"])
            late = shown["time_ns"] > 5_000_000_000
            alphas[key] = shown["congestion_2"][late].mean() / 2**30
            digests[key] = each["digest"]
    for queue in ("codel", "pie"):
        assert shares[queue, 0] > 5 / 6
        assert shares[queue, 1] < 2 / 3
        assert (alphas[queue, 0] < 0.2, alphas[queue, 1]) == (True, 1)
    for queue in ("dualpi2", "alone"):
        assert digests[queue, 0] == digests[queue, 1], "a score at its least changes nothing"


def test_an_old_kernel_has_neither_dualpi2_nor_accurate_ecn(tmp_path: Path) -> None:
    file = tmp_path / "l4s.yaml"
    file.write_text(DUALPI2)
    done = orchestrator("run", str(file), "--kernel", "6.12", "--db", str(tmp_path / "runs.db"))
    assert done.returncode == 2
    assert "has no queue `dualpi2`: kernels from 6.17 on do" in done.stderr
    assert "--kernel 7.3" in done.stderr
