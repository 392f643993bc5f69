"""What a link does while its rate or its impairments change: every frame at its time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from results.samples.sample_tables import Array
from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.guest_events import FRAME_BITS, LINE, MS, at, check, faithful, opened, written

pytestmark = pytest.mark.guest


def test_a_link_carries_the_integral_of_a_varying_rate(run: Run, db: Path, tmp_path: Path) -> None:
    """A change each 10 ms, of three frame times, lets no frame leave early, and none late."""
    events = (
        "events: [{at: 0s, every: 20ms, link: bottleneck, rate: 5mbit, direction: forward},"
        " {at: 10ms, every: 20ms, link: bottleneck, rate: 4mbit, direction: forward}]\n"
    )
    document = run("duration=10s", scenario=written(tmp_path, LINE + events))
    faithful(document)
    assert check(document, "events_applied")["measured"] == 1000
    with Store.open_read_only(db) as store:
        sent = opened(store).queue_samples("bottleneck:forward:queue")
    # From the first second on, in which 20 Mbit/s fill the queue.
    first = at(sent, "bytes", 1000)
    for time_ms in range(1000, 10_000, 10):
        bits = 8 * (at(sent, "bytes", time_ms) - first)
        whole, rest_ms = divmod(time_ms - 1000, 20)
        assert abs(bits - (whole * 90e3 + rest_ms * 5e3)) <= 1.05 * FRAME_BITS, time_ms


def test_the_kernel_serves_its_queue_when_the_rate_changes(
    run: Run, db: Path, tmp_path: Path
) -> None:
    """Nothing comes that would make it look, and at 10 kbit/s a frame takes 1.2 s."""
    events = (
        "events: [{at: 500ms, link: bottleneck, rate: 10kbit},"
        " {at: 1s, link: bottleneck, rate: 10mbit}]\n"
    )
    scenario = written(tmp_path, LINE + events)
    faithful(run("duration=1500ms", "flows.flood.stop=450ms", scenario=scenario))
    with Store.open_read_only(db) as store:
        queue = opened(store).queue_samples("bottleneck:forward:queue")
    assert at(queue, "backlog_packets", 999) > 50
    begun = at(queue, "backlog_packets", 1000)
    assert at(queue, "backlog_packets", 1010) == pytest.approx(begun - 100e3 / FRAME_BITS, abs=2)
    assert at(queue, "backlog_packets", 1130) == 0


def test_jitter_reordering_duplication_and_corruption_change_at_their_times(
    run: Run, db: Path, tmp_path: Path
) -> None:
    """A packet of 1 ms every 2 ms over the idle link; each impairment has half a second."""
    probe = "{name: probe, group: a, traffic: {kind: cbr, rate: 5mbit, packet_size: 1236B}}"
    ways = "link: bottleneck, direction: forward"
    events = f"""\
events:
  - {{at: 500ms, {ways}, jitter: 2ms}}
  - {{at: 1s, {ways}, jitter: {{spread: 1ms, distribution: normal, keep_order: true}}}}
  - {{at: 1500ms, {ways}, jitter: 0s, reordering: {{gap: 5}}}}
  - {{at: 2s, {ways}, reordering: 0%, duplication: 20%}}
  - {{at: 2500ms, {ways}, duplication: 0%, corruption: 40%}}
  - {{at: 3s, {ways}, corruption: 0%, jitter: 3ms}}
  - {{at: 3500ms, {ways}, jitter: {{spread: 2ms, correlation: 20ms}}}}
  - {{at: 4s, {ways}, jitter: 0s}}
