"""What the quickstart promises, and that equal runs are equal to the bit."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from guest.build import GuestKernel
from results.documents import run_document
from tests.guest.conftest import QUICKSTART, Run

pytestmark = pytest.mark.guest


def test_quickstart_keeps_its_contract(run: Run) -> None:
    document = run()
    assert document["status"] == "ok"
    assert document["fidelity"]["verdict"] == "faithful"
    assert {check["name"].split()[0] for check in document["fidelity"]["checks"]} == {
        "base_rtt",
        "base_rtt_end",
        "burst_rate",
        "full_queue_delay",
        "backlogged_rate",
        "congestion_control",
        "conservation",
        "drops_outside_bottleneck",
        "hosts_as_requested",
        "kernel_warnings",
        "offloads_on",
        "rate_window",
        "receive_limit",
        "rtt_floor",
        "samples_missing",
        "serialisation",
        "settings_changed",
    }
    assert [flow["congestion_control"] for flow in document["flows"]] == ["westwood", "reno"]
    assert 0.93 < document["metrics"]["utilisation"] <= 1.005
    for flow in document["flows"]:
        # 100 ms of delays, and 50 bytes at 100, 10 and 100 Mbit/s there and back.
        assert flow["base_rtt_s"] == pytest.approx(0.100096)
        assert flow["base_rtt_measured_s"] == pytest.approx(0.100096, abs=20e-6)
        # Goodput counts bytes of the application, throughput those of the wire.
        assert (
            1448 / 1514 * 0.99 < flow["goodput_bps"] / flow["throughput_bps"] < 1448 / 1514 * 1.01
        )


def _spin() -> None:
    while True:
        pass


@pytest.mark.all_cpus
def test_equal_seeds_give_equal_runs_also_on_a_busy_host(run: Run) -> None:
    first, second = run("duration=20s"), run("duration=20s")
    busy = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in busy:
        process.start()
    try:
        third = run("duration=20s")
    finally:
        for process in busy:
            process.kill()
            process.join()
    other = run("duration=20s", "seed=2")
    assert first["digest"] == second["digest"] == third["digest"]
    assert other["digest"] != first["digest"]


@pytest.mark.parametrize(
    "overrides",
    [
        ["topology.bottleneck.loss=0.2%"],
        ["flows.westwood.congestion=cubic", "flows.reno.congestion=vegas", "flows.reno.count=3"],
    ],
)
def test_random_loss_and_other_modules_repeat_bit_identically(
    run: Run, overrides: list[str]
) -> None:
    asked = ["duration=15s", *overrides]
    digests = {run(*asked)["digest"] for _ in range(2)}
    assert len(digests) == 1
    assert run(*asked, "seed=7")["digest"] not in digests


def test_the_digest_does_not_depend_on_sampling_names_or_confinement(
    run: Run, tmp_path: Path
) -> None:
    renamed = tmp_path / "a folder" / "renamed.yaml"
    renamed.parent.mkdir()
    text = QUICKSTART.read_text(encoding="utf-8")
    for old, new in (("name: a,", "name: left,"), ("group: a,", "group: left,")):
        assert old in text
        text = text.replace(old, new)
    renamed.write_text(text.replace("name: westwood,", "name: one,"), encoding="utf-8")
    digests = [
        run("duration=12s")["digest"],
        run("duration=12s", "sample.tcp=10ms", "sample.queue=30ms")["digest"],
        run("duration=12s", scenario=renamed)["digest"],
        run("duration=12s", unconfined=True)["digest"],
    ]
    assert len(set(digests)) == 1, digests


@pytest.mark.all_cpus
def test_parallel_runs_give_the_same_digests_as_sequential_ones(
    run: Run, kernel: GuestKernel, db: Path
) -> None:
    alone = run("duration=12s")["digest"]
    from orchestrator.backends.guest import Guest
    from orchestrator.execution.runner import RunOptions, run_plan
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load
    from results.store.store import Store
    from tests.guest.conftest import Quiet

    planned = plan(load(QUICKSTART, ["duration=12s", "repetitions=2"]))
    ids = run_plan(planned, RunOptions(db, Guest(kernel), jobs=2), Quiet())
    with Store.open_read_only(db) as store:
        runs = run_document.of_ids(store, ids)["runs"]
    assert [entry["status"] for entry in runs] == ["ok", "ok"]
    assert runs[0]["digest"] == alone
    assert runs[1]["digest"] != alone
