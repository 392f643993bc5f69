"""What happens to packets on a link, against what each model says: counted datagram by datagram."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.compile.netem import channel_seed
from orchestrator.intervals import binomial, renewals
from orchestrator.kinds import jitter_tables
from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.protocol.units import nanoseconds
from tests.support.openloop import BASE_NS, GAP_NS, Passed, Send
from tests.support.openloop import send as send

__all__ = ["send"]

pytestmark = pytest.mark.guest

CHANCE = 1e-6
JITTER_NS = 2_000_000


def bursts(lost: npt.NDArray[np.bool_]) -> list[int]:
    return [len(list(group)) for is_lost, group in itertools.groupby(lost) if is_lost]


def bad_states(passed: Passed) -> npt.NDArray[np.bool_]:
    """Of each datagram, whether the channel was Bad as it came, by the model's own draws."""
    channel = passed.spec.network.links[0].forward
    assert channel.loss is not None
    seed = channel_seed(passed.spec.seed, "states", 0, 0)
    changes = list(channel.loss.changes(seed, passed.spec.duration_s))
    times_ns = [nanoseconds(time_s) for time_s, _loss in changes]
    number = np.searchsorted(times_ns, passed.at_netem_ns, side="right")
    return np.array([0.0, *(loss for _time, loss in changes)])[number] > 0


def test_independent_loss_has_its_rate_and_no_bursts(send: Send) -> None:
    passed = send("loss=1%")
    low, high = binomial(passed.sent, 0.01, CHANCE)
    assert low <= passed.lost.sum() <= high
    # One loss after another is as likely as any.
    low, high = binomial(int(passed.lost.sum()), 0.01, CHANCE)
    assert low <= np.count_nonzero(passed.lost[1:] & passed.lost[:-1]) <= high
    assert passed.recording.verdict == "faithful"


def test_the_smallest_loss_is_accepted_and_loses_nothing_in_a_short_run(send: Send) -> None:
    passed = send("loss=1e-8")
    assert not passed.lost.any()
    settings = passed.recording.provenance["channels"]["start"]["bottleneck:forward"]["netem"]
    assert settings["loss_q32"] + 1 == 43
    assert passed.recording.verdict == "faithful"


def test_gilbert_elliott_by_mean_loss_and_mean_burst(send: Send) -> None:
    passed = send("loss={kind: gilbert-elliott, mean_loss: 5%, mean_burst: 4}")
    model = passed.spec.network.links[0].forward.loss
    assert model is not None
    low, high = model.drops(passed.sent, CHANCE)
    assert low <= passed.lost.sum() <= high
    lengths = bursts(passed.lost)
    deviation = math.sqrt(4 * 3 / len(lengths))  # of the mean of geometric lengths of mean 4
    assert len(lengths) > 100
    assert abs(np.mean(lengths) - 4) < 5 * deviation
    # Half of the bursts go on at each packet but a quarter: P(length > n) = (3/4)^n.
    longer = np.count_nonzero(np.array(lengths) > 3)
    low, high = binomial(len(lengths), 0.75**3, CHANCE)
    assert low <= longer <= high
    assert passed.recording.verdict == "faithful"


def test_gilbert_elliott_with_a_loss_in_each_state(send: Send) -> None:
    passed = send(
        "loss={kind: gilbert-elliott, to_bad: 2%, to_good: 10%, bad_loss: 50%, good_loss: 1%}"
    )
    model = passed.spec.network.links[0].forward.loss
    assert model is not None
    assert model.mean == pytest.approx((0.1 * 0.01 + 0.02 * 0.5) / 0.12)
    low, high = model.drops(passed.sent, CHANCE)
    assert low <= passed.lost.sum() <= high
    # Covariance of one packet's loss and the next one's: what remains of a state times its spread.
    expected = (1 - 0.02 - 0.1) * (0.02 * 0.1 / 0.12**2) * (0.5 - 0.01) ** 2
    lost = passed.lost - model.mean
    assert np.mean(lost[1:] * lost[:-1]) == pytest.approx(expected, rel=0.25)
    assert passed.recording.verdict == "faithful"