"""
    short = ("duration=4500ms", "sample.tcp=1ms", f"flows=[{probe}]")
    document = run(*short, scenario=written(tmp_path, LINE + events))
    faithful(document)
    with Store.open_read_only(db) as store:
        got = opened(store).datagrams(0)
    base_ms, between = 21, {500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500}

    def delays_ms(begin_ms: int) -> Array:
        """One-way delays of what came in that half second, but for its first 40 ms."""
        begin, end = (begin_ms + 40) * MS, (begin_ms + 500) * MS
        chosen = (got["time_ns"] > begin) & (got["time_ns"] <= end)
        joined = np.concatenate([got[name][chosen] for name in ("delay_min_ns", "delay_max_ns")])
        return np.asarray(joined[~np.isnan(joined)] / MS - base_ms)

    def grown(name: str) -> list[int]:
        """Return by how much a counter grew in each half second, but for its first 40 ms."""
        return [at(got, name, end) - at(got, name, end - 460) for end in sorted(between)]

    assert np.abs(delays_ms(0)).max() == 0
    assert 1.8 < np.abs(delays_ms(500)).max() <= 2
    assert 1.8 < delays_ms(1000).max() <= 3.7
    assert 0.5 < np.std(delays_ms(1000)) < 1.5
    # Every fifth skips the 10 ms of the link; the frame's own time it does not skip.
    assert set(np.round(delays_ms(1500), 6)) == {0, -10}
    assert set(np.round(delays_ms(2000), 6)) == set(np.round(delays_ms(2500), 6)) == {0}
    assert 2.7 < np.abs(delays_ms(3000)).max() <= 3
    held = np.round(delays_ms(3500), 6)
    assert 10 < len(set(held.tolist())) < 100, "a delay holds for 20 ms on average"
    assert np.abs(delays_ms(4000)).max() == 0
    reordered, duplicated = grown("reordered_packets"), grown("duplicate_packets")
    overtaken = {begin for begin, n in zip(range(0, 4500, 500), reordered, strict=True) if n}
    assert overtaken in ({500, 1500, 3000}, {500, 1500, 3000, 3500}), "a held delay may shorten"
    assert reordered[3] == pytest.approx(230 * 4 / 5, abs=10), "the four that a fifth overtook"
    assert [n > 0 for n in duplicated] == [each == 2500 for each in sorted(between)]
    received = grown("received_packets")
    assert received[0] == 230
    assert 100 < received[5] < 180, "those that are broken do not arrive"
    assert check(document, "reordering bottleneck:forward")["detail"].endswith("by itself")
    assert check(document, "duplication bottleneck:forward")["ok"]
    assert check(document, "corruption")["ok"]


TRACED = """\
version: 1
name: traced
duration: 8s
topology:
  kind: dumbbell
  bottleneck:
    rate: 20mbit
    delay: {forward: {trace: delay.csv, offset: 1s}, reverse: 10ms}
    loss: {forward: {trace: loss.csv}, reverse: 0%}
    queue: {limit: 60p}
  access: {delay: 1ms}
  groups: [{name: a}, {name: b}]
flows:
  - {name: small, group: a, traffic: {kind: bulk, window: 2p}}
  - {name: udp, group: b, traffic: {kind: cbr, rate: 4mbit}}
sample: {tcp: 10ms}
"""


@pytest.mark.parametrize("loss", [False, True])
def test_delays_and_losses_follow_their_traces(
    run: Run, db: Path, tmp_path: Path, loss: bool
) -> None:
    # Seconds 0 to 2 have 10 ms, 2 to 4 have 40 ms, and so on; the run begins in second 1.
    (tmp_path / "delay.csv").write_text("time_s,delay_ms\n0,10\n2,40\n")
    (tmp_path / "loss.csv").write_text("time_s,loss_percent\n0,0\n3,50\n3.5,0\n4,0\n")
    text = TRACED if loss else TRACED.replace("loss: {forward", "# loss: {forward")
    file = tmp_path / "traced.yaml"
    file.write_text(text)
    document = run(scenario=file)
    faithful(document)
    small = document["flows"][0]
    assert small["base_rtt_measured_s"] == pytest.approx(0.024, abs=1e-3)
    assert small["rtt_min_s"] == pytest.approx(0.024, abs=1e-3)
    with Store.open_read_only(db) as store:
        samples = opened(store).tcp("small")
    for begin_s, rtt_ms in ((0.6, 24), (2.6, 54), (4.6, 24), (6.6, 54)):
        inside = (samples["time_ns"] > begin_s * 1e9) & (samples["time_ns"] < (begin_s + 0.3) * 1e9)
        # The smoothed RTT moves by an eighth of the difference with each sample.
        assert np.median(samples["rtt_us"][inside]) == pytest.approx(1000 * rtt_ms, rel=0.05)
    link = next(one for one in document["links"] if one["direction"] == "forward")
    # About 350 packets a second come, and half of them are lost for half a second, twice.
    assert (130 < link["impairment_losses_packets"] < 220) is loss
