"""The documents have what was measured, and say when it was measured on a busy machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import bench_traces, figure, measuring, report, tables
from bench.bench_collect import estimated
from bench.bench_dashboard import PAGES
from bench.bench_runs import sampling_cost
from bench.cases import SCALES
from bench.measuring import Clock, Command, side_by_side, spread

MACHINE = {"cpu": "A", "cpus": 2, "load": 0.1, "python": "3.11.2", "system": "Linux"}


def theme(**more: Any) -> dict[str, Any]:
    return {"date": "2026-01-02", "rounds": 3, "machine": MACHINE, **more}


def row(case: str, own_s: list[float], other_s: list[float], segments: float) -> dict[str, Any]:
    work = {"goodput_bps": 95e6, "segments": 1000.0}
    return {
        "case": case,
        "goal": 6.0,
        "ours_s": spread(own_s),
        "ns3_s": spread(other_s),
        "lean_s": spread(other_s[:1]),
        "times": spread([b / a for a, b in zip(own_s, other_s, strict=True)]),
        "lean_times": 3.0,
        "work": {"ours": work, "ns3": work | {"segments": segments}, "lean": work},
        "difference": abs(1000 / segments - 1),
    }


def test_the_document_is_that_of_the_results() -> None:
    results = measuring.read(measuring.RESULTS)
    text = (measuring.ROOT / report.PERFORMANCE).read_text(encoding="utf-8")
    assert report.written(text, results) == text
    assert (measuring.ROOT / report.FIGURE).exists()


def test_a_block_replaces_the_one_before_and_nothing_else() -> None:
    marks = "".join(f"x <!-- bench {name} -->old<!-- end --> y\n" for name in report.THEMES)
    text = report.written(marks, {"themes": {}})
    assert "old" not in text
    assert text.count("Not measured yet") == marks.count("old")
    assert report.written(text, {"themes": {}}) == text
    with pytest.raises(SystemExit, match="0 blocks begin with <!-- bench ns3 -->"):
        report.written("nothing", {"themes": {}})


def test_a_busy_machine_is_named() -> None:
    assert "too long" not in report.about(theme())
    busy = report.about(theme(machine=MACHINE | {"load": 3.0}))
    assert "load 3.0" in busy
    assert "too long" in busy
    taken = {"processes": 0.5, "hypervisor": 0.0}
    known = report.about(theme(machine=MACHINE | {"load": 3.0}, others=taken))
    assert "load" not in known
    assert "used 0.5 CPUs" in known
    assert "too long" in known


def test_table_beside_ns3_has_medians_ranges_and_the_work() -> None:
    rows = [row("100mbit-30s", [2.0, 1.0, 4.0], [12.0, 12.0, 12.0], 1010.0)]
    text = tables.ns3({"rows": rows})
    assert "| 2 s (1 to 4) | 12 s (12 to 12) | 6.0 (3.0 to 12.0) | 6 | 12 s | 3.0 |" in text
    assert "95.0, 95.0 | 1000, 1010 |" in text
    assert "differ by 1.0% at most: the same work." in text
    rows[0]["difference"] = 0.2
    assert "NOT the same work" in tables.ns3({"rows": rows})


def test_sampling_costs_are_medians_of_pairs() -> None:
    seconds = {"10flows-10ms": [2.0, 3.0, 6.0], "10flows-bare": [1.0, 2.0, 5.0]}
    assert sampling_cost(seconds) == {"10flows": 0.5}
    text = tables.runs({"rows": [], "sampling_cost": sampling_cost(seconds)})
    assert "costs +50% with one host" in text


def test_what_saturates_first_is_what_needs_longest() -> None:
    measured = {
        "case": "100mbit-30s", "worker_cpu_s": 2.0, "here_cpu_s": 0.01, "here_wall_s": 0.015,
        "scheduler_cpu_s": 0.001, "answer_bytes": 1e5, "stored_bytes": 1e5,
    }  # fmt: skip
    few = estimated(measured, 10_000, 100)
    assert few["limit"] == "workers"
    assert few["needs_s"] == {"workers": 200.0, "this program": 150.0, "scheduler": 10.0}
    assert few["disk_bytes"] == 10**9
    assert few["answers_bytes_per_s"] == 5_000_000
    assert estimated(measured, 10_000, 1000)["limit"] == "this program"
    rows = [measured | few]
    text = tables.collect({"rows": rows, "runs": 10_000, "workers": 100})
    assert "| 3.3 min | 2.5 min | 0.2 min | workers | 1.0 GB | 5.0 MB/s |" in text


def test_answers_of_the_dashboard_are_beside_their_goals() -> None:
    def answer(page: str, goal_ms: float | None, *medians_ms: float) -> dict[str, Any]:
        kinds = ("started_ms", "changed_ms", "again_ms")
        times = [spread([one - 1, one, one + 2]) for one in medians_ms]
        return {"page": page, "goal_ms": goal_ms, **dict(zip(kinds, times, strict=True))}

    rows = [answer("list", 300, 250, 100, 90), answer("sorted", None, 900, 800, 700)]
    text = tables.dashboard({"rows": rows})
    assert "| list of runs, the newest 100 | 300 | 250 (249 to 252) | 100 (99 to 102) |" in text
    assert "| all runs sorted by a metric |  | 900 (899 to 902) |" in text
    assert text.endswith("Medians above the goal: none.")
    late = tables.dashboard({"rows": [*rows, answer("search", 300, 290, 301, 200)]})
    assert late.endswith("Medians above the goal: search of two words in all runs.")
    assert {page.name for page in PAGES} < set(tables.PAGE_NAMES)


@pytest.mark.slow
def test_equal_results_give_equal_figures() -> None:
    scales = {
        scale: [{"case": case.name, "ours_s": spread([1.0, 2.0])} for case in cases]
        for scale, cases in SCALES.items()
    }
    drawn = figure.drawn(theme(scales=scales))
    assert drawn.startswith(b"<?xml")
    assert drawn == figure.drawn(theme(scales=scales))
    assert len(drawn) < 200_000


def test_a_theme_leaves_the_results_of_others(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    Clock().keep(file, "runs", {"rounds": 1})
    Clock().keep(file, "jobs", {"rounds": 2})
    Clock().keep(file, "runs", {"rounds": 3})
    themes = measuring.read(file)["themes"]
    assert {name: each["rounds"] for name, each in themes.items()} == {"runs": 3, "jobs": 2}
    assert themes["runs"]["machine"]["cpus"] >= 1
    file.write_text(json.dumps({"schema": 0}))
    with pytest.raises(SystemExit, match="has schema 0"):
        measuring.read(file)


def test_commands_take_turns_and_stop_after_their_rounds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said: list[str] = []

    def command(name: str, rounds: int, cold: bool) -> Command:
        words = ["sh", "-c", f"echo {name} >> {log}; echo {name}"]
        return Command(name, words, rounds, said.append, cold)

    long, short = command("long", 1, True), command("short", 2, False)
    side_by_side([long, short])
    assert log.read_text().split() == ["short", "long", "short", "short"]
    assert [len(each.seconds) for each in (long, short)] == [1, 2]
    assert said == ["short\n", "long\n", "short\n", "short\n"]
    with pytest.raises(SystemExit, match="bad: exit 3"):
        Command("bad", ["sh", "-c", "exit 3"], 1).run()


def test_traces_are_compared_pair_by_pair() -> None:
    times = bench_traces.ratios([3.0, 3.3], [3.0, 3.0])
    results = theme(
        run_s=spread([3.0, 3.3]), zoom_s=spread([4.5, 6.0]), zoom_times=times, events=223_148,
        stored_bytes=957_000, before_s=spread([3.0, 3.0]), run_times=times,
    )  # fmt: skip
    text = tables.traces(results)
    assert "| 3 s (3 to 3) | the first took 1.050 (1.000 to 1.100) |" in text
    assert "223 148 records" in text
    assert "0.96 MB" in text
    without = {key: value for key, value in results.items() if key not in ("before_s", "run_times")}
    assert "could not trace" not in tables.traces(without)
