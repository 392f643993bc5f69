"""Use cases from Python, with a runner that pretends."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import orchestrator.analysis as oa
from orchestrator.analysis.picture import Picture
from orchestrator.analysis.progress_bar import ProgressBar
from orchestrator.application import events
from orchestrator.application.stored.plot import Drawing
from orchestrator.errors import ScenarioError
from tests.support import traces
from tests.support.reproduce import paper
from tests.support.run import FakeRunner, fake
from tests.support.traced_senders import acked, counted, sender_trace

__all__ = ["fake", "paper"]


def test_runs_are_made_and_those_that_are_stored_are_used(
    fake: FakeRunner, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[events.Event] = []
    ended = oa.run("pair.yaml", repetitions=3, listener=told.append)
    assert (len(ended.ids), ended.status) == (3, 0)
    kinds = [type(each) for each in told]
    assert kinds[:2] == [events.PlanWarned, events.RunsBegun]  # its repetitions cannot differ
    assert kinds[-2:] == [events.RunsEnded, events.ScenarioMeasured]
    assert kinds.count(events.RunProgressed) == 6
    again = oa.run("pair.yaml", repetitions=3, listener=told.append)
    assert again.ids == ended.ids
    assert events.RunsStored(3, 3, resumed=True) in told
    assert len(fake.asked) == 1
    assert capsys.readouterr() == ("", "")  # neither a terminal nor a notebook


def test_a_failure_is_in_the_status_and_a_fault_is_raised(fake: FakeRunner) -> None:
    fake.failed = {1}
    assert oa.run("pair.yaml").status == 1
    Path("pair.yaml").write_text("version: 1\n")
    with pytest.raises(ScenarioError):
        oa.run("pair.yaml")


def test_a_stored_run_is_verified(fake: FakeRunner) -> None:
    (run_id,) = oa.run("pair.yaml").ids
    verified = oa.verify("last")
    assert verified.same
    assert [each.stored_id for each in verified.compared] == [run_id]
    fake.digest = lambda _spec: "other"
    assert not oa.verify(run_id).same
    with pytest.raises(oa.UsageError):
        oa.verify("nothing")


def test_a_claim_is_reproduced(paper: FakeRunner) -> None:
    reproduction = oa.reproduce("paper:W1", claims="papers/claims", db="runs.db")
    assert reproduction.verdicts["paper:W1.1"] == "mostly holds"  # one row holds, and one nearly
    assert reproduction.status == 0
    plans = len(paper.asked)
    again = oa.reproduce("paper:W1", claims="papers/claims", db="runs.db")
    assert (again.verdicts, len(paper.asked)) == (reproduction.verdicts, plans)
    (planned,) = reproduction.prepared.plan(Path("runs.db"))
    assert (planned.experiment, planned.missing) == ("sweep", 0)


def test_a_congestion_control_is_evaluated(fake: FakeRunner) -> None:
    made = oa.evaluate("cubic", "card", against=["reno"], only=["idle"], db="runs.db")
    assert made.grades == {"idle": "not decided"}  # what is pretended has no values
    assert repr(made) == "EvaluationResult(candidate='cubic', grades={'idle': 'not decided'})"
    assert made.document["candidate"] == "cubic"
    assert Path("card/card.html").is_file()
    with pytest.raises(oa.UsageError, match="length: there is no `long`; there are quick, full"):
        oa.evaluate("cubic", "card", length="long")


def test_congestion_controls_are_compared_each_with_each(fake: FakeRunner) -> None:
    made = oa.harm_matrix(["cubic", "reno"], "matrix", db="runs.db")
    assert (made.status, len(made.rows)) == (0, 3 * 2 * 3)  # pairs, buffers, seeds
    assert Path("matrix/matrix.html").is_file()
    with pytest.raises(oa.UsageError, match="give two controls at least"):
        oa.harm_matrix(["cubic"], "matrix")


def test_a_plan_says_what_would_run(fake: FakeRunner) -> None:
    planned = oa.plan("pair.yaml", repetitions=3)
    assert len(planned.plan.runs) == len(planned.document["runs"]) == 3
    assert planned.description.estimated_wall_s > 0
    (warning,) = planned.warnings
    assert "nothing in this scenario is random" in warning.message
    assert planned.drawing().startswith("<svg")
    assert not fake.asked
    with pytest.raises(oa.UsageError):
        oa.plan("pair.yaml", reduced=True)


def test_runs_are_judged_again_as_far_as_they_can_be(fake: FakeRunner) -> None:
    ids = oa.run("pair.yaml", repetitions=2).ids
    found = oa.judge(*ids)
    assert [each.run_id for each in found.refused] == list(ids)  # the pretender stores no evidence
    assert "was stored without" in found.refused[0].reason
    assert (found.status, oa.judge(every=True).status) == (1, 0)
    with pytest.raises(oa.UsageError, match="name stored runs"):
        oa.judge()


def test_runs_and_experiments_are_exported(fake: FakeRunner, tmp_path: Path) -> None:
    ended = oa.run("pair.yaml", repetitions=2)
    exported = oa.export(ended.ids[0], "run.json")
    assert (list(exported.files), exported.status) == ([Path("run.json")], 0)
    assert Path("run.json").stat().st_size > 0
    oa.export(str(ended.outcomes[0].experiment), "runs.csv")
    assert len(Path("runs.csv").read_text().splitlines()) > 2
    with pytest.raises(oa.UsageError, match=r"run\.json"):
        oa.export("last", "run.json")
    with pytest.raises(oa.UsageError, match="choose one of"):
        oa.export("last", "run.unknown")


def test_what_happened_is_explained(fake: FakeRunner) -> None:
    fake.trace = traces.small
    (run_id,) = oa.run("pair.yaml").ids
    explained = oa.explain("last", flows=["one"])
    assert (explained.run_id, explained.trace, list(explained.flows)) == (run_id, 1, ["one"])
    (undo,) = explained.moments.query("kind == 'undo'").to_dict("records")
    assert (undo["time_s"], undo["flow"], undo["evidence"]) == (0.0, "one", {"events": 1})
    assert math.isnan(undo["until_s"])
    assert explained.counts.loc["one", "undo"] == 1
    assert "\none: at 0.000000 s the reduction of one after a timeout" in f"\n{explained}"
    assert len(fake.asked) == 2
    near = oa.explain("last", at="1.9s")
    assert near.explanation.window_ns == (1_400_000_000, 2_000_000_000)
    assert near.moments.empty
    assert list(near.moments) == list(explained.moments)
    part = oa.explain("last", "1s", "1.5s")
    assert part.trace == 1, "a trace of all of it is stored"
    assert (len(part.limits), len(part.costs)) == (0, 0)
    assert len(fake.asked) == 2


def test_what_cost_a_flow_most_is_a_data_frame(fake: FakeRunner) -> None:
    rows = [
        acked(time * 10**6, delivered_segments=number, mss_bytes=1000, srtt_us=20_000,
              rto_us=200_000, limited_by=1)
        for number, time in enumerate([*range(100), *range(200, 300)])
    ]  # fmt: skip
    marked = counted(95 * 10**6, "TCPSackRecovery"), counted(95 * 10**6, "TCPSACKReorder")
    fake.trace = lambda capture: replace(sender_trace(rows, marked), capture=capture)
    first = oa.run("pair.yaml").ids[0]
    explained = oa.explain("last")
    (cost,) = explained.costs.to_dict("records")
    assert (cost["flow"], cost["time_s"], cost["kinds"]) == ("one", 0.095, ["reordering"])
    assert (cost["level_bps"], cost["is_back"]) == (8e6, False)  # it waits at the end of the trace
    assert explained.limits.loc["one"].sum() == pytest.approx(1)
    fake.trace = lambda capture: replace(sender_trace(rows), capture=capture)
    oa.run("pair.yaml", resume=False)
    against = oa.explain("last", against=first)
    (only,) = against.comparisons.to_dict("records")
    assert (only["run"], only["flow"], only["kind"]) == (first, "one", "reordering")
    kinds = against.compared_kinds
    assert kinds[["kind", "run", "count"]].to_numpy().tolist() == [
        ["reordering", against.run_id, 0], ["reordering", first, 1],
    ]  # fmt: skip
    assert kinds["mean_packets"].isna().all()
    assert oa.explain("last").compared_kinds.empty


@pytest.mark.parametrize(
    ("times", "error"),
    [
        ({"start": "1s"}, "give both"),
        ({"start": "1s", "end": "2s", "at": "1s"}, "give a time, or"),
        ({"start": "2s", "end": "1s"}, "ends after that"),
        ({"at": "soon"}, "soon"),
    ],
)
def test_a_time_to_explain_must_be_one(fake: FakeRunner, times: dict[str, Any], error: str) -> None:
    with pytest.raises(oa.UsageError, match=error):
        oa.explain("last", **times)


@pytest.mark.slow
def test_a_report_is_written(fake: FakeRunner) -> None:
    ended = oa.run("pair.yaml", repetitions=2)
    name = str(ended.outcomes[0].experiment)
    files = oa.report(name, folder="report", metrics=["goodput_bps"])
    assert [file.name for file in files] == ["report.html", "report.pdf"]
    assert f"<title>{name}" in files[0].read_text()
    assert files[1].read_bytes().startswith(b"%PDF")
    with pytest.raises(oa.UsageError, match="where"):
        oa.report(name, folder="other", where=["nothing=1"])


def test_stores_are_merged(fake: FakeRunner) -> None:
    ids = oa.run("pair.yaml", repetitions=2, db="one.db").ids
    merged = oa.merge("one.db", db="all.db")
    assert sorted(merged.sources[0].taken) == sorted(ids)
    assert (merged.status, merged.refused) == (0, [])
    assert sorted(oa.merge("one.db", db="all.db").sources[0].there) == sorted(ids)
    with pytest.raises(oa.UsageError):
        oa.merge(db="all.db")


def test_what_is_returned_is_short_where_python_shows_it(paper: FakeRunner) -> None:
    oa.run("pair.yaml", repetitions=2)
    reproduction = oa.reproduce("paper:W1", claims="papers/claims", db="runs.db")
    picture = Picture(Drawing(b"<svg/>" * 1000, "svg", ()))
    shown = [oa.plan("pair.yaml"), oa.run("pair.yaml"), picture, reproduction]
    assert [each for each in map(repr, shown) if len(each) > 300] == []
    assert repr(shown[0]) == "PlannedScenario(experiment='pair', runs=1)"
    assert (
        repr(reproduction)
        == f"ReproductionResult(length='quick', verdicts={reproduction.verdicts})"
    )


def test_less_than_one_job_is_refused(fake: FakeRunner) -> None:
    with pytest.raises(oa.UsageError, match="jobs: must be at least 1, not 0"):
        oa.run("pair.yaml", jobs=0)


def test_the_bar_shows_how_far_the_runs_are(fake: FakeRunner) -> None:
    drawn: list[tuple[float, str]] = []

    def draw(bar: ProgressBar) -> None:
        drawn.append((bar.fraction, bar.text))

    bar = ProgressBar(draw, clock=iter(range(99)).__next__)
    oa.run("pair.yaml", repetitions=2, listener=bar)
    assert drawn[0] == (0.0, "0 of 2 runs done")
    assert [fraction for fraction, _text in drawn] == sorted(fraction for fraction, _text in drawn)
    assert drawn[-1] == (1.0, "2 of 2 runs done")
    assert 'value="1.0000"' in bar._repr_html_()


def test_a_notice_is_one_line_whatever_a_name_has_in_it() -> None:
    told: list[events.Event] = []
    events.notices(told.append)("found of\nrun 1: forged")
    assert told == [events.Notice(r"found of\nrun 1: forged")]
