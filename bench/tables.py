"""Tables of the benchmarks' results, as Markdown for the documents and for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Results = Mapping[str, Any]

SAME_WORK = 0.05
"""Largest relative difference of goodput and of segments that counts as the same work."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def seconds(value: Mapping[str, Any]) -> str:
    """Return the median, and the smallest and largest value where there are several."""
    middle = _short(value["median"])
    if len(value["all"]) == 1:
        return f"{middle} s"
    return f"{middle} s ({_short(value['min'])} to {_short(value['max'])})"


def times(value: Mapping[str, Any]) -> str:
    """Return how many times faster, with the range of the rounds."""
    middle = f"{value['median']:.1f}"
    if len(value["all"]) == 1:
        return middle
    return f"{middle} ({value['min']:.1f} to {value['max']:.1f})"


def _short(value_s: float) -> str:
    return f"{value_s:.0f}" if value_s >= 99.5 else f"{value_s:.3g}"


NS3_NAMES = {
    "100mbit-30s": "1 flow, 100 Mbit/s, 30 s",
    "100mbit-300s": "1 flow, 100 Mbit/s, 300 s",
    "1gbit-10s": "1 flow, 1 Gbit/s, 10 s",
    "10hosts-30s": "10 flows of ten hosts, 100 Mbit/s, 30 s",
}


def ns3(results: Results) -> str:
    """Return the table of commands beside ns-3."""
    headings = ("run", "ours", "ns-3", "times faster", "goal", "lean ns-3", "times faster",
                "goodput Mbit/s, ours and ns-3", "segments, ours and ns-3")  # fmt: skip
    rows = []
    for row in results["rows"]:
        work = row["work"]
        own, other = work["ours"], work["ns3"]
        rows.append(
            (
                NS3_NAMES[row["case"]],
                seconds(row["ours_s"]),
                seconds(row["ns3_s"]),
                times(row["times"]),
                f"{row['goal']:g}",
                seconds(row["lean_s"]),
                f"{row['lean_times']:.1f}",
                f"{own['goodput_bps'] / 1e6:.1f}, {other['goodput_bps'] / 1e6:.1f}",
                f"{own['segments']:.0f}, {other['segments']:.0f}",
            )
        )
    worst = max(row["difference"] for row in results["rows"])
    verdict = "the same work" if worst <= SAME_WORK else "NOT the same work"
    return (
        f"{table(headings, rows)}\n\n"
        f"Goodput and segments sent differ by {100 * worst:.1f}% at most: {verdict}."
    )


RUN_NAMES = {
    "100mbit-2s": "1 CUBIC flow, 100 Mbit/s, RTT 20 ms, 2 s",
    "100mbit-2s-40": "the same forty times, by one command",
    "100mbit-30s": "1 CUBIC flow, 100 Mbit/s, RTT 20 ms, 30 s",
    "1gbit-10s": "1 CUBIC flow, 1 Gbit/s, RTT 20 ms, 10 s",
    "1gbit-10s-real": "the same with [hosts like real ones](hosts.md)",
    "10gbit-4s": "1 CUBIC flow, 10 Gbit/s, RTT 20 ms, 4 s",
    "10gbit-4s-real": "the same with hosts like real ones",
    "10flows-bare": "10 CUBIC flows of one host, 100 Mbit/s, 30 s",
    "10flows-10ms": "the same, sampled every 10 ms",
    "10hosts-bare": "10 CUBIC flows of ten hosts (20 access links, each sampled), 100 Mbit/s, 30 s",
    "10hosts-10ms": "the same, sampled every 10 ms",
    "60hosts-2s": "60 hosts and 2 switches built, probed and run for 2 s",
    "100hosts-30s": "50 CUBIC flows of 50 pairs of hosts (100 access links), 100 Mbit/s, 30 s",
    "2000hosts-5s": "2000 hosts and 2 switches built, probed and run for 5 s",
}


def runs(results: Results) -> str:
    """Return the table of whole runs, in the order of ``RUN_NAMES``."""
    found = {row["case"]: row for row in results["rows"]}
    rows = [
        (title, seconds(found[name]["ours_s"]), _goal(found[name]))
        for name, title in RUN_NAMES.items()
        if name in found
    ]
    cost = ", ".join(
        f"{100 * part:+.0f}% with {'one host' if kind == '10flows' else 'ten hosts'}"
        for kind, part in results["sampling_cost"].items()
    )
    words = f"\n\nSampling every 10 ms costs {cost} (medians of pairs)." if cost else ""
    return table(("run", "wall time", "goal"), rows) + words


def _goal(row: Mapping[str, Any]) -> str:
    goal_s = row.get("goal_s")
    return "" if goal_s is None else f"{goal_s:g} s"


def kernels(results: Results) -> str:
    """Return the table of whole runs whose kernel holds its processes in one way and the other."""
    rows = [
        (
            _name(row["case"]),
            seconds(row["ptrace_s"]),
            seconds(row["seccomp_s"]),
            f"{100 * row['saved']:.0f}%",
        )
        for row in results["rows"]
    ]
    return table((f"run on Linux {results['kernel']}", "ptrace", "seccomp", "less time"), rows)


def _name(case: str) -> str:
    """Return the name of a case that does not need the case before."""
    name = RUN_NAMES[case]
    if name == "the same, sampled every 10 ms":
        return f"{RUN_NAMES[case.replace('10ms', 'bare')]}, sampled every 10 ms"
    return name


