"""Loss models: settings in the kernel, bounds of drops, and refused values."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.errors import ScenarioError
from orchestrator.kinds.losses import LossSpec
from orchestrator.kinds.losses.independent import Independent
from orchestrator.planning.plan import plan
from orchestrator.protocol.links.netem import loss_settings, threshold_chance
from orchestrator.scenario import load
from tests.support.smallest import LINK_LINE, link_faults

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
LOSS = "topology.bottleneck.loss"
SEED = 7


def model(text: str) -> LossSpec:
    """The forward loss of the quickstart's bottleneck."""
    run = plan(load(QUICKSTART, [f"{LOSS}={text}"])).runs[0]
    found = run.network.links[0].forward.loss
    assert isinstance(found, LossSpec)
    return found


def told(text: str) -> dict[str, int | str]:
    return {setting.name: setting.value for setting in loss_settings(model(text).impairment())}


@pytest.mark.parametrize(
    ("probability", "steps"),
    [("1e-8", 43), ("0.1%", 4294967), ("50%", 2**31), ("5e-10", 2), ("0", 0)],
)
def test_independent_loss_is_rounded_to_netems_steps(probability: str, steps: int) -> None:
    """sch_netem drops when a draw of 32 bits is at most the number it has: number + 1 steps."""
    number = told(probability)["loss_q32"]
    assert isinstance(number, int)
    assert threshold_chance(number) == steps * 2.0**-32


def test_gilbert_elliott_is_written_in_netems_parameters() -> None:
    kind = "kind: gilbert-elliott"
    by_burst = told(f"{{{kind}, mean_loss: 1%, mean_burst: 4}}")
    assert by_burst == {
        "loss_to_bad_q32": round(0.25 * 0.01 / 0.99 * 2**32),
        "loss_to_good_q32": 2**30,
        "loss_bad_kept_q32": 0,  # lost when a draw is above it: all but one in 2^32
        "loss_good_q32": 0,
    }
    by_state = told(f"{{{kind}, to_bad: 1%, to_good: 100%, bad_loss: 40%, good_loss: 0.5%}}")
    assert by_state == {
        "loss_to_bad_q32": round(0.01 * 2**32),
        "loss_to_good_q32": 2**32 - 1,
        "loss_bad_kept_q32": 2**32 - round(0.4 * 2**32) - 1,
        "loss_good_q32": round(0.005 * 2**32),
    }


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("2%", 0.02),
        ("{kind: gilbert-elliott, mean_loss: 3%, mean_burst: 7}", 0.03),
        ("{kind: gilbert-elliott, to_bad: 1%, to_good: 9%, bad_loss: 50%}", 0.05),
        ("{kind: two-state, bad: 1s}", 0.05),
        ("{kind: two-state, bad: 10ms}", 0.1 * 0.01 / 1.01),
        ("{kind: two-state, good: 1s, bad: 1s, bad_next: 20%, good_loss: 1%}", 0.028),
        ("{kind: markov, bad_loss: 50%}", 0.5 * 0.05 / 1.05),
    ],
)
def test_the_mean_is_the_long_run_probability(text: str, mean: float) -> None:
    assert model(text).mean == pytest.approx(mean)
    described = plan(load(QUICKSTART, [f"{LOSS}={text}"])).describe()
    assert described.runs[0].bottlenecks[0].loss == pytest.approx(mean)


def stays(loss: LossSpec, duration_s: float) -> tuple[list[float], list[float]]:
    """Return the durations of all complete Good and Bad states, in seconds."""
    changes = list(loss.changes(SEED, duration_s))
    times = [0.0, *(time_s for time_s, _loss in changes)]
    lengths = [after - before for before, after in itertools.pairwise(times)]
    assert [chance > 0 for _time, chance in changes] == [n % 2 == 0 for n in range(len(changes))]
    return lengths[::2], lengths[1::2]


