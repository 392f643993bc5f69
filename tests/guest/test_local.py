"""The back end ``local`` on a machine of its own: the guest's kernel booted in real time.

A boot does several steps (realtime/inside.py); the tests look at what came of each. The boot has
one CPU, which is its worker's: tests on other CPUs do not disturb it. What is killed and the known
programs have boots of their own, in `make test-long`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.execution import judging
from orchestrator.fidelity import round_trips
from orchestrator.protocol.reports.trace_records import RECEIVED, SENT
from results.store.store import Store
from tests.guest.conftest import QUICKSTART, Run
from tests.guest.realtime import boot
from tests.guest.realtime.inside import KILLED_STEPS, KNOWN_PROGRAMS, KNOWN_STEPS, LENGTH, STEPS
from tests.support import pcapng
from tests.support.failed_checks import failed_of_themselves
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

PROPAGATION_NS = 50_000_000
PARAMETER_BEFORE = f"{1 << 30}\n"
LATEST_NS = 500_000_000
MOST_UNDER_WAY_NS = 250_000_000
"""The propagation delay of 50 ms, and the full queue's 121 ms."""

STEP_NAMES = [step.__name__ for step in STEPS]
KILLED_STEP_NAMES = [step.__name__ for step in KILLED_STEPS]


@pytest.fixture(scope="module")
def output(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    return boot.run(kernel, "tests.guest.realtime.inside", folder, arguments=STEP_NAMES)


@pytest.fixture(scope="module")
def results(output: Path) -> dict[str, Any]:
    return read(output)


@pytest.fixture(scope="module")
def killed(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("killed")
    return read(
        boot.run(kernel, "tests.guest.realtime.inside", folder, arguments=KILLED_STEP_NAMES)
    )


def read(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "results.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("step", STEP_NAMES)
def test_a_run_leaves_nothing_and_restores_the_machine(results: dict[str, Any], step: str) -> None:
    assert results[step]["left"] == []


def test_the_machine_has_all_requirements(results: dict[str, Any]) -> None:
    found = results["doctor"]
    missing = [finding for finding in found["document"]["findings"] if not finding["ok"]]
    assert (found["status"], missing) == (0, []), found["said"]
    assert found["document"]["backends"] == {"local": "ready"}


def test_the_quickstart_gives_the_results_of_virtual_time(
    results: dict[str, Any], run: Run
) -> None:
    found = results["quickstart"]
    (document,) = found["document"]["runs"]
    assert document["status"] == "ok", document["error"]
    assert (document["backend"], document["simulated_s"]) == ("local", 10.0)
    simulated = run(*LENGTH)["metrics"]["utilisation"]
    assert document["metrics"]["utilisation"] == pytest.approx(simulated, rel=0.05)
    # Whatever keeps this machine from being a quiet one is told, and excuses what it explains.
    assert failed_of_themselves(document) == set(), f"{document['fidelity']}"
    checks = {check["name"]: check for check in document["fidelity"]["checks"]}
    assert {"scheduling_delay", "host_load", "run_load", "base_rtt"} <= set(checks)
    doubtful = {name.split()[0] for name, check in checks.items() if check["ok"] is None}
    if checks["scheduling_delay"]["ok"] is True and checks["host_load"]["ok"] is True:
        assert doubtful <= {"run_load"}
        assert (found["status"], document["fidelity"]["verdict"]) == (0, "faithful")
    assert [flow["congestion_control"] for flow in document["flows"]] == ["westwood", "reno"]


def test_programs_run_where_they_are_allowed(results: dict[str, Any]) -> None:
    found = results["programs"]
    status, said = found["refused"]
    assert status == 2
    assert "give --allow-programs if you trust the scenario" in said
    assert "document" in found, found["said"]
    (document,) = found["document"]["runs"]
    assert document["status"] == "ok", found["said"]
    page = document["flows"][0]
    assert (page["outcome"], page["exit_status"]) == ("ended", 0), str(document["programs"])
    assert page["connections"] == 1
    kept = [(one["name"], one["size_bytes"], one["left_out"]) for one in document["kept_files"]]
    assert kept == [("page", 500_000, None), ("none", None, "missing")]
    # 0.5 MB over 20 Mbit/s take 0.2 s, and curl may start late on a busy machine.
    assert 0.2 < page["completion_time_s"] < 4
    assert failed_of_themselves(document) == set(), f"{document['fidelity']}"


@pytest.mark.long
def test_known_programs_end_well_in_real_time(kernel: GuestKernel, tmp_path: Path) -> None:
    """How faithful this slow machine is beside them is not asked."""
    steps = [step.__name__ for step in KNOWN_STEPS]
    results = read(boot.run(kernel, "tests.guest.realtime.inside", tmp_path, arguments=steps))
    found = results["known_programs"]
    assert found["left"] == []
    assert "document" in found, found["said"]
    runs = [run for scenario in found["document"]["scenarios"] for run in scenario["runs"]]
    assert len(runs) == len(KNOWN_PROGRAMS)
    for run in runs:
        assert run["status"] == "ok", run["error"]
        (flow,) = run["flows"]
        assert (flow["outcome"], flow["exit_status"]) == ("ended", 0), str(run["programs"])
        # Of UDP are iperf3's datagrams, and the answers to dig.
        least_bytes = {"iperf3-udp": 600_000, "dns": 150}.get(flow["name"])
        if least_bytes is None:
            assert flow["udp_sent_bytes"] is None
        else:
            assert least_bytes < flow["udp_received_bytes"] <= flow["udp_sent_bytes"]


def test_listed_traffic_and_echoes_run_in_real_time(results: dict[str, Any]) -> None:
    """How faithful this slow machine is at such rates is not asked."""
    found = results["workloads"]
    assert "document" in found, found["said"]
    replay, ping, schedule = (
        run for scenario in found["document"]["scenarios"] for run in scenario["runs"]
    )
    for run in (replay, ping, schedule):
        assert run["status"] == "ok", found["said"]
    call = replay["flows"][0]
    assert call["sent_packets"] == 100  # in two seconds after the warm-up
    echo = ping["flows"][0]
    assert (echo["transport"], echo["echoes_sent"]) == ("icmp", 40)
    # The base RTT is 40.06 ms, and the queue has 100 ms.
    assert 0.040 < echo["echo_rtt_min_s"] < echo["echo_rtt_mean_s"] < 0.2
    assert [flow["transfers"] for flow in schedule["flows"]] == [1] * 13


def test_frames_are_captured_at_hosts_as_they_were_there(output: Path, tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    shutil.copy(output / "runs.db", db)
    with Store.open_read_only(db) as store:
        trace = store.trace("last", 1)
    frames, hosts = trace.tables["frames"], trace.tables["hosts"]
    assert hosts[["to_ns", "lost"]].tolist() == [(6 * 10**9, 0)] * 4
    # On a busy machine a capture begins late, and says so.
    assert all(0 <= begun_ns - 4 * 10**9 < LATEST_NS for begun_ns in hosts["from_ns"].tolist())
    # Without offloads, each frame is one of the line, and small enough for it.
    assert set(frames["frame_bytes"].tolist()) <= set(range(66, 1515))
    seen: dict[bytes, list[tuple[int, int, int]]] = {}
    for row in frames:
        content = trace.frame_bytes[row["offset"] : row["offset"] + row["captured_bytes"]]
        seen.setdefault(content, []).append((int(row["time_ns"]), row["host"], row["step"]))
    both = [ways for ways in seen.values() if len(ways) == 2]
    assert len(both) > 1000
    for (sent_ns, source, sent), (received_ns, sink, received) in both:
        assert (sent, received, source ^ sink) == (SENT, RECEIVED, 1)
        assert received_ns - sent_ns >= PROPAGATION_NS
    # One that only its receiver saw was under way when the window began.
    for time_ns, _host, step in (ways[0] for ways in seen.values() if len(ways) == 1):
        assert step == SENT or time_ns < hosts["from_ns"].max() + MOST_UNDER_WAY_NS

    file = tmp_path / "sender.pcapng"
    exported = orchestrator("export", "last", "--at", "a_src0", "-o", str(file), "--db", str(db))
    assert (exported.exit_code, exported.stderr) == (0, "")
    assert len(pcapng.read(file).packets) == int((frames["host"] == 0).sum())


def test_what_a_capture_loses_is_counted(results: dict[str, Any]) -> None:
    captured = results["busy"]["captured"]
    assert len(captured["hosts"]) == 4
    for (came, lost), kept in zip(captured["hosts"], captured["kept"], strict=True):
        assert kept <= 28 < came
        assert came - lost == 28
    assert "incomplete: a_src0 lost " in captured["shown"]


def test_a_busy_machine_makes_a_run_doubtful_and_says_why(results: dict[str, Any]) -> None:
    document = results["busy"]["document"]
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] in ("doubtful", "unfaithful")
    (check,) = [each for each in document["fidelity"]["checks"] if each["name"] == "host_load"]
    assert check["ok"] is None
    assert check["measured"] > 0.5
    assert check["detail"].startswith("the machine was busy with other things than the run")


def test_listed_packets_are_lost_exactly_also_on_a_busy_machine(results: dict[str, Any]) -> None:
    checks = results["busy"]["document"]["fidelity"]["checks"]
    found = {check["name"]: check for check in checks if check["name"].startswith("loss")}
    by_number = found.pop("loss by number bottleneck:forward")
    assert (by_number["ok"], by_number["measured"]) == (True, 3), f"{by_number}"
    assert found["loss elsewhere"]["ok"] is True


def test_a_modules_parameter_is_set_and_restored(results: dict[str, Any]) -> None:
    busy = results["busy"]
    assert busy["parameter before"] == busy["parameter after"] == PARAMETER_BEFORE
    assert busy["parameter"] == "64\n"


@pytest.mark.long
@pytest.mark.parametrize("step", KILLED_STEP_NAMES)
def test_what_is_killed_leaves_nothing_and_restores_the_machine(
    killed: dict[str, Any], step: str
) -> None:
    assert killed[step]["left"] == []


@pytest.mark.long
def test_a_second_run_at_the_same_time_is_refused(killed: dict[str, Any]) -> None:
    said = killed["killed_controller"]["second"]
    assert "another run in real time is using this machine" in said
    assert "fix: wait until it has ended" in said


@pytest.mark.long
def test_a_killed_controller_s_run_is_marked_and_its_parameter_restored(
    killed: dict[str, Any],
) -> None:
    found = killed["killed_controller"]
    assert found["document"]["status"] == "interrupted"
    # By the parameter restorer, which is the only process left.
    assert (found["before"], found["during"]) == (PARAMETER_BEFORE, "64\n")
    assert found["parameter"] == PARAMETER_BEFORE


@pytest.mark.long
def test_a_killed_bed_s_run_is_marked(killed: dict[str, Any]) -> None:
    document = killed["killed_bed"]["document"]
    assert document["status"] == "failed"
    assert "the bed was ended by signal 9" in document["error"]


@pytest.mark.long
def test_no_device_of_a_bed_sends_messages_of_its_own(killed: dict[str, Any]) -> None:
    addresses = killed["killed_bed"]["addresses"]
    assert len(addresses) > 2  # processes of the bed, its switches' daemons among them
    assert set(addresses) == {""}


def test_judging_stored_runs_again_gives_the_stored_verdicts(
    output: Path, db: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(output / "runs.db", db)
    run(*LENGTH)
    too_short = ("--timeout", "1s", "--db", str(db))
    assert orchestrator("run", str(QUICKSTART), *too_short).exit_code == 1
    with Store.open_read_only(db) as store:
        stored = {(row.backend, row.status): row for row in store.list_runs()}
    here, guest = stored["local", "ok"], stored["guest", "ok"]
    failed = stored["guest", "failed"]

    same = orchestrator("judge", "--all", "--db", str(db))
    assert same.exit_code == (3 if here.verdict == "unfaithful" else 0)
    assert f"{here.id}: {here.verdict}, as before\n" in same.stdout
    assert f"{guest.id}: faithful, as before\n" in same.stdout
    assert f"run {failed.id} cannot be judged again: it is failed\n" in same.stdout

    monkeypatch.setattr(round_trips, "TOLERANCE_S", -1.0)
    monkeypatch.setattr(judging, "checks_version", lambda: "2-changed")
    other = orchestrator("judge", "--all", "--db", str(db))
    assert other.exit_code == 3
    assert f"{guest.id}: faithful -> unfaithful (checks " in other.stdout
    assert "-> 2-changed)\n  base_rtt" in other.stdout
    with Store.open_read_only(db) as store:
        assert [judgement.verdict for judgement in store.load(guest.id).judgements] == [
            "faithful", "unfaithful",
        ]  # fmt: skip