SCALE_TITLES = {
    "flows": "flows of one pair of hosts, 100 Mbit/s, 10 s",
    "rate": "rate of the bottleneck, 1 flow, 4 s",
    "hops": "bottlenecks in a row, 1 flow, 100 Mbit/s, 10 s",
    "sampling": "period of the samples, 10 flows, 100 Mbit/s, 10 s",
    "hosts": "hosts, a flow for each pair, 100 Mbit/s, 10 s",
}


def scale(results: Results) -> str:
    """Return a table of two lines for each scale."""
    parts = []
    for name, rows in results["scales"].items():
        cells = [f"{SCALE_TITLES[name]}", *(row["case"].partition("-")[2] for row in rows)]
        values = ["wall time in s", *(_short(row["ours_s"]["median"]) for row in rows)]
        parts.append(table(cells, [values]))
    return "\n\n".join(parts)


def jobs(results: Results) -> str:
    """Return the table of two runs at a time against one."""
    rows = [
        (
            f"`--executor {row['executor']}`",
            seconds(row["one_s"]),
            seconds(row["two_s"]),
            times(row["times"]),
            f"{results['goal']:g}",
        )
        for row in results["rows"]
    ]
    headings = (f"{results['runs']} runs", "`--jobs 1`", "`--jobs 2`", "times faster", "goal")
    return table(headings, rows)


def collect(results: Results) -> str:
    """Return what a run costs each part, and what many runs on many workers need."""
    costs = []
    plans = []
    for row in results["rows"]:
        title = _name(row["case"])
        costs.append(
            (
                title,
                f"{row['worker_cpu_s']:.2f} s",
                f"{row['here_cpu_s']:.3f} s",
                f"{row['here_wall_s']:.3f} s",
                f"{1e3 * row['scheduler_cpu_s']:.1f} ms",
                f"{row['answer_bytes'] / 1e6:.2f} MB",
                f"{row['stored_bytes'] / 1e6:.2f} MB",
                f"{row['worker_cpu_s'] / row['here_cpu_s']:.0f}",
            )
        )
        needs = row["needs_s"]
        plans.append(
            (
                title,
                *(_minutes(needs[name]) for name in ("workers", "this program", "scheduler")),
                row["limit"],
                f"{row['disk_bytes'] / 1e9:.1f} GB",
                f"{row['answers_bytes_per_s'] / 1e6:.1f} MB/s",
            )
        )
    each = table(
        ("each run", "worker", "this program", "the same, with waiting", "scheduler and client",
         "answer", "stored", "workers that saturate this program"), costs
    )  # fmt: skip
    runs, workers = f"{results['runs']:,}".replace(",", " "), results["workers"]
    whole = table(
        (f"{runs} runs", f"{workers} workers need", "this program needs",
         "the scheduler needs", "saturates first", "database", "answers"), plans
    )  # fmt: skip
    return f"{each}\n\n{whole}"


def traces(results: Results) -> str:
    """Return what a window of 1 s costs, and a run without one beside an earlier program's."""
    rows = [
        ("1 CUBIC flow, 100 Mbit/s, 12 s, without a trace", seconds(results["run_s"]), ""),
        (
            "the same, with all traces of 1 s, by `zoom`",
            seconds(results["zoom_s"]),
            _times_as_long(results["zoom_times"]),
        ),
    ]
    if "before_s" in results:
        rows[1:1] = [
            (
                "the same, by a program that could not trace",
                seconds(results["before_s"]),
                f"the first took {_times_as_long(results['run_times'])}",
            )
        ]
    events = f"{results['events']:,}".replace(",", " ")
    return (
        f"{table(('run', 'wall time', 'times as long, pair by pair'), rows)}\n\n"
        f"A window has {events} records (median). It takes at most "
        f"{results['stored_bytes'] / 1e6:.2f} MB of the database."
    )


def _times_as_long(value: Mapping[str, Any]) -> str:
    return f"{value['median']:.3f} ({value['min']:.3f} to {value['max']:.3f})"


PAGE_NAMES = {
    "experiments": "list of ten experiments",
    "experiment of 1000": "an experiment of 1000 runs: 25 variants, 40 repetitions, 2 flows",
    "list": "list of runs, the newest 100",
    "list, page 40": "the same, page 40",
    "search": "search of two words in all runs",
    "condition": "a condition with an axis, a metric and a congestion control",
    "sorted": "all runs sorted by a metric",
    "long run": "a run of 3 million samples, without its charts",
    "long run, draw": "the first draw of its charts",
}


def dashboard(results: Results) -> str:
    """Return the table of the dashboard's answers, and which of them miss their goals."""
    kinds = ("started", "changed", "again")
    rows = []
    missed = []
    for row in results["rows"]:
        name, goal_ms = PAGE_NAMES[row["page"]], row["goal_ms"]
        times = [row[f"{kind}_ms"] for kind in kinds]
        rows.append((name, "" if goal_ms is None else f"{goal_ms:g}", *map(_milliseconds, times)))
        if goal_ms is not None and any(one["median"] > goal_ms for one in times):
            missed.append(name)
    headings = ("answer, times in ms", "goal", "dashboard just started", "a run was stored before",
                "again")  # fmt: skip
    words = f"Medians above the goal: {'; '.join(missed) or 'none'}."
    return f"{table(headings, rows)}\n\n{words}"


def _milliseconds(value: Mapping[str, Any]) -> str:
    if len(value["all"]) == 1:
        return f"{value['median']:.0f}"
    return f"{value['median']:.0f} ({value['min']:.0f} to {value['max']:.0f})"


def _minutes(value_s: float) -> str:
    return f"{value_s / 60:.1f} min" if value_s < 5400 else f"{value_s / 3600:.1f} h"