def test_two_states_last_whole_multiples_of_their_durations() -> None:
    loss = model("{kind: two-state, good: 1s, bad: 10ms}")
    good, bad = stays(loss, 20_000)
    for lengths, unit in ((good, 1.0), (bad, 0.01)):
        times = np.array(lengths) / unit
        assert np.abs(times - np.rint(times)).max() < 1e-6
        # Each time the state goes on with probability one half.
        counts = np.rint(times)
        assert counts.min() == 1
        assert abs(counts.mean() - 2) < 5 * np.sqrt(2 / len(counts))
        assert abs((counts == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(len(counts))
    bad_share = sum(bad) / (sum(good) + sum(bad))
    assert bad_share == pytest.approx(0.01 / 1.01, rel=0.1)


def test_the_next_state_is_drawn_at_each_expiry() -> None:
    good, bad = stays(model("{kind: two-state, good: 1s, bad: 1s, bad_next: 20%}"), 20_000)
    assert np.mean(good) == pytest.approx(1 / 0.2, rel=0.1)
    assert np.mean(bad) == pytest.approx(1 / 0.8, rel=0.1)


def test_durations_of_markov_states_are_exponential() -> None:
    good, bad = stays(model("{kind: markov, good: 1s, bad: 50ms, bad_loss: 30%}"), 5000)
    for lengths, mean in ((good, 1.0), (bad, 0.05)):
        error = 5 / np.sqrt(len(lengths))
        assert np.mean(lengths) == pytest.approx(mean, rel=error)
        assert np.std(lengths) == pytest.approx(mean, rel=2 * error)
        assert np.mean(np.array(lengths) > mean) == pytest.approx(np.exp(-1), rel=error)
    assert len(good) + len(bad) == pytest.approx(2 * 5000 / 1.05, rel=0.1)


@pytest.mark.parametrize("text", ["two-state, bad: 10ms", "markov, bad_loss: 20%"])
def test_state_changes_follow_from_the_seed_and_end_with_the_run(text: str) -> None:
    loss = model(f"{{kind: {text}}}")
    whole = list(loss.changes(SEED, 200))
    assert whole == list(loss.changes(SEED, 200)) != list(loss.changes(SEED + 1, 200))
    half = list(loss.changes(SEED, 100))
    assert half == whole[: len(half)]
    times = [time_s for time_s, _loss in half]
    assert times == sorted(times)
    assert all(0 < time_s < 100 for time_s in times)
    assert {chance for _time, chance in whole} <= set(loss.state_losses)


def test_models_that_the_kernel_draws_have_no_state_changes() -> None:
    for text in ("1%", "{kind: gilbert-elliott, mean_loss: 1%, mean_burst: 2}"):
        assert list(model(text).changes(SEED, 100)) == []
        assert (model(text).states_per_s, model(text).state_losses) == (0.0, ())


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("{kind: two-state, good: 1s, bad: 1s}", 1.0),
        ("{kind: two-state, good: 1s, bad: 100ms, bad_next: 90%}", 1 / 0.19),
        ("{kind: markov, good: 1s, bad: 1s, bad_loss: 10%}", 1.0),
    ],
)
def test_a_model_has_its_number_of_states_per_second(text: str, rate: float) -> None:
    assert model(text).states_per_s == pytest.approx(rate)


def simulated(to_bad: float, to_good: float, packets: int, runs: int) -> npt.NDArray[np.int64]:
    """Return the drops of a Gilbert channel that loses everything in Bad, for each run."""
    draw = np.random.default_rng(3)
    is_bad, drops = np.zeros(runs, bool), np.zeros(runs, np.int64)
    for _ in range(packets):
        drops += is_bad
        drawn = draw.random(runs)
        is_bad = np.where(is_bad, drawn >= to_good, drawn < to_bad)
    return drops


def test_drops_of_gilbert_elliott_are_within_their_bounds() -> None:
    loss = model("{kind: gilbert-elliott, to_bad: 1%, to_good: 25%}")
    drops = simulated(0.01, 0.25, 2000, 4000)
    low, high = loss.drops(2000, 1e-2)
    assert np.mean(drops < low) <= 1e-2
    assert np.mean(drops > high) <= 1e-2
    # Chernoff's bound is no wider than a third more than what it bounds.
    spread = np.quantile(drops, [1e-2, 1 - 1e-2])
    assert high - low < 1.34 * (spread[1] - spread[0])
    assert loss.drops(0, 1e-6) == (0, 0)
    assert loss.drops(1, 1e-6) == (0, 0)  # it begins Good


def test_gilbert_elliott_with_equal_states_is_nearly_binomial() -> None:
    same = "to_bad: 50%, to_good: 50%, bad_loss: 1%, good_loss: 1%"
    low, high = model(f"{{kind: gilbert-elliott, {same}}}").drops(100_000, 1e-6)
    exact = model("1%").drops(100_000, 1e-6)
    assert low <= exact[0]
    assert exact[1] <= high
    assert high - low < 1.12 * (exact[1] - exact[0])


def test_losses_that_netem_does_not_count_lower_its_expected_count() -> None:
    for text in ("10%", "{kind: gilbert-elliott, mean_loss: 10%, mean_burst: 2}"):
        plain, hidden = model(text).drops(10_000, 1e-6), model(text).drops(10_000, 1e-6, 0.5)
        assert hidden[0] < plain[0]
        assert hidden[1] == plain[1]


