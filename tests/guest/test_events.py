"""What happens while traffic runs: at its time, as asked, and the same again."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from results.samples.sample_tables import Array
from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks
from tests.support.guest_events import (
    FRAME_BITS,
    FRAME_BYTES,
    LINE,
    MS,
    at,
    check,
    faithful,
    opened,
    written,
)

pytestmark = pytest.mark.guest

OPPORTUNITY_BYTES = 1504  # of a trace: PACKET_SIZE of mahimahi


def test_a_rate_changes_exactly_at_its_time(run: Run, db: Path, tmp_path: Path) -> None:
    """Flooded, the link sends a frame each frame time: before, and from the change on."""
    events = (
        "events: [{at: 500ms, link: bottleneck, rate: 1mbit},"
        " {at: 2s, link: bottleneck, rate: 100mbit}, {at: 2500ms, link: bottleneck, rate: 5mbit}]\n"
    )
    document = run(scenario=written(tmp_path, LINE + events))
    faithful(document)
    assert check(document, "event_lateness")["measured"] == 0
    with Store.open_read_only(db) as store:
        sent = opened(store).queue_samples("bottleneck:forward:queue")
    for begin_ms, end_ms, rate_bps in ((500, 2000, 1e6), (2500, 3000, 5e6)):
        first = at(sent, "bytes", begin_ms)
        for time_ms in range(begin_ms, end_ms):
            # The frame that leaves at the time of the change itself is in ``first`` already.
            frames = (at(sent, "bytes", time_ms) - first) / FRAME_BYTES
            assert abs(frames - (time_ms - begin_ms) / 1e3 * rate_bps / FRAME_BITS) <= 1.05, time_ms
    # At 100 Mbit/s the queue of 100 frames is soon gone, at the 20 Mbit/s that come.
    assert at(sent, "backlog_packets", 2000) >= 99
    gone = 10 * 80e3 / FRAME_BITS
    assert at(sent, "backlog_packets", 2010) == pytest.approx(100 - gone, abs=2)
    room = (0.5 * 10 + 1.5 * 1 + 0.5 * 100 + 0.5 * 5) * 1e6
    (link,) = [each for each in document["links"] if each["utilisation"]]
    carried = at(sent, "bytes", 3000) - at(sent, "bytes", 0)
    assert link["utilisation"] == pytest.approx(carried * 8 / room, rel=1e-9)


def test_delay_loss_state_and_queue_change_at_their_times(
    run: Run, db: Path, tmp_path: Path
) -> None:
    """A packet of 1 ms every 2 ms over the idle link, so that each one's fate is known."""
    probe = "{name: probe, group: a, traffic: {kind: cbr, rate: 5mbit, packet_size: 1236B}}"
    events = """\
events:
  - {at: 1s, link: bottleneck, delay: 30ms, direction: forward}
  - {at: 2s, link: bottleneck, delay: 5ms, direction: forward}
  - {at: 2500ms, link: bottleneck, state: down}
  - {at: 2700ms, link: bottleneck, state: up}
  - {at: 3s, link: bottleneck, loss: 10%, direction: forward}
  - {at: 4s, link: bottleneck, loss: 0%, queue: {limit: 10p}}
"""
    short = ("duration=5s", "sample.tcp=1ms", f"flows=[{probe}]")
    document = run(*short, scenario=written(tmp_path, LINE + events))
    faithful(document)
    with Store.open_read_only(db) as store:
        stored = opened(store)
        got, line = stored.datagrams(0), stored.queue_samples("bottleneck:forward:delay")
        checks = {each["name"]: each for each in document["fidelity"]["checks"]}
    base_ms = 5 + 1 + 10 + 5  # 1 ms of it is the transmission

    def delays_ms(begin_ms: int, end_ms: int) -> set[float]:
        chosen = (got["time_ns"] > begin_ms * MS) & (got["time_ns"] <= end_ms * MS)
        joined = np.concatenate([got[name][chosen] for name in ("delay_min_ns", "delay_max_ns")])
        return {round(float(each) / MS, 6) for each in joined[~np.isnan(joined)]}

    # Due every 2 ms from 0 on; at the bottleneck after 5 ms, and transmitted 1 ms later.
    assert delays_ms(0, 1025) == {base_ms}
    assert delays_ms(1026, 2025) == {base_ms + 20}
    # What comes 25 ms earlier than before waits for what is in flight, and then all come at once.
    assert max(delays_ms(2026, 2400)) == base_ms + 20
    assert delays_ms(2041, 2500) == {base_ms - 5}
    assert int(got["reordered_packets"][-1]) == 0
    # Sent in [2500, 2700) by the queue, so due in [2495, 2695): 100 of every 2 ms.
    assert at(line, "drops", 2499) == 0
    assert [at(line, "drops", 2700), at(line, "drops", 3000)] == [100, 100]
    lost = at(line, "drops", 4000) - 100
    assert 20 <= lost <= 90
    assert at(line, "drops", 5000) - 100 == lost
    assert checks["loss bottleneck:forward"]["ok"]
    assert "each of 3 losses by itself" in checks["loss bottleneck:forward"]["detail"]
    assert [event["applied_s"] for event in document["events"]] == [1, 2, 2.5, 2.7, 3, 4]


