"""``reproduce`` makes the runs that are missing, judges statements, and says what is open."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from results.claims import values
from results.claims.loading import load_all
from results.claims.measured import read_all
from results.claims.model import Quantity
from results.claims.page import Cost, Evidence, page
from results.store import Store
from results.stored import StoredRun
from tests.unit.cli.test_run import FakeRunner, fake, orchestrator
from tests.unit.planning.test_identity import TEXT

__all__ = ["fake"]

CLAIMS = """\
title: A. Author, "A paper", 2004
experiments:
  sweep:
    scenario: sweep.yaml
    quick: {least: 3, most: 9}
    full: {set: [duration=4s], least: 4}
claims:
  W1:
    says: One is slow, and faster with a longer queue.
    figures:
      - {of: [W1.1], title: one}
    statements:
      - id: W1.1
        says: One has its goodput.
        place: Table I
        relation: value
        tolerance: 10%
        reason: why not
        unit: Mbit/s
        of: {experiment: sweep, metric: goodput_bps, flows: [one], scale: 1.0e-6}
        cases:
          - {label: short, of: {where: {limit: 10p}}, paper: 1.0}
          - {label: long, of: {where: {limit: 20p}}, paper: PAPER}
      - id: W1.2
        says: The queue helps.
        place: Fig. 1
        relation: ordering
        tolerance: 0
        reason: the direction is stated
        cause: The cable is short.
        of: {experiment: sweep, metric: goodput_bps, flows: [one]}
        compare: [{name: long, of: {where: {limit: 20p}}}, {name: short, of: {where: {limit: 10p}}}]
    ablations:
      - name: cable
        says: The cable is longer.
        asks: It tells whether the cable matters.
        of: [W1.1]
        set: [topology.bottleneck.delay=7ms]
        least: 2
  W2:
    says: It is seen in the air.
    statements:
      - {id: W2.1, says: Radio waves shine., place: Fig. 2, cannot: There is no air.}
"""
WORDS = ("--claims", "papers/claims", "--db", "runs.db")


@pytest.fixture
def paper(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    """Goodputs near 1 Mbit/s with the short queue, and 2 with the long one, which varies more."""

    def value(run: StoredRun, _quantity: Quantity) -> float:
        wide = "20p" in run.row.variant.values()
        spread = random.Random(f"{run.row.seed} {wide}").uniform(-1, 1)
        return (2 + 0.12 * spread if wide else 1 + 0.01 * spread) * (_quantity.scale or 1e-6) * 1e6

    monkeypatch.setattr(values, "value", value)
    Path("papers/claims").mkdir(parents=True)
    Path("papers/sweep.yaml").write_text(
        f"{TEXT}reduced: {{duration: 1s, matrix.topology.bottleneck.queue.limit: [10p]}}\n"
    )
    state("2.0")
    return fake


def state(number: str) -> None:
    Path("papers/claims/paper.yaml").write_text(CLAIMS.replace("PAPER", number))


def reproduce(*words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit status and the statements by id."""
    result = orchestrator("reproduce", *words, *WORDS, "--json")
    assert result.stdout, result.stderr
    return result.exit_code, {each["id"]: each for each in json.loads(result.stdout)["statements"]}


def made() -> dict[str, list[int]]:
    """Repetitions by variant."""
    found: dict[str, list[int]] = {}
    with Store.open_read_only(Path("runs.db")) as store:
        for row in store.list_runs():
            found.setdefault(row.variant["topology.bottleneck.queue.limit"], []).append(
                row.repetition
            )
    return found


def test_every_statement_gets_a_verdict_and_the_second_call_runs_nothing(paper: FakeRunner) -> None:
    status, found = reproduce()
    assert status == 0
    assert found["W1.1"]["rows"][0]["verdict"] == "holds"
    assert found["W1.2"]["verdict"] == "holds"
    assert found["W2.1"]["verdict"] == "cannot be tested here"
    plans = len(paper.asked)
    runs = made()
    again = reproduce()
    assert again == (status, found)
    assert (len(paper.asked), made()) == (plans, runs)


