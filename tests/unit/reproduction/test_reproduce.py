"""``reproduce`` makes the runs that are missing, judges statements, and says what is open."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from orchestrator.recording.model import Verdict
from results.claims.claim_summaries import read_all
from results.claims.page.document import MeasurementCost, PageEvidence, page
from results.claims.stated.loading import load_all
from results.store.store import Store
from tests.support import golden
from tests.support.reproduce import WORDS, made, paper, reproduce, state, vary
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake", "paper"]

GOLDEN = Path(__file__).parent / "golden"


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


def test_an_open_row_is_repeated_as_often_as_it_asks_for_and_no_other(
    paper: FakeRunner,
) -> None:
    state("2.32")
    _status, found = reproduce("paper:W1.1")
    short, long = found["W1.1"]["rows"]
    assert (short["n"], short["verdict"]) == (3, "holds")
    # Three reach from 1.76 to 2.12, agreement from 2.088, and what is near from 1.856: the first
    # look needs five. Their logs have a deviation of 0.04, and the zone is 0.087 wide: its second
    # look needs (2 x 2.999 x 0.04 / 0.087)^2 = 7.6.
    assert (long["n"], long["verdict"]) == (8, "nearly")
    assert made() == {"10p": [0, 1, 2], "20p": [0, 1, 2, 3, 4, 5, 6, 7]}
    assert len(paper.asked) == 3


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
    shown = page("paper", load_all(file.parent)["paper"], PageEvidence(read_all(Path("m"))))
    says = "Goodput rises with the queue. (2 of 3 places) limit 10p to 20p"
    assert f"| W1.3 | {says} | Fig. 1 | rises | 1.9" in shown


def test_a_statement_without_runs_says_what_the_length_that_has_them_costs(
    paper: FakeRunner,
) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    text = file.read_text().replace("    ablations:\n", RISING)
    file.write_text(text.replace("VALUES", "15p, 20p"))
    _status, found = reproduce("paper:W1", "--write", "m")
    assert (found["W1.3"]["rows"], found["W1.3"]["verdict"]) == ([], "open")
    costs = {("paper", "W1.3"): MeasurementCost(4, 16.0 * 60)}
    shown = page(
        "paper", load_all(file.parent)["paper"], PageEvidence(read_all(Path("m")), full_costs=costs)
    )
    assert "| - | - | open: no runs at this length |" in shown
    told = "W1.3 has no runs at the length *quick*. The length *full* has 4 runs of 16 simulated"
    assert told in " ".join(shown.split())


def test_a_statement_that_was_stated_after_the_runs_is_not_measured_yet(paper: FakeRunner) -> None:
    assert paper is not None
    file = Path("papers/claims/paper.yaml")
    _status, _found = reproduce("paper:W1", "--write", "m")
    text = file.read_text().replace("    ablations:\n", RISING)
    file.write_text(text.replace("VALUES", "10p, 20p"))
    costs = {("paper", "W1.3"): MeasurementCost(4, 8.0 * 60)}
    stated = load_all(file.parent)["paper"]
    shown = page("paper", stated, PageEvidence(read_all(Path("m")), quick_costs=costs))
    assert "| - | - | not measured yet |" in shown
    told = "W1.3 is not measured yet. The length *quick* has 4 runs of 8 simulated minutes in all:"
    assert told in " ".join(shown.split())


def test_a_row_that_needs_more_than_the_limit_stays_open_and_says_so(
    paper: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    vary(monkeypatch, 0.3)
    status, found = reproduce("paper:W1.1")
    long = found["W1.1"]["rows"][1]
    assert (status, long["n"], long["verdict"]) == (0, 5, "open")
    assert long["needed"] > 9
    assert found["W1.1"]["cost"]["runs"] == long["needed"] - 5
    assert found["W1.1"]["cost"]["minutes"] > 0
    text = orchestrator("reproduce", "paper:W1.1", *WORDS).stdout
    assert f"open: {long['needed'] - 5} more runs would decide" in text
    assert f" with one job (--most {long['needed']})" in text
    assert len(paper.asked) == 2


@pytest.mark.slow
def test_more_repetitions_go_up_to_the_number_that_is_allowed(
    paper: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than the second look needs decide a row whose mean is far from all edges, at 99%."""
    vary(monkeypatch, 0.3)
    state("2.32")
    by_five = reproduce("paper:W1.1")[1]["W1.1"]["rows"][1]["needed"]
    _status, found = reproduce("paper:W1.1", "--most", "12")
    second = found["W1.1"]["rows"][1]
    assert (second["n"], second["verdict"], second["needed"]) == (12, "open", by_five)
    state("2.1")
    _status, found = reproduce("paper:W1.1", "--most", "20")
    third = found["W1.1"]["rows"][1]
    assert (third["n"], third["verdict"]) == (20, "nearly")
    assert third["n"] < by_five
    state("2.32")
    _status, found = reproduce("paper:W1.1", "--most", "1000")
    last = found["W1.1"]["rows"][1]
    assert (last["n"], last["verdict"], len(paper.asked)) == (by_five, "nearly", 5)