def test_a_link_on_hold_keeps_its_packets(run: Run, db: Path, tmp_path: Path) -> None:
    """Nothing leaves from 1000.25 ms on. Later all does that the queue has kept."""
    probe = "{name: probe, group: a, traffic: {kind: cbr, rate: 5mbit, packet_size: 1236B}}"
    events = """\
events:
  - {at: 1000250us, link: bottleneck, direction: forward, state: hold}
  - {at: 1150ms, link: bottleneck, direction: forward, state: up}
  - {at: 2s, link: bottleneck, direction: forward, state: hold}
  - {at: 2500ms, link: bottleneck, direction: forward, state: up}
  - {at: 1160250us, every: 10ms, until: 1280ms, link: bottleneck, direction: forward, state: hold}
  - {at: 1160500us, every: 10ms, until: 1280ms, link: bottleneck, direction: forward, state: up}
"""
    short = ("duration=4s", "sample.tcp=1ms", f"flows=[{probe}]")
    document = run(*short, scenario=written(tmp_path, LINE + events))
    faithful(document)
    with Store.open_read_only(db) as store:
        stored = opened(store)
        got, queue = stored.datagrams(0), stored.queue_samples("bottleneck:forward:queue")

    def dropped(time_ms: int) -> float:
        return at(queue, "drops", time_ms) - at(queue, "drops", 0)

    # A packet every 2 ms from 5 ms on, of 1 ms each: sent from an odd millisecond to an even one.
    assert at(queue, "packets", 1149) - at(queue, "packets", 1001) == 0
    assert at(queue, "backlog_packets", 1149) == pytest.approx(74, abs=1)
    assert dropped(1900) == 0
    # The queue is gone at twice the rate at which packets come.
    assert at(queue, "backlog_packets", 1290) > 0
    assert at(queue, "backlog_packets", 1310) <= 1
    # In half a second 250 packets come, and the queue has room for 100.
    assert at(queue, "backlog_packets", 2499) == 100
    assert dropped(4000) == pytest.approx(150, abs=2)
    assert int(got["reordered_packets"][-1]) == 0
    # Twelve pauses of 250 us, each within a frame's time, cost three frames.
    assert at(queue, "packets", 1280) - at(queue, "packets", 1160) == 117