REFUSED = [
    # what is written behind `loss: `, the column of the fault, and its message
    ("1.5", 11, "must be below 100%"),
    ("banana", 11, "`banana` is not a probability"),
    ("1e-10", 11, "the least probability it has is two of them, 4.7e-10"),
    ("{forward: 1.5, reverse: 0}", 21, "must be below 100%"),
    ("{kind: banana}", 18, "unknown loss kind `banana`"),
    ("{kind: gilbert-elliott, to_bad: 1.5, to_good: 1}", 43, "must not be above 100%"),
    ("{kind: gilbert-elliott, to_bad: 1%, to_good: banana}", 56, "is not a probability"),
    (
        "{kind: gilbert-elliott, to_bad: 1%, to_good: 1%, bad_loss: 1.5}",
        70,
        "must not be above 100%",
    ),
    ("{kind: gilbert-elliott, to_bad: 1%, to_good: 1%, good_loss: banana}", 71, "not a probab"),
    ("{kind: gilbert-elliott, mean_loss: 1.5, mean_burst: 2}", 46, "must be below 100%"),
    ("{kind: gilbert-elliott, mean_loss: 1%, mean_burst: 0.5}", 62, "must be at least 1.0"),
    ("{kind: gilbert-elliott, mean_loss: 1%}", 11, "or `mean_loss` and `mean_burst`"),
    ("{kind: gilbert-elliott, to_bad: 1%, mean_loss: 1%, mean_burst: 2}", 11, "not both"),
    ("{kind: gilbert-elliott, to_bad: 0, to_good: 1%}", 11, "a state would never end"),
    ("{kind: gilbert-elliott, mean_loss: 0, mean_burst: 2}", 11, "`mean_loss` must be above zero"),
    (
        "{kind: gilbert-elliott, mean_loss: 1%, mean_burst: 2, bad_loss: 50%}",
        11,
        "go with `to_bad` and `to_good`",
    ),
    ("{kind: gilbert-elliott, mean_loss: 70%, mean_burst: 2}", 11, "lose 66.67% at most"),
    ("{kind: two-state, bad: 10ms, bad_loss: 1.5}", 50, "must not be above 100%"),
    ("{kind: two-state, bad: 10ms, good_loss: banana}", 51, "is not a probability"),
    ("{kind: two-state, bad: 10ms, bad_next: 1.5}", 50, "must be below 100%"),
    ("{kind: two-state, bad: 0s}", 34, "must be above zero"),
    ("{kind: two-state}", 11, "`bad` is missing"),
    ("{kind: markov, bad_loss: banana}", 36, "is not a probability"),
    ("{kind: markov, bad_loss: 10%, good_loss: 1.5}", 52, "must be below 100%"),
    ("{kind: markov}", 11, "`bad_loss` is missing"),
    ("{kind: markov, bad_loss: 10%, good: 100us, bad: 100us}", 11, "2000000 states in"),
    ("{kind: two-state, good: 100us, bad: 100us}", 11, "most of them here (1000000); at most 2000"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED, ids=[each[0] for each in REFUSED])
def test_a_value_that_is_no_loss_is_refused_at_its_place(
    tmp_path: Path, text: str, column: int, message: str
) -> None:
    ((place, found),) = link_faults(tmp_path, f"loss: {text}").items()
    assert place == (LINK_LINE, column)
    assert message in found


def test_every_kind_is_written_back_as_it_was_read() -> None:
    for text in (
        "0.1%",
        "{kind: gilbert-elliott, mean_loss: 1%, mean_burst: 4}",
        "{kind: gilbert-elliott, to_bad: 1%, to_good: 100%, good_loss: 1e-6}",
        "{kind: two-state, bad: 100us, bad_loss: 100%}",
        "{kind: markov, bad_loss: 20%}",
    ):
        loss = model(text)
        written = loss.model_dump(mode="json", exclude_none=True)
        assert type(loss).model_validate(written) == loss


@pytest.mark.parametrize("resets", [True, False])
def test_a_model_whose_state_netem_resets_excludes_correlated_jitter(
    monkeypatch: pytest.MonkeyPatch, resets: bool
) -> None:
    monkeypatch.setattr(Independent, "netem_resets", resets)
    jitter = "{spread: 1ms, correlation: 100ms}"
    edits = [f"{LOSS}=0.01", f"topology.bottleneck.jitter={jitter}"]
    if not resets:
        assert plan(load(QUICKSTART, edits)).runs
        return
    with pytest.raises(ScenarioError) as refused:
        plan(load(QUICKSTART, edits))
    assert any(
        "not supported with independent loss" in str(fault) for fault in refused.value.faults
    )
