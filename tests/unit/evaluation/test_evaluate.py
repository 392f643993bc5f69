"""``orchestrator evaluate`` with a runner that pretends: plans, runs, files, texts and errors."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from orchestrator.evaluation import loading
from orchestrator.evaluation.prepared import EvaluationRequest, prepare
from results.contract.evaluations import Card, EvaluationPlan
from tests.support.contract import faults
from tests.support.run import FakeRunner, fake, orchestrator, run_ids

__all__ = ["fake"]

IDLE = ("--only", "idle", "--against", "reno", "--db", "runs.db")
OWN = Path(__file__).parents[3] / "scenarios/own-module/mycc"


@pytest.mark.slow
def test_a_card_has_each_run_once_and_a_second_call_makes_none(fake: FakeRunner) -> None:
    first = orchestrator("evaluate", "cubic", *IDLE, "-o", "card")
    assert first.exit_code == 0, first.output
    (asked,) = fake.asked
    assert len(asked[0].runs) == 2 * 2 * 3  # controls, times to think, seeds
    card = json.loads(Path("card/card.json").read_text())
    assert faults(Card, card) == []
    assert card["candidate"] == "cubic"
    assert card["runs"] == 12
    (criterion,) = card["criteria"]
    assert criterion["grade"] == "not decided"
    cells = criterion["rows"][0]["cells"]
    assert [cell["candidate"]["n"] for cell in cells] == [0, 0]
    named = {run for cell in cells for run in cell["candidate"]["runs"]}
    assert named <= set(run_ids("runs.db"))
    assert len(named) == 6
    assert criterion["scenarios"] == ["scenarios/idle/cubic.yaml", "scenarios/idle/reno.yaml"]
    assert "idle: " in first.stdout

    second = orchestrator("evaluate", "cubic", *IDLE, "-o", "card")
    assert second.exit_code == 0, second.output
    assert len(fake.asked) == 1
    assert json.loads(Path("card/card.json").read_text()) == card
    assert sorted(path.name for path in Path("card").iterdir()) == [
        "badge.json", "badge.svg", "card.html", "card.json", "card.xml", "scenarios",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_command_of_a_cell_finds_its_runs(fake: FakeRunner) -> None:
    orchestrator("evaluate", "cubic", *IDLE, "-o", "card")
    card = json.loads(Path("card/card.json").read_text())
    cell = card["criteria"][0]["rows"][0]["cells"][1]
    words = shlex.split(cell["command"])
    assert words[0] == "orchestrator"
    again = orchestrator(*words[1:], "--json")
    assert len(fake.asked) == 1, again.output
    assert [run["id"] for run in json.loads(again.stdout)["runs"]] == cell["candidate"]["runs"]


@pytest.mark.slow
def test_the_page_and_the_report_for_servers_say_the_same(fake: FakeRunner) -> None:
    orchestrator("evaluate", "cubic", *IDLE, "-o", "card")
    page = Path("card/card.html").read_text()
    assert "<title>Report card of cubic</title>" in page
    assert "idle: not decided" in page
    assert "default-src 'none'" in page
    card = json.loads(Path("card/card.json").read_text())
    cells = [cell for row in card["criteria"][0]["rows"] for cell in row["cells"]]
    assert [run for cell in cells for run in cell["candidate"]["runs"] if run not in page] == []
    root = ElementTree.parse("card/card.xml").getroot()
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("name"), suite.get("tests"), suite.get("skipped")) == ("idle", "2", "2")


@pytest.mark.slow
def test_what_is_required_decides_the_status(fake: FakeRunner) -> None:
    refused = orchestrator("evaluate", "cubic", *IDLE, "--require", "idle", "-o", "card")
    assert refused.exit_code == 1
    assert "--require idle: not decided" in refused.stderr
    assert Path("card/card.json").is_file()


@pytest.mark.parametrize(("kernel", "of_l4s"), [("6.12", False), ("7.3", True)])
def test_a_required_group_asks_for_what_the_kernel_can_have(kernel: str, of_l4s: bool) -> None:
    request = EvaluationRequest(
        "cubic", Path("card"), against=("reno",), required=("rfc9743",), kernel=kernel
    )
    required = prepare(request).request.required
    assert "harm" in required
    assert ("l4s" in required) is of_l4s
    named = prepare(replace(request, required=("rfc9743", "l4s"))).request.required
    assert "l4s" in named


@pytest.mark.slow
def test_a_run_that_fails_gives_status_1(fake: FakeRunner) -> None:
    fake.failed = {1}
    failed = orchestrator("evaluate", "cubic", *IDLE, "-o", "card")
    assert failed.exit_code == 1
    assert "4 runs failed" in failed.stderr
    assert json.loads(Path("card/card.json").read_text())["failed"] == 4


@pytest.mark.slow
def test_a_failed_run_of_the_candidate_decides_whether_it_survives(fake: FakeRunner) -> None:
    fake.failed = {1}
    only = ("--only", "survival", "--against", "reno", "--db", "runs.db")
    failed = orchestrator("evaluate", "cubic", *only, "-o", "card")
    assert failed.exit_code == 1
    (criterion,) = json.loads(Path("card/card.json").read_text())["criteria"]
    assert criterion["grade"] == "does not meet"
    cells = criterion["rows"][0]["cells"]
    assert {cell["verdict"] for cell in cells} == {"does not meet"}
    assert {cell["reason"] for cell in cells} == {"1 run of the candidate failed"}
    assert criterion["explained"] is not None
    assert " failed: " in criterion["explained"]


@pytest.mark.slow
def test_a_plan_runs_and_writes_nothing(fake: FakeRunner) -> None:
    planned = orchestrator("evaluate", str(OWN), *IDLE, "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    document = json.loads(planned.stdout)
    assert faults(EvaluationPlan, document) == []
    assert document["candidate"] == "mycc"
    (criterion,) = document["criteria"]
    assert (criterion["runs"], criterion["missing"]) == (12, 12)
    assert criterion["minutes"] > 0
    assert criterion["disk_bytes"] > 0
    text = orchestrator("evaluate", "cubic", *IDLE, "--plan", "--jobs", "2").stdout
    assert "quick: 12 runs to make, about " in text
    assert fake.asked == []
    assert not Path("card").exists()
    assert not Path("runs.db").exists()


@pytest.mark.slow
def test_a_module_is_written_by_its_folder(fake: FakeRunner) -> None:
    made = orchestrator("evaluate", str(OWN), *IDLE, "-o", "card")
    assert made.exit_code == 0, made.output
    card = json.loads(Path("card/card.json").read_text())
    assert card["candidate"] == "mycc"
    assert len(card["module_sha256"]) == 64
    assert f"module: {OWN}" in Path("card/scenarios/idle/mycc.yaml").read_text()


@pytest.mark.slow
def test_a_baseline_has_a_card_of_its_own_and_what_changed_is_listed(fake: FakeRunner) -> None:
    made = orchestrator("evaluate", "vegas", *IDLE, "--baseline", "cubic", "-o", "card")
    assert made.exit_code == 0, made.output
    card = json.loads(Path("card/card.json").read_text())
    assert faults(Card, card) == []
    before = json.loads(Path("card/baseline/card.json").read_text())
    assert (card["candidate"], before["candidate"]) == ("vegas", "cubic")
    assert card["changes"]["baseline"] == "cubic"
    assert card["changes"]["digest"] == before["digest"]
    assert card["changes"]["compared"] == 4
    assert card["changes"]["grades"] == []
    assert Path("card/baseline/scenarios/idle/cubic.yaml").is_file()
    assert "Changes from cubic" in Path("card/card.html").read_text()
    assert "baseline: no grade differs from that of cubic" in made.stdout
    stored = orchestrator(
        "evaluate", "vegas", *IDLE, "--baseline", "card/baseline/card.json", "-o", "again"
    )
    assert stored.exit_code == 0, stored.output
    assert json.loads(Path("again/card.json").read_text())["changes"] == card["changes"]
    assert not Path("again/baseline").exists()


@pytest.mark.slow
def test_a_kernel_is_that_of_all_scenarios_and_commands(fake: FakeRunner) -> None:
    planned = orchestrator("evaluate", "cubic", *IDLE, "--kernel", "6.12", "--plan", "--json")
    assert planned.exit_code == 0, planned.output
    made = orchestrator("evaluate", "cubic", *IDLE, "--kernel", "6.12", "-o", "card")
    assert made.exit_code == 0, made.output
    for name in ("cubic", "reno"):
        assert "kernel: '6.12'" in Path(f"card/scenarios/idle/{name}.yaml").read_text()
    (criterion,) = json.loads(Path("card/card.json").read_text())["criteria"]
    assert "--kernel 6.12" in criterion["command"]


@pytest.mark.slow
def test_what_the_kernel_cannot_have_is_not_applicable_and_says_why(fake: FakeRunner) -> None:
    old = ("cubic", "--only", "l4s,idle", "--against", "reno", "--db", "runs.db", "--kernel")
    lack = "Linux 6.12 has no queue `dualpi2`: kernels from 6.17 on do"
    planned = orchestrator("evaluate", *old, "6.12", "--plan", "--json")
    document = json.loads(planned.stdout)
    assert faults(EvaluationPlan, document) == []
    assert [one["name"] for one in document["criteria"]] == ["idle"]
    assert document["not_applicable"] == [{"name": "l4s", "lack": lack}]
    made = orchestrator("evaluate", *old, "6.12", "--require", "l4s", "-o", "card")
    assert made.exit_code == 1, made.output
    assert "--require l4s: not applicable" in made.stderr
    assert f"l4s: {lack}" in made.stdout
    card = json.loads(Path("card/card.json").read_text())
    assert faults(Card, card) == []
    grades = {one["name"]: (one["grade"], one["why"]) for one in card["criteria"]}
    assert grades["l4s"] == ("not applicable", lack)
    assert grades["idle"][0] == "not decided"
    assert lack in Path("card/card.html").read_text()
    suites = {suite.get("name"): suite for suite in ElementTree.parse("card/card.xml").iter()}
    reasons = {case.get("message") for case in suites["l4s"].iter("skipped")}
    assert reasons == {f"not applicable: {lack}"}
    newer = json.loads(orchestrator("evaluate", *old, "7.3", "--plan", "--json").stdout)
    assert newer["not_applicable"] == []
    assert [one["runs"] for one in newer["criteria"]] == [2 * 3, 2 * 2 * 3]


def test_a_candidate_that_the_kernel_cannot_have_is_an_error(fake: FakeRunner) -> None:
    words = ("--only", "idle", "--against", "reno", "--db", "runs.db", "-o", "card")
    refused = orchestrator("evaluate", "prague", *words, "--kernel", "6.12")
    assert refused.exit_code == 2, refused.output
    assert "which the congestion control `prague` needs" in refused.stderr


def test_a_file_that_a_criterion_names_is_beside_its_scenarios(fake: FakeRunner) -> None:
    only = ("--only", "wireless", "--against", "cubic", "--db", "runs.db")
    made = orchestrator("evaluate", "cubic", *only, "-o", "card")
    assert made.exit_code == 0, made.output
    shipped = loading.FOLDER / "cellular.trace"
    assert Path("card/scenarios/wireless/cellular.trace").read_bytes() == shipped.read_bytes()
    card = json.loads(Path("card/card.json").read_text())
    cell = card["criteria"][0]["rows"][0]["cells"][-1]
    again = orchestrator(*shlex.split(cell["command"])[1:], "--json")
    assert len(fake.asked) == 1, again.output
    assert [run["id"] for run in json.loads(again.stdout)["runs"]] == cell["candidate"]["runs"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cubik", "--plan"], "there is no congestion control `cubik` (did you mean `cubic`?)"),
        (["empty", "--plan"], "holds no source"),
        (["./missing", "--plan"], "fix: give the folder of a module's C sources"),
        (["cubic", "--plan", "--only", "harms"], "(did you mean `harm`?); there are utilisation,"),
        (["cubic", "--plan", "--only", ""], "there is no criterion without a name"),
        (["cubic", "--plan", "--against", "cubic,rino"], "--against: there is no congestion"),
        (["cubic", "--plan", "--require", "x"], "--require: there is no criterion x"),
        (["cubic", "--plan", "--only", "idle", "--require", "harm"], "--only leaves it out"),
        (["cubic", "--quick", "--full", "--plan"], "--quick and --full: give one of them"),
        (["cubic"], "-o DIR: is missing"),
        (["cubic", "--only", "idle", "-o", "full"], "has files and no card"),
        (["cubic", "--only", "idle", "-o", "no/card"], "does not exist"),
        (["two", "--plan"], "several congestion controls: one, other"),
        (["cubic", "--plan", "--kernel", ""], "--kernel ''"),
        (["cubic", "--plan", "--baseline", "rino"], "there is no congestion control `rino`"),
        (["cubic", "--plan", "--baseline", "none.json"], "--baseline: `none.json` cannot be read"),
        (["cubic", "--plan", "--baseline", "bad.json"], "is no card: candidate: Field required"),
    ],
)
def test_a_wrong_call_says_where_what_and_what_is_valid(
    fake: FakeRunner, words: list[str], message: str
) -> None:
    for name in ("empty", "full", "two"):
        Path(name).mkdir()
    Path("full/other.txt").write_text("mine")
    Path("bad.json").write_text('{"schema": 1}')
    source = (OWN / "tcp_mycc.c").read_text()
    for name in ("one", "other"):
        Path(f"two/tcp_{name}.c").write_text(source.replace("mycc", name))
    result = orchestrator("evaluate", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert fake.asked == []