def test_a_queue_limit_changes_and_events_repeat(run: Run, db: Path, tmp_path: Path) -> None:
    """A shorter limit drops what comes; what is in the queue leaves it in its time."""
    events = """\
events:
  - {at: 500ms, every: 1s, link: bottleneck, direction: forward, queue: {limit: 10p}}
  - {at: 1s, every: 1s, link: bottleneck, direction: forward, queue: {limit: 50p}}
"""
    document = run(scenario=written(tmp_path, LINE + events))
    faithful(document)
    with Store.open_read_only(db) as store:
        queue = opened(store).queue_samples("bottleneck:forward:queue")
    times, backlogs = queue["time_ns"] // MS, queue["backlog_packets"]

    def most(begin_ms: int, end_ms: int) -> int:
        return int(backlogs[(times > begin_ms) & (times <= end_ms)].max())

    assert most(0, 500) == 100
    gone = 50 * 10e3 / FRAME_BITS
    assert at(queue, "backlog_packets", 550) == pytest.approx(100 - gone, abs=1)
    spans = [(620, 1000), (1001, 1500), (1560, 2000), (2001, 2500), (2560, 3000)]
    assert [most(*span) for span in spans] == [10, 50, 10, 50, 10]


def cell(seed: int, length_ms: int) -> list[int]:
    """Return a trace with bursts and outages."""
    draw = random.Random(seed)
    times: list[int] = []
    begin_ms = 0
    while begin_ms < length_ms:
        rate, end_ms = draw.choice([0, 0.1, 0.5, 1, 2]), begin_ms + draw.randint(50, 400)
        for time_ms in range(begin_ms, min(end_ms, length_ms)):
            times += [time_ms + 1] * (int(rate) + (draw.random() < rate % 1))
        begin_ms = end_ms
    return [*times, length_ms]