LONGER = """\
      - id: W1.3
        says: One has its goodput for longer.
        place: Fig. 1
        relation: at-least
        paper: 0.5
        tolerance: 0
        reason: why not
        unit: bit/s
        of: {experiment: longer, metric: goodput_bps, flows: [one], where: {limit: 10p}}
    ablations:
"""


def test_the_experiments_of_all_statements_are_one_plan(paper: FakeRunner) -> None:
    file = Path("papers/claims/paper.yaml")
    once = "quick: {set: [duration=5s], least: 3}, full: {least: 4}"
    longer = f"  longer: {{scenario: sweep.yaml, {once}}}\nclaims:\n"
    text = file.read_text().replace("    ablations:\n", LONGER)
    file.write_text(text.replace("claims:\n", longer))
    status, found = reproduce("paper:W1.3", "paper:W1.2")
    assert status == 0
    assert len(paper.asked) == 1
    with Store.open_read_only(Path("runs.db")) as store:
        durations_s = {
            name: {store.load(run_id).row.duration_s for run_id in found[name]["rows"][0]["runs"]}
            for name in ("W1.2", "W1.3")
        }
        experiments = {row.experiment for row in store.list_runs()}
    assert durations_s == {"W1.2": {2.0}, "W1.3": {5.0}}
    assert experiments == {"sweep"}


def test_an_undecided_row_is_repeated_as_often_as_it_asks_for_and_no_other(
    paper: FakeRunner,
) -> None:
    _status, found = reproduce("paper:W1.1")
    short, long = found["W1.1"]["rows"]
    assert (short["n"], short["verdict"]) == (3, "holds")
    assert (long["n"], long["verdict"]) == (6, "holds")  # (4.303 x 0.072 / 0.134)^2 = 5.4
    assert made() == {"10p": [0, 1, 2], "20p": [0, 1, 2, 3, 4, 5]}
    assert len(paper.asked) == 2


RISING = """\
      - id: W1.3
        says: Goodput rises with the queue.
        place: Fig. 1
        relation: monotone
        direction: rises
        tolerance: 0
        reason: the direction is stated
        of: {experiment: sweep, metric: goodput_bps, flows: [one]}
        along: {axis: limit, values: [VALUES]}
    ablations:
"""


def test_a_step_joins_the_values_of_a_length_and_counts_those_that_it_has_no_runs_of(
    paper: FakeRunner,
) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    text = file.read_text().replace("    ablations:\n", RISING)
    file.write_text(text.replace("VALUES", "10p, 15p, 20p"))
    _status, found = reproduce("paper:W1", "--write", "m")
    assert [row["label"] for row in found["W1.3"]["rows"]] == ["limit 10p to 20p"]
    assert (found["W1.3"]["verdict"], found["W1.3"]["absent"]) == ("holds", 1)
    shown = page(load_all(file.parent), Evidence(read_all(Path("m"))))
    assert "| W1.3 | Goodput rises with the queue. limit 10p to 20p | Fig. 1 | rises | 1.9" in shown


def test_a_statement_without_runs_says_what_the_length_that_has_them_costs(
    paper: FakeRunner,
) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    text = file.read_text().replace("    ablations:\n", RISING)
    file.write_text(text.replace("VALUES", "15p, 20p"))
    _status, found = reproduce("paper:W1", "--write", "m")
    assert (found["W1.3"]["rows"], found["W1.3"]["verdict"]) == ([], "undecided")
    costs = {("paper", "W1.3"): Cost(4, 16.0 * 60)}
    shown = page(load_all(file.parent), Evidence(read_all(Path("m")), full_costs=costs))
    assert "| - | - | undecided: no runs at this length |" in shown
    told = "W1.3 has no runs at the length *quick*. The length *full* has 4 runs of 16 simulated"
    assert told in " ".join(shown.split())