@pytest.mark.parametrize(
    "model", ["two-state, good: 20ms, bad: 5ms", "markov, good: 20ms, bad: 5ms"]
)
def test_states_change_at_their_exact_times(send: Send, model: str) -> None:
    """With a loss of 100% in Bad each datagram tells its state, also those at the very change."""
    passed = send(f"loss={{kind: {model}, bad_loss: 100%}}")
    is_bad = bad_states(passed)
    assert (passed.lost == is_bad).all()
    assert np.count_nonzero(np.diff(is_bad)) > 50
    assert passed.recording.verdict == "faithful"


def test_markov_states_last_exponentially_with_their_means(send: Send) -> None:
    """With a loss of 100% in Bad, runs of datagrams lost are its stays, in steps of 100 us."""
    good_s, bad_s = 0.008, 0.002
    passed = send("loss={kind: markov, good: 8ms, bad: 2ms, bad_loss: 100%}")
    for is_lost, mean_s in ((True, bad_s), (False, good_s)):
        groups = [(lost, len(list(each))) for lost, each in itertools.groupby(passed.lost)]
        stays = np.array([length for lost, length in groups[1:-1] if lost == is_lost])
        assert len(stays) > 120
        # Only whole steps are seen, geometric from 1 on. Stays shorter than a step are missed, and
        # so is the change to the next one: 5% of Bad, 1.2% of Good.
        missed = -math.expm1(-GAP_NS / 1e9 / (good_s if is_lost else bad_s))
        steps = mean_s * 1e9 / GAP_NS / (1 - missed)
        assert stays.mean() == pytest.approx(steps, abs=4 * steps / math.sqrt(len(stays)))
        low, high = binomial(len(stays), math.exp(-1), CHANCE)
        assert low <= np.count_nonzero(stays > steps) <= high
    share = bad_s / (good_s + bad_s)
    # Of an alternating process: 2 good^2 bad^2 / (good + bad)^3 a unit of time.
    cycles = passed.sent * GAP_NS / 1e9 / (good_s + bad_s)
    assert passed.lost.mean() == pytest.approx(
        share, abs=5 * share * (1 - share) * math.sqrt(2 / cycles)
    )
    assert passed.recording.verdict == "faithful"


@pytest.mark.long
def test_losses_are_independent_between_states(send: Send) -> None:
    """Netem's generator goes on when its settings change: so do its draws."""
    passed = send("loss={kind: two-state, good: 300us, bad: 300us, bad_loss: 30%}")
    is_bad = bad_states(passed)
    assert not passed.lost[~is_bad].any()
    low, high = binomial(int(is_bad.sum()), 0.3, CHANCE)
    assert low <= passed.lost.sum() <= high
    first = is_bad & ~np.roll(is_bad, 1)
    firsts = passed.lost[first]
    low, high = binomial(len(firsts), 0.3, CHANCE)
    assert low <= firsts.sum() <= high
    for lag in (1, 2, 3):
        both = np.count_nonzero(firsts[lag:] & firsts[:-lag])
        low, high = binomial(len(firsts) - lag, 0.09, CHANCE / 10)
        assert low <= both <= high, lag
    assert passed.recording.verdict == "faithful"