def test_the_command_of_more_repetitions_has_their_number(paper: FakeRunner) -> None:
    assert paper is not None
    command = "orchestrator reproduce paper:W1.2 --quick --most 12"
    _status, found = reproduce("paper:W1.2", "--most", "12")
    assert found["W1.2"]["command"] == command
    text = orchestrator("reproduce", "paper:W1.2", "--most", "12", *WORDS).stdout
    assert command.removeprefix("orchestrator ") in text


class Unfaithful(dict[int, Verdict]):
    """Verdicts by seed: every run is unfaithful."""

    def get(self, *_arguments: object) -> Verdict:
        return "unfaithful"


@pytest.mark.slow
def test_runs_that_never_count_are_not_repeated_for_ever(paper: FakeRunner) -> None:
    paper.verdict = Unfaithful()
    _status, found = reproduce("paper:W1.1", "--most", "1000")
    assert [row["verdict"] for row in found["W1.1"]["rows"]] == ["open", "open"]
    assert len(paper.asked) == 3  # those at first, and those of both looks


@pytest.mark.slow
def test_a_summary_of_more_repetitions_names_their_number(paper: FakeRunner) -> None:
    assert paper is not None
    state("2.32")
    _status, _found = reproduce("paper:W1", "--write", "quick")
    _status, _found = reproduce("paper:W1", "--full", "--most", "7", "--write", "more")
    stated = load_all(Path("papers/claims"))["paper"]
    few = page("paper", stated, PageEvidence(read_all(Path("quick"))))
    more = page("paper", stated, PageEvidence(read_all(Path("more"))))
    assert "- Command: `orchestrator reproduce paper:W1 --quick`\n" in few
    assert "- Command: `orchestrator reproduce paper:W1 --full --most 7`\n" in more


def test_another_number_of_the_paper_changes_the_verdict_without_runs(paper: FakeRunner) -> None:
    _status, before = reproduce("paper:W1.1")
    plans = len(paper.asked)
    state("4.0")
    status, after = reproduce("paper:W1.1")
    assert before["W1.1"]["rows"][1]["verdict"] != "does not hold"
    assert after["W1.1"]["rows"][1]["verdict"] == "does not hold"
    assert (status, after["W1.1"]["verdict"]) == (0, "mixed")
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
    golden.check(GOLDEN / "reproduce.txt", result.stdout)


def test_a_length_without_a_variant_says_what_the_full_one_costs(paper: FakeRunner) -> None:
    assert paper is not None
    status, found = reproduce("--reduced")
    assert status == 0
    assert found["W1.2"]["verdict"] == "open"
    assert found["W1.2"]["cost"]["runs"] == 8
    assert found["W1.2"]["cost"]["length"] == "full"
    assert found["W1.1"]["absent"] == 1
    text = orchestrator("reproduce", "--reduced", *WORDS).stdout
    golden.check(GOLDEN / "reproduce-reduced.txt", text)


def test_a_plan_runs_nothing(paper: FakeRunner) -> None:
    result = orchestrator("reproduce", "--full", "--plan", *WORDS)
    assert (result.exit_code, paper.asked) == (0, [])
    assert re.search(r"^about [1-9][0-9]? s with one job, ", result.stdout, re.MULTILINE)
    document = json.loads(orchestrator("reproduce", "--plan", "--json", *WORDS).stdout)
    (experiment,) = document["experiments"]
    assert (experiment["variants"], experiment["least"], experiment["most"]) == (2, 3, 9)


def test_unknown_targets_are_wrong_usage_and_read_as_their_golden_file(paper: FakeRunner) -> None:
    said = ""
    for target in ("papr", "W1.2", "w1", ":W1", "paper:W9", "paper:X", "paper:W1.9"):
        result = orchestrator("reproduce", target, *WORDS)
        assert (result.exit_code, paper.asked) == (2, [])
        said += golden.transcript(("reproduce", target), result)
    golden.check(GOLDEN / "reproduce-refused.txt", said)


def test_two_lengths_are_wrong_usage(paper: FakeRunner) -> None:
    result = orchestrator("reproduce", "paper", "--full", "--quick", *WORDS)
    assert (result.exit_code, paper.asked) == (2, [])
    assert "--quick and --full cannot be given together" in result.stderr


@pytest.mark.parametrize("option", ["--write", "--figures"])
def test_a_plan_writes_nothing_and_says_so(paper: FakeRunner, option: str) -> None:
    result = orchestrator("reproduce", "paper", "--plan", option, "folder", *WORDS)
    assert (result.exit_code, paper.asked) == (2, [])
    assert f"--plan and {option}: a plan makes no runs" in result.stderr
    assert not Path("folder").exists()


def test_a_plan_has_the_ablations_of_the_chosen_statements(paper: FakeRunner) -> None:
    def planned(target: str) -> list[tuple[str, str | None, int]]:
        words = ("reproduce", target, "--causes", "--plan", "--json", *WORDS)
        document = json.loads(orchestrator(*words).stdout)
        return [
            (experiment["experiment"], experiment["ablation"], experiment["least"])
            for experiment in document["experiments"]
        ]

    assert planned("paper:W1.1") == [("sweep", None, 3), ("sweep", "W1, cable", 2)]
    assert planned("paper:W1.2") == [("sweep", None, 3)]
    assert paper.asked == []


@pytest.mark.slow
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