def test_a_row_that_needs_more_than_the_limit_stays_undecided_and_says_so(
    paper: FakeRunner,
) -> None:
    state("2.13")  # its lower edge is 1.917, and the mean of the first three is 1.934
    status, found = reproduce("paper:W1.1")
    long = found["W1.1"]["rows"][1]
    assert (status, long["n"], long["verdict"]) == (0, 3, "undecided")
    assert long["needed"] > 9
    assert found["W1.1"]["cost"]["runs"] == long["needed"] - 3
    assert found["W1.1"]["cost"]["minutes"] > 0
    text = orchestrator("reproduce", "paper:W1.1", *WORDS).stdout
    assert f"undecided: about {long['needed'] - 3} more runs would decide" in text
    assert f"min with one job (--most {long['needed']})" in text
    assert len(paper.asked) == 1
    _status, found = reproduce("paper:W1.1", "--most", str(long["needed"] - 1))
    assert (found["W1.1"]["rows"][1]["n"], len(paper.asked)) == (3, 1)  # would decide nothing
    _status, found = reproduce("paper:W1.1", "--most", str(long["needed"]))
    assert (found["W1.1"]["rows"][1]["n"], len(paper.asked)) == (long["needed"], 2)


def test_with_more_repetitions_a_statement_is_looked_at_until_it_is_decided(
    paper: FakeRunner,
) -> None:
    state("1.79")  # its upper edge is 1.969, above the mean of the first three, below that of many
    _status, found = reproduce("paper:W1.1")
    needed = found["W1.1"]["rows"][1]["needed"]
    _status, found = reproduce("paper:W1.1", "--most", str(needed))
    second = found["W1.1"]["rows"][1]
    assert (second["n"], second["verdict"]) == (needed, "undecided")
    assert second["needed"] > needed
    assert len(paper.asked) == 2
    _status, found = reproduce("paper:W1.1", "--most", "1000")
    last = found["W1.1"]["rows"][1]
    assert last["verdict"] == "does not hold"
    assert second["needed"] <= last["n"] <= 1000


def test_more_repetitions_than_the_length_allows_make_no_summary(paper: FakeRunner) -> None:
    result = orchestrator("reproduce", "paper:W1.1", "--most", "12", "--write", "m", *WORDS)
    assert result.exit_code == 2
    assert "--most and --write: a summary has the repetitions that its length asks for" in (
        result.stderr
    )
    assert not paper.asked


def test_another_number_of_the_paper_changes_the_verdict_without_runs(paper: FakeRunner) -> None:
    _status, before = reproduce("paper:W1.1")
    plans = len(paper.asked)
    state("4.0")
    status, after = reproduce("paper:W1.1")
    assert before["W1.1"]["rows"][1]["verdict"] != "does not hold"
    assert after["W1.1"]["rows"][1]["verdict"] == "does not hold"
    assert (status, after["W1.1"]["verdict"]) == (0, "holds in part")
    assert len(paper.asked) == plans


def test_unfaithful_runs_are_left_out_and_counted(paper: FakeRunner) -> None:
    paper.verdict[1] = "unfaithful"  # the seed of the first repetition
    status, found = reproduce("paper:W1.2")
    (row,) = found["W1.2"]["rows"]
    assert status == 0
    assert row["left_out"]["unfaithful"] == 2  # one of each of the two variants
    assert row["n"] == len(made()["10p"]) - 1


def test_a_failed_run_is_the_exit_status(paper: FakeRunner) -> None:
    paper.failed.add(1)
    status, found = reproduce("paper:W1.2")
    assert status == 1
    assert found["W1.2"]["rows"][0]["left_out"]["failed"] == 2
    paper.failed.clear()
    assert reproduce("paper:W1.2")[0] == 0  # made again


def test_an_interrupted_command_continues(paper: FakeRunner) -> None:
    paper.interrupting.add(1)
    result = orchestrator("reproduce", "paper", *WORDS)
    assert result.exit_code != 0
    assert "the same command runs the others" in result.stderr
    paper.interrupting.clear()
    assert reproduce()[0] == 0


def test_the_text_has_the_papers_number_beside_ours_and_the_command(paper: FakeRunner) -> None:
    assert paper is not None
    result = orchestrator("reproduce", "paper", *WORDS)
    assert result.exit_code == 0
    (line,) = [each for each in result.stdout.splitlines() if each.strip().startswith("short ")]
    assert "1 Mbit/s" in line
    assert "[0.9" in line
    assert line.rstrip().endswith("3   holds")
    assert "reproduce paper:W1.2 --quick" in result.stdout
    assert "W2.1: cannot be tested here: There is no air." in result.stdout
    assert "W1.2: cause: The cable is short." in result.stdout
    assert "3 statements: " in result.stdout


