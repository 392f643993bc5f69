"""Runs on other kernels than the default one: faithful, and with equal digests.

`make test-kernels` fetches and builds the kernels, which takes 5 minutes each where they are not
cached. The default kernel has all other tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.other_kernels import (
    SCENARIOS,
    SERIES,
    document,
    kernels,
    orchestrator,
    run,
)

OTHERS = ("6.1", "7.3")
TRIED = (
    "quickstart.yaml",
    "tutorial/12-rtt-split.yaml",
    "tutorial/16-satellite.yaml",
    "tutorial/20-red.yaml",
    "tutorial/22-codel.yaml",
    "tutorial/24-fair-queueing.yaml",
    "tutorial/27-policer.yaml",
    "tutorial/23-pie.yaml",
    "tutorial/42-udp-on-off.yaml",
    "tutorial/50-rate-changes.yaml",
    "tutorial/63-request-response.yaml",
)

pytestmark = [pytest.mark.guest, pytest.mark.long]


@pytest.mark.parametrize("name", TRIED)
def test_three_runs_on_each_kernel_are_faithful_and_equal_to_the_bit(
    name: str, tmp_path: Path
) -> None:
    db = ("--db", str(tmp_path / "runs.db"))
    first = document(str(SCENARIOS / name), *kernels(SERIES), *db)
    made = first["runs"]
    assert [each["variant"]["kernel"] for each in made] == list(SERIES)
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * len(SERIES)
    releases = [each["kernel"] for each in made]
    for release, series in zip(releases, SERIES, strict=True):
        assert release.startswith(f"{series}.")
    for _time in range(2):
        again = run("--verify", first["experiment"], *db)
        assert [each["digest"] for each in again] == [each["digest"] for each in made]
        assert [each["kernel"] for each in again] == releases


@pytest.mark.parametrize("series", OTHERS)
def test_our_modules_run_on_each_kernel(series: str, tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(
        (SCENARIOS / "tutorial/12-rtt-split.yaml").read_text()
        + "matrix: {flows.0.congestion: [westwoodplus, logwestwood, tibet, fast]}\n"
    )
    made = run(str(file), "--kernel", series, "--db", str(tmp_path / "runs.db"))
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 4
    assert len({each["digest"] for each in made}) == 4


def test_what_a_kernel_lacks_is_an_error_with_the_kernels_that_have_it(tmp_path: Path) -> None:
    words = ("run", "scenarios/quickstart.yaml", "--db", str(tmp_path / "runs.db"))
    done = orchestrator(*words, "--kernel", "7.3", "--set", "tcp.recovery=dupack")
    assert done.returncode == 2
    assert "has no recovery by duplicate ACKs" in done.stderr
    assert "kernels before 6.17 do" in done.stderr
    lossy = ("run", "scenarios/tutorial/30-random-loss.yaml", *words[2:])
    done = orchestrator(*lossy, "--kernel", "6.1")
    assert done.returncode == 2
    assert "cannot seed the random losses" in done.stderr
    assert "kernels from 6.6 on do" in done.stderr
    done = orchestrator(*words, "--kernel", "5.4")
    assert done.returncode == 4
    assert "orchestrator guest fetch 5.4" in done.stderr


def test_a_run_of_another_kernel_can_be_looked_at_closely(tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "runs.db"))
    (made,) = run("scenarios/quickstart.yaml", "--kernel", "6.1", *db)
    done = orchestrator("zoom", made["id"], "--window", "12s..12.5s", *db)
    assert done.returncode == 0, done.stderr
    shown = json.loads(orchestrator("show", made["id"], "--json", *db).stdout)
    assert shown["runs"][0]["traces"]


@pytest.mark.parametrize("series", SERIES)
def test_the_check_of_each_kernel_is_good(series: str) -> None:
    done = orchestrator("guest", "check", series, "--jobs", "2", "--json")
    assert done.returncode == 0, done.stdout
    checked = json.loads(done.stdout)
    assert checked["ok"]
    assert checked["release"].startswith(f"{series}.")
    absent = " ".join(checked["absent"])
    assert ("impairment loss" in absent) == (series == "6.1")
    assert ("queue dualpi2" in absent) == (series != "7.3")
    assert ("duplicate ACKs" in absent) == (series == "7.3")


def test_a_metric_is_tracked_over_kernels(tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "runs.db"))
    words = ("track", "scenarios/quickstart.yaml", *kernels(SERIES), "--metric", "goodput_bps")
    figure = tmp_path / "goodput.svg"
    more = ("--set", "duration=5s", "--set", "warmup=1s", "--repetitions", "5")
    done = orchestrator(*words, *more, *db, "-o", str(figure), "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["kernels"]
    assert [each["kernel"] for each in found] == list(SERIES)
    assert [each["n"] for each in found] == [5, 5, 5]
    assert found[0]["change"] is None
    for each in found[1:]:
        change = each["change"]
        assert change["method"] == "paired"
        assert change["low"] <= change["mean"] <= change["high"]
        assert change["known"] == (change["low"] > 0 or change["high"] < 0)
    assert figure.read_text().startswith("<?xml")


def test_a_worker_of_a_cluster_is_sent_each_kernel(tmp_path: Path) -> None:
    words = ("scenarios/tutorial/20-red.yaml", *kernels(("6.1", "6.12")))
    here = run(*words, "--db", str(tmp_path / "here.db"))
    there = run(*words, "--db", str(tmp_path / "there.db"), "--executor", "dask=local")
    assert [each["digest"] for each in there] == [each["digest"] for each in here]
