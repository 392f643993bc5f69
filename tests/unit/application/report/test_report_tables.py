"""The tables of a report: what they leave out, in which order, and in which words."""

from __future__ import annotations

import csv
import io
import random
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.application.report import (
    experiment_section,
    section_differences,
    section_tables,
)
from orchestrator.application.report.section_figures import ReportSelection
from results.experiment.contrasts import NONE_SHOWN
from results.experiment.experiments import experiments
from results.experiment.model import Summary
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.statistics.drift import PARTS
from results.store.store import Store
from results.wording.check_words import WORDS, check_words
from tests.support.experiments import make
from tests.support.summary import LIMIT, orchestrator

CONGESTION, RATE = "flows.one.congestion", "topology.bottleneck.rate"
VARIANTS = [
    {CONGESTION: control, RATE: f"{rate}mbit", LIMIT: f"{limit}p"}
    for control in ("reno", "cubic", "bbr", "vegas")
    for rate in (10, 20)
    for limit in (10, 20, 40, 80)
]


def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    """Return goodputs that depend on chance, and with 10p and bbr on the flow."""
    rate = 1e6 * int(str(variant[RATE]).removesuffix("mbit"))
    noise = random.Random(f"{variant} {repetition}")
    share = 0.5 + noise.uniform(-0.05, 0.05)
    if variant[LIMIT] == "10p" and variant[CONGESTION] == "bbr":
        share = 0.8 + 0.01 * noise.random()
    return {"one": share * rate, "two": (1 - share) * rate}