def farthest(delays_ns: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> float:
    """Return the statistic of Kolmogorov and Smirnov; ``expected`` are ordered equal parts."""
    measured = np.sort(delays_ns)
    below = np.searchsorted(expected, measured, side="right") / len(expected)
    before = np.searchsorted(expected, measured, side="left") / len(expected)
    ranks = np.arange(1, len(measured) + 1) / len(measured)
    return float(max((before - ranks).max(), (ranks - 1 / len(ranks) - below).max()))


@pytest.mark.parametrize(
    "distribution",
    [
        "uniform",
        "normal",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("pareto", "paretonormal")),
    ],
)
def test_delays_have_the_requested_distribution(send: Send, distribution: str) -> None:
    passed = send(f"jitter={{spread: 2ms, distribution: {distribution}}}")
    assert not passed.lost.any()
    if distribution == "uniform":
        expected = BASE_NS + np.linspace(-JITTER_NS, JITTER_NS, 4096)
        deviation_ns = JITTER_NS / math.sqrt(3)
    else:
        expected = BASE_NS + np.array(jitter_tables.table(distribution)) / 8192 * JITTER_NS
        deviation_ns = JITTER_NS
    # The limit that a right sample of this size passes but for a chance of one in a million.
    assert farthest(passed.delays_ns, expected) < math.sqrt(math.log(2 / CHANCE) / 2 / passed.sent)
    error = deviation_ns / math.sqrt(passed.sent)
    assert abs(passed.delays_ns.mean() - BASE_NS) < 5 * error
    assert passed.delays_ns.std() == pytest.approx(deviation_ns, rel=0.03)
    lag = passed.delays_ns[np.argsort(passed.numbers)] - BASE_NS
    assert abs(np.mean(lag[1:] * lag[:-1]) / deviation_ns**2) < 5 / math.sqrt(passed.sent)
    assert (np.diff(passed.numbers) < 0).any(), "netem's jitter reorders"
    assert passed.recording.verdict == "faithful"


def test_with_keep_order_a_packet_waits_for_earlier_ones(send: Send) -> None:
    passed = send("jitter={spread: 2ms, keep_order: true}")
    assert (np.diff(passed.numbers) > 0).all()
    assert not passed.lost.any()
    low, high = BASE_NS - JITTER_NS, BASE_NS + JITTER_NS
    assert low <= passed.delays_ns.min() <= passed.delays_ns.max() <= high
    # Forty drawn while the first of them is on its way: the largest of so many is what remains.
    assert passed.delays_ns.mean() > BASE_NS + JITTER_NS / 2
    assert passed.recording.verdict == "faithful"


@pytest.mark.long
def test_with_gaps_wider_than_the_spread_no_packet_waits(send: Send) -> None:
    spread_ns = 49_000
    passed = send("jitter={spread: 49us, keep_order: true}")
    expected = BASE_NS + np.linspace(-spread_ns, spread_ns, 4096)
    assert farthest(passed.delays_ns, expected) < math.sqrt(math.log(2 / CHANCE) / 2 / passed.sent)


@pytest.mark.long
def test_a_correlated_delay_is_common_to_packets_and_changes_at_exact_times(send: Send) -> None:
    passed = send("jitter={spread: 2ms, distribution: normal, correlation: 10ms}")
    jitter = passed.spec.network.links[0].forward.jitter
    assert jitter is not None
    changes = list(jitter.changes(channel_seed(passed.spec.seed, "jitter", 0, 0), 4.0))
    assert len(changes) > 300
    offsets = []
    for _time, drawn in changes:
        assert drawn.table is not None
        (entry,) = drawn.table
        offsets.append(drawn.spread_ns * int(np.sign(entry)))
    times_ns = [nanoseconds(time_s) for time_s, _drawn in changes]
    number = np.searchsorted(times_ns, passed.at_netem_ns, side="right") - 1
    expected = BASE_NS + np.array(offsets)[number]
    assert (passed.delays_ns[np.argsort(passed.numbers)] == expected).all()
    assert passed.recording.verdict == "faithful"


def test_reordered_packets_skip_the_delay(send: Send) -> None:
    passed = send("reordering=2%")
    skipped = passed.delays_ns == BASE_NS - 20_000_000
    assert (skipped | (passed.delays_ns == BASE_NS)).all()
    low, high = binomial(passed.sent, 0.02, CHANCE)
    assert low <= skipped.sum() <= high
    assert passed.check("reordering bottleneck:forward")
    assert passed.recording.verdict == "faithful"


@pytest.mark.long
def test_a_gap_keeps_reordered_packets_apart(send: Send) -> None:
    passed = send("reordering={gap: 5, probability: 40%}")
    skipped = np.sort(passed.numbers[passed.delays_ns == BASE_NS - 20_000_000])
    assert np.diff(skipped).min() == 5
    low, high = renewals(passed.sent, 5, 0.4, CHANCE)
    assert low <= len(skipped) <= high
    assert passed.recording.verdict == "faithful"