def deviations(queue: dict[str, Array], trace: list[int], from_ms: int) -> Array:
    """Return what left the queue since then, less what the trace had room for, in bytes."""
    times = queue["time_ns"] // MS
    rounds = np.arange(int(times[-1]) // trace[-1] + 1) * trace[-1]
    room = np.searchsorted((rounds[:, None] + np.array(trace)).ravel(), times, side="right")
    since = (times >= from_ms) & (times < times[-1])  # none is due at the very end
    sent, room = queue["bytes"][since], room[since] * OPPORTUNITY_BYTES
    assert queue["backlog_packets"][since].min() > 0
    return np.asarray((sent - sent[0]) - (room - room[0]))


def test_a_trace_is_followed_to_the_byte(run: Run, db: Path, tmp_path: Path) -> None:
    """Under backlog, with frames of one size and of mixed sizes; and nothing passes in between."""
    trace = cell(3, 1300)
    (tmp_path / "cell.trace").write_text("\n".join(map(str, trace)) + "\n", encoding="ascii")
    ways = "{forward: {trace: cell.trace}, reverse: {rate: 9mbit}}"
    capacity = f"topology.bottleneck={{capacity: {ways}, delay: 10ms, queue: {{limit: 99p}}}}"
    scenario = written(tmp_path, LINE)
    mixed = (
        "flows=[{name: l, group: a, traffic: {kind: cbr, rate: 12mbit}},"
        " {name: m, group: a, traffic: {kind: cbr, rate: 5mbit, packet_size: 333B}},"
        " {name: s, group: b, traffic: {kind: cbr, rate: 2mbit, packet_size: 64B}}]"
    )
    for overrides, most_bytes in (((capacity,), 0), ((capacity, mixed), OPPORTUNITY_BYTES - 1)):
        document = run(*overrides, scenario=scenario)
        faithful(document)
        with Store.open_read_only(db) as store:
            queue = opened(store).queue_samples("bottleneck:forward:queue")
        off = deviations(queue, trace, 500)
        assert off.max() - off.min() <= most_bytes
        used = [link["utilisation"] for link in document["links"] if link["name"] == "bottleneck"]
        assert used[0] == pytest.approx(1.0, abs=0.01)
    # Idle, a packet waits for the next opportunity, and one that found nothing is not kept.
    alone = "flows=[{name: f, group: a, traffic: {kind: cbr, rate: 100kbit}}]"
    faithful(run(capacity, alone, scenario=scenario))
    with Store.open_read_only(db) as store:
        queue = opened(store).queue_samples("bottleneck:forward:queue")
    left = queue["time_ns"][1:][np.diff(queue["packets"]) > 0] // MS % trace[-1]
    assert len(left) > 15
    assert {int(time_ms) or trace[-1] for time_ms in left} <= set(trace)


PATHS = """\
version: 1
name: paths
seed: 1
duration: 2500ms
topology:
  kind: custom
  hosts: [a, b, c, d]
  routers: [r1, r2, r3]
  links:
    - {between: [a, r1], delay: 1ms}
    - {between: [c, r1], delay: 1ms}
    - {name: short, between: [r1, r2], delay: 10ms, rate: 10mbit, queue: {limit: 100p}}
    - {name: up, between: [r1, r3], delay: 20ms, rate: 10mbit, queue: {limit: 100p}}
    - {name: down, between: [r3, r2], delay: 20ms}
    - {between: [r2, b], delay: 1ms}
    - {between: [r2, d], delay: 1ms}
  groups:
    - {name: g, sources: [a], sinks: [b]}
    - {name: h, sources: [c], sinks: [d]}
flows:
  - {name: f, group: g, traffic: {kind: cbr, rate: 5mbit, packet_size: 111B}}
  - {name: k, group: h, traffic: {kind: cbr, rate: 100kbit}}
events:
  - {at: 500ms, reroute: {via: [r3], groups: [g]}}
  - {at: 1s, reroute: {}}
  - {at: 1500ms, link: short, state: down, reroute: true}
  - {at: 2s, link: short, state: up}
sample: {tcp: 1ms, queue: 1ms}
"""


def test_a_reroute_moves_flows_to_other_paths(run: Run, db: Path, tmp_path: Path) -> None:
    """A packet every 200 us shows when the switches have changed over: within 0.1 ms, no loss."""
    document = run(scenario=written(tmp_path, PATHS))
    faithful(document)
    assert 0 <= check(document, "reroute_lateness")["measured"] < 100e-6
    with Store.open_read_only(db) as store:
        stored = opened(store)
        got = stored.datagrams("f")
        links = {name: stored.queue_samples(f"{name}:forward:queue") for name in ("short", "up")}

    def one_way_ms(begin_ms: int, end_ms: int) -> tuple[float, float]:
        """Least and largest delay, each rounded to less than 0.1 ms."""
        chosen = (got["time_ns"] > begin_ms * MS) & (got["time_ns"] <= end_ms * MS)
        least, most = np.nanmin(got["delay_min_ns"][chosen]), np.nanmax(got["delay_max_ns"][chosen])
        return round(float(least) / MS, 6), int(most / MS * 10) / 10

    # 1 + 10 + 1 ms, or 1 + 20 + 20 + 1 ms, until the last packets on a way have come. Transmission
    # takes 0.1 ms. A packet may wait for one of the other flow, whose transmission takes 1.2112 ms.
    assert one_way_ms(0, 511) in ((12.1, 13.2), (12.1, 13.3))
    assert one_way_ms(543, 1000) == (42.1, 42.1)  # the other flow stays
    assert one_way_ms(1043, 1500) in ((12.1, 13.2), (12.1, 13.3))
    # The way back is not taken unasked.
    assert one_way_ms(1543, 2500) in ((42.1, 43.2), (42.1, 43.3))
    moved = {name: np.diff(each["packets"]) for name, each in links.items()}
    # Five packets a millisecond: for half a second, from the one that is at r1 at the
    # time itself, all go the new way. Four of the other flow stay.
    assert int(moved["up"][490:1010].sum()) == 500 * 5
    assert set(moved["up"][501:999].tolist()) == {5}
    assert int(moved["short"][501:990].sum()) == 4
    assert [int(moved["up"][1001:1499].sum()), int(moved["up"][1500:1502].sum())] == [0, 10]
    # On their way at the end are 42.1 ms of packets.
    assert int(got["received_packets"][-1]) == int(got["sent_packets"][-1]) - 42 * 5


IDEAL = """\
version: 1
name: ideal
seed: 1
duration: 12s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 20ms, queue: {limit: 20p}}
  access: {delay: 5ms}
  groups:
    - {name: a}
    - {name: b}
flows:
  - {name: ideal, group: a, congestion: idealtcp}
  - {name: udp, group: b, traffic: {kind: cbr, rate: 4mbit}, start: 6s}
sample: {tcp: 10ms}
"""


def test_ideal_tcps_settings_change_when_a_source_starts(
    run: Run, db: Path, tmp_path: Path
) -> None:
    """At the source's start the host knows 6 of 10 Mbit/s; at the next loss ssthresh is that."""
    document = run(scenario=written(tmp_path, IDEAL))
    faithful(document)
    with Store.open_read_only(db) as store:
        stored = opened(store)
        told = stored.provenance["namespaces"]["set"]
        samples = stored.tcp("ideal", columns=["time_ns", "congestion_0", "snd_ssthresh_segments"])
    rates = [(each["time_ns"], each["value"]) for each in told if each["sysctl"].endswith("bps")]
    assert rates == [(-1, int(10e6 * 1448 / 1514)), (6 * 10**9 - 1, int(6e6 * 1448 / 1514))]
    times, known = samples["time_ns"], samples["congestion_0"]
    base_rtt_ns = 60 * MS
    after = times >= 6 * 10**9 + base_rtt_ns
    assert set(known[times < 6 * 10**9]) <= {0, rates[0][1] // 8}
    assert set(known[after]) == {rates[1][1] // 8}
    window = int(6e6 * 1448 / 1514 * 0.06 / 8 / 1448)
    changed = times[(times > 6 * 10**9) & (samples["snd_ssthresh_segments"] == window)]
    assert changed[0] < 6 * 10**9 + 5 * base_rtt_ns


@pytest.mark.long
def test_equal_seeds_give_equal_runs_with_any_sampling(run: Run, tmp_path: Path) -> None:
    trace = cell(5, 900)
    (tmp_path / "cell.trace").write_text("\n".join(map(str, trace)) + "\n", encoding="ascii")
    ways = "{forward: {trace: cell.trace}, reverse: {rate: 9mbit}}"
    text = PATHS.replace("delay: 10ms, rate: 10mbit", f"delay: 10ms, loss: 1%, capacity: {ways}")
    text = text.replace("{kind: cbr, rate: 5mbit, packet_size: 111B}", "{kind: bulk}")
    scenario = written(tmp_path, text + "start_jitter: 3ms\n")
    samples = ("sample={tcp: 100ms, queue: 100ms}", "sample={tcp: 30ms, queue: 7ms}")
    digests = [run(sample, scenario=scenario)["digest"] for sample in samples]
    assert digests[0] == digests[1] != run(samples[0], "seed=2", scenario=scenario)["digest"]


def test_a_change_that_the_kernel_refuses_fails_the_run(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "step = {'time_ns': 10**8, 'do': 'sysctl', 'host': 'a_src0', 'name': 'net.ipv4.none'}\n"
        "spec['planned_steps'].append({**step, 'value': 1})\n",
        encoding="utf-8",
    )
    document = run("duration=1s", scenario=written(tmp_path, LINE), hook=hook)
    assert document["status"] == "failed"
    assert "at 0.1 s: a_src0: net.ipv4.none=1: Linux " in document["error"]


def test_an_unexpected_error_fails_the_run_with_its_message(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.scheduler import Scheduler\n"
        "Scheduler._set_link = lambda scheduler, step: step['broken on purpose']\n",
        encoding="utf-8",
    )
    events = "events: [{at: 500ms, link: bottleneck, rate: 1mbit}]\n"
    document = run("duration=1s", scenario=written(tmp_path, LINE + events), hook=hook)
    assert document["status"] == "failed"
    assert "at 0.5 s: KeyError: 'broken on purpose'" in document["error"]


def test_an_event_that_is_not_applied_is_detected(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.scheduler import Scheduler\n"
        "Scheduler._set_link = lambda scheduler, step: __import__('time').sleep(9)\n",
        encoding="utf-8",
    )
    events = "events: [{at: 500ms, link: bottleneck, rate: 1mbit}]\n"
    document = run("duration=1s", scenario=written(tmp_path, LINE + events), hook=hook)
    assert "events_applied" in failed_checks(document)