def summary(store: Path, name: str, *where: str) -> Summary:
    with Store.open_read_only(store) as opened:
        (found,) = [experiment for experiment in experiments(opened) if experiment.name == name]
        return summarise(opened, found, ValueSelection(("goodput_bps",), where=where))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an experiment of 32 variants, which is `large`."""
    path = tmp_path_factory.mktemp("large") / "runs.db"
    with Store(path) as opened:
        make(opened, goodput, VARIANTS, 3, "large", experiment_sha256="l")
    return path


@pytest.fixture(scope="module")
def large(store: Path) -> Summary:
    """The summary of the experiment `large`."""
    return summary(store, "large")


@pytest.mark.slow
def test_of_many_differences_the_decisive_ones_come_first_and_a_command_prints_all(
    large: Summary, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open_read_only(store) as opened:
        (found,) = experiments(opened)
        command = ReportSelection().command(found, ["goodput_bps"], "--csv-differences")
    flows, controls = section_differences.differences(large, {"goodput_bps": command})
    labels = [difference.label for difference in large.differences if difference.axis is None]
    shown = sum(label != NONE_SHOWN for label in labels)
    assert (len(labels), shown > 1) == (32, True)
    assert flows.caption == (
        "Differences of goodput (Mbit/s) between flow entries, paired by seed. "
        f"{shown} of 32 comparisons show a difference; these are the 10 with the smallest p."
    )
    result = flows.headings.index("Result")
    assert [row[result] == NONE_SHOWN for row in flows.rows] == [
        *[False] * shown, *[True] * (10 - shown)
    ]  # fmt: skip
    assert labels[:shown] != [row[result] for row in flows.rows[:shown]]  # they were further below
    assert controls.caption.startswith(
        "Differences of goodput (Mbit/s) between values of congestion control, paired by seed. "
    )
    assert len(controls.rows) <= section_differences.MOST_ROWS
    assert flows.command == controls.command == command
    monkeypatch.setenv("ORCHESTRATOR_DB", str(store))
    words = shlex.split(command)
    assert words[0] == "orchestrator"
    printed = orchestrator(*words[1:]).stdout
    assert len(list(csv.DictReader(io.StringIO(printed)))) == len(large.differences)


def test_a_command_has_what_the_report_was_narrowed_by(store: Path) -> None:
    with Store.open_read_only(store) as opened:
        (found,) = experiments(opened)
    wanted = ReportSelection((), ("limit>10p",), ("one",), "rate")
    assert wanted.command(found, ["jain_index"], "--csv") == (
        f"orchestrator summary {found.label} --metric jain_index --where 'limit>10p' --flow one "
        "--by rate --csv"
    )


def test_few_differences_are_all_there_in_their_order(store: Path) -> None:
    document = summary(store, "large", "congestion=reno or congestion=bbr")
    table, *_rest = section_differences.differences(document, {"goodput_bps": "command"})
    assert (len(table.rows), table.command) == (16, "")
    limit = table.headings.index("Queue limit (packets)")
    assert [row[limit] for row in table.rows[:3]] == ["10", "20", "40"]


def test_a_long_table_of_means_is_cut_and_names_the_command(large: Summary) -> None:
    (whole,) = section_tables.means(large, ["goodput_bps"], "command")
    assert (len(whole.rows), whole.command) == (32, "")
    (part,) = section_tables.cut(whole, "orchestrator summary large --csv", 15)
    assert part.caption.endswith("The first 15 of 32 rows.")
    assert (len(part.rows), part.command) == (15, "orchestrator summary large --csv")


@pytest.mark.slow
def test_places_where_flows_change_have_a_column_for_each_axis_and_words_for_the_metric(
    tmp_path: Path,
) -> None:
    def crossing(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        limit = int(str(variant[LIMIT]).removesuffix("p"))
        return {"one": 1e5 * limit + 1e3 * repetition, "two": 3e6}

    with Store(tmp_path / "runs.db") as opened:
        make(opened, crossing, VARIANTS[:8], 2, "turn", experiment_sha256="t")
    document = summary(tmp_path / "runs.db", "turn")
    (table,) = section_differences.crossings(document, "command")
    assert table.headings == ["Rate (Mbit/s)", "Flows", "Metric", "At", "Repetitions"]
    assert [row[:3] for row in table.rows] == [
        ["10", "two and one", "Goodput"], ["20", "two and one", "Goodput"],
    ]  # fmt: skip
    assert all(row[3].startswith("queue limit ") for row in table.rows)


def test_each_check_has_plain_words() -> None:
    page = Path(__file__).parents[4].joinpath("docs/trust.md").read_text("utf-8")
    table = page.partition("**After traffic** the checks compare:")[2].partition("\nEvents are")[0]
    cells = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    assert len(names) > 25
    assert names <= set(WORDS)
    assert not [words for words in WORDS.values() if "_" in words]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("base_rtt", "base RTT before traffic"),
        ("burst_rate bottleneck:forward", "rate of a burst before traffic (bottleneck:forward)"),
        ("loss bottleneck:forward", "share of lost packets (bottleneck:forward)"),
        ("loss by number a:forward", "losses by number (a:forward)"),
        ("an_older_check x", "an older check x"),
    ],
)
def test_a_check_is_named_with_what_it_is_of(name: str, words: str) -> None:
    assert check_words(name) == words


def test_values_that_are_mappings_have_words_in_tables_findings_and_notes(tmp_path: Path) -> None:
    """Results were named {kind: fq_codel, limit: 1000p}, and wrapped into narrow columns."""
    queue = "topology.bottleneck.queue"
    kinds = [{"kind": "droptail", "limit": "1bdp"}, {"kind": "fq_codel", "limit": "1000p"}]

    def better(variant: Mapping[str, Any], repetition: int) -> dict[str, list[float]]:
        more = 1e6 if variant[queue]["kind"] == "fq_codel" else 0.0
        rise = [0.5e6 * part for part in range(1, 21)]
        return {"one": [2e6 + more + 1e3 * repetition + one for one in rise]}

    with Store(tmp_path / "runs.db") as opened:
        make(opened, better, [{queue: kind} for kind in kinds], 3, "queues", experiment_sha256="q")
        (found,) = experiments(opened)
        document = summarise(opened, found, ValueSelection(("goodput_bps",), parts=PARTS))
    (table,) = section_differences.differences(document, {"goodput_bps": "command"})
    row = dict(zip(table.headings, table.rows[-1], strict=True))
    assert (row["Difference"], row["Result"]) == (
        "fq_codel − droptail", "fq_codel above droptail",
    )  # fmt: skip
    assert row["Mean [interval]"] == "1.0000 [1.0000, 1.0000]"
    said = [*experiment_section._findings(document), *experiment_section._notes(document)]
    assert "queue fq_codel − queue droptail, goodput of one: 1.0000" in "".join(said)
    assert "Still drifting (marked ~)" in "".join(said)
    assert "{" not in "".join(said)