def test_duplicated_packets_arrive_twice(send: Send) -> None:
    passed = send("duplication=2%")
    numbers, times = np.unique(passed.numbers, return_counts=True)
    assert len(numbers) == passed.sent
    assert set(times) == {1, 2}
    low, high = binomial(passed.sent, 0.02, CHANCE)
    assert low <= np.count_nonzero(times == 2) <= high
    assert passed.check("duplication bottleneck:forward")
    assert passed.recording.verdict == "faithful"


def test_checksums_detect_corrupted_packets(send: Send) -> None:
    """All but a bit turned over in the source's hardware address, 6 bytes of so many."""
    passed = send("corruption=5%")
    low, high = binomial(passed.sent, 0.05 * (FRAME_BYTES - 6) / FRAME_BYTES, CHANCE)
    assert low <= passed.lost.sum() <= high
    assert passed.check("corruption")
    assert passed.recording.verdict == "faithful"


ALL = (
    "loss={forward: {kind: gilbert-elliott, mean_loss: 1%, mean_burst: 2}, "
    "reverse: {kind: markov, good: 50ms, bad: 5ms, bad_loss: 50%}}",
    "jitter={forward: {spread: 2ms, distribution: normal}, "
    "reverse: {spread: 1ms, correlation: 9ms}}",
    "reordering=1%",
    "duplication=1%",
    "corruption=1%",
)


@pytest.mark.long
def test_equal_seeds_give_equal_packets_with_any_sampling(send: Send) -> None:
    one, other = (send(*ALL, f"seed={seed}", count=4000) for seed in (1, 2))
    same = send(*ALL, "sample.queue=3ms", "sample.tcp=7ms", count=4000)
    assert one.recording.verdict == "faithful"
    assert (one.numbers.tolist(), one.delays_ns.tolist(), one.recording.digest) == (
        same.numbers.tolist(), same.delays_ns.tolist(), same.recording.digest,
    )  # fmt: skip
    assert one.numbers.tolist() != other.numbers.tolist()


# What netem was told, changed behind the set-up's back.
SABOTAGE = """
from orchestrator.testbed.network.queues import qdisc
link = bed.links["bottleneck"]
name, index = link.device("b")
netem = link.spec["forward"]["netem"]
settings = [{**s, "value": CHANGED.get(s["name"], s["value"])} for s in netem["settings"]]
qdisc.add_netem(bed.wires, index, {"kind": "netem", "settings": settings}, name, change=True)
bed.wires.flush()
"""
BROKEN = [
    (
        {"reordering bottleneck:forward", "duplication bottleneck:forward", "corruption"},
        ["reordering=2%", "duplication=2%", "corruption=5%"],
        dict.fromkeys(("reorder_q32", "duplicate_q32", "corrupt_q32"), 2**32 // 200),
    ),
    (
        {"loss bottleneck:forward"},
        ["loss={kind: gilbert-elliott, mean_loss: 2%, mean_burst: 3}"],
        {"loss_to_good_q32": 2**32 // 10},
    ),
    ({"base_rtt"}, ["jitter=2ms"], {"delay_ns": 25_000_000}),
]


@pytest.mark.parametrize(("checks", "asked", "changed"), BROKEN, ids=["all", "loss", "delay"])
def test_each_check_fails_when_its_model_is_broken(
    send: Send, checks: set[str], asked: list[str], changed: dict[str, int]
) -> None:
    passed = send(*asked, before=f"CHANGED = {changed}\n{SABOTAGE}")
    failed = {check.name for check in passed.recording.checks if check.ok is False}
    assert checks <= failed
    assert passed.recording.verdict == "unfaithful"


@pytest.mark.long
def test_a_loss_that_is_wrong_in_one_state_only_is_detected(send: Send) -> None:
    wrong = """
for step in spec["planned_steps"]:
    for setting in step["settings"]:
        setting["value"] = setting["expected"] = setting["value"] // 2
"""
    passed = send("loss={kind: two-state, good: 20ms, bad: 5ms, bad_loss: 30%}", before=wrong)
    assert passed.check("loss bottleneck:forward") is False
    assert passed.recording.verdict == "unfaithful"