def test_a_length_without_a_variant_says_what_the_full_one_costs(paper: FakeRunner) -> None:
    assert paper is not None
    status, found = reproduce("--reduced")
    assert status == 0
    assert found["W1.2"]["verdict"] == "undecided"
    assert found["W1.2"]["cost"]["runs"] == 8
    assert found["W1.2"]["cost"]["length"] == "full"
    assert found["W1.1"]["absent"] == 1
    text = orchestrator("reproduce", "--reduced", *WORDS).stdout
    assert "its verdicts mean nothing" in text
    assert "W1.2: not part of this length" in text


def test_a_plan_runs_nothing(paper: FakeRunner) -> None:
    result = orchestrator("reproduce", "--full", "--plan", *WORDS)
    assert (result.exit_code, paper.asked) == (0, [])
    assert "about 0 min with one job" in result.stdout
    document = json.loads(orchestrator("reproduce", "--plan", "--json", *WORDS).stdout)
    (experiment,) = document["experiments"]
    assert (experiment["variants"], experiment["least"], experiment["most"]) == (2, 3, 9)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("papr", "there is no paper papr (did you mean `paper`?)"),
        ("W1.2", "there is no paper W1.2 (did you mean `paper:W1.2`?); there are paper"),
        ("w1", "(did you mean `paper:W1`?)"),
        (":W1", "there is no paper without a name (did you mean `paper:W1`?)"),
        ("paper:W9", "paper has no claim W9; its claims are W1, W2"),
        ("paper:X", "its claims are W1, W2"),
        ("paper:W1.9", "paper has no statement W1.9; the statements of W1 are W1.1, W1.2"),
    ],
)
def test_an_unknown_target_is_wrong_usage(paper: FakeRunner, target: str, message: str) -> None:
    result = orchestrator("reproduce", target, *WORDS)
    assert (result.exit_code, paper.asked) == (2, [])
    assert message in result.stderr


def test_two_lengths_are_wrong_usage(paper: FakeRunner) -> None:
    result = orchestrator("reproduce", "paper", "--full", "--quick", *WORDS)
    assert (result.exit_code, paper.asked) == (2, [])
    assert "--quick and --full cannot be given together" in result.stderr


def test_a_plan_has_the_ablations_of_the_chosen_statements(paper: FakeRunner) -> None:
    def planned(target: str) -> list[tuple[str, str | None, int]]:
        words = ("reproduce", target, "--causes", "--plan", "--json", *WORDS)
        document = json.loads(orchestrator(*words).stdout)
        return [
            (each["experiment"], each["ablation"], each["least"])
            for each in document["experiments"]
        ]

    assert planned("paper:W1.1") == [("sweep", None, 3), ("sweep", "W1, cable", 2)]
    assert planned("paper:W1.2") == [("sweep", None, 3)]
    assert paper.asked == []


def test_a_figure_has_the_papers_numbers_beside_ours(paper: FakeRunner) -> None:
    assert paper is not None
    reproduce("--figures", "figures")
    made = sorted(path.name for path in Path("figures").iterdir())
    assert made == ["paper-W1.1-quick.svg", "paper-W1.2-quick.svg"]
    before = {name: Path("figures", name).read_bytes() for name in made}
    reproduce("--figures", "figures")
    assert before == {name: Path("figures", name).read_bytes() for name in made}
    state("4.0")
    reproduce("--figures", "figures")
    assert before["paper-W1.1-quick.svg"] != Path("figures/paper-W1.1-quick.svg").read_bytes()
    assert before["paper-W1.2-quick.svg"] == Path("figures/paper-W1.2-quick.svg").read_bytes()


def test_jobs_and_executor_reach_the_runner(paper: FakeRunner) -> None:
    assert reproduce("paper:W1.2", "--jobs", "3")[0] == 0
    assert [options.jobs for _plan, options in paper.asked] == [3]
    wrong = orchestrator("reproduce", "--executor", "moon", *WORDS)
    assert (wrong.exit_code, len(paper.asked)) == (2, 1)
    assert "moon" in wrong.stderr
