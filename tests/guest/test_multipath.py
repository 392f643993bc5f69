"""Multipath TCP: subflows, sums, outages, backups, fallbacks and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import Quiet
from tests.support.other_kernels import orchestrator, run

pytestmark = pytest.mark.guest

PAYLOAD_SHARE = 1428 / 1514
"""Of a full frame: timestamps take 12 bytes, and the data sequence signal 20."""
TWO_PATHS = """\
version: 1
name: mptcp
seed: 1
duration: 10s
warmup: 2s
topology:
  kind: multipath
  paths:
    - {name: wifi, rate: 20mbit, delay: 10ms}
    - {name: lte, rate: 10mbit, delay: 40ms}
flows:
  - {name: phone, mptcp: {paths: [wifi, lte]}}
"""


def made(tmp_path: Path, text: str = TWO_PATHS, *words: str) -> dict[str, Any]:
    file = tmp_path / "mptcp.yaml"
    file.write_text(text)
    (document,) = run(str(file), "--db", str(tmp_path / "runs.db"), *words)
    return document


def require_faithful(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checks by name."""
    checks = document["fidelity"]["checks"]
    assert [check for check in checks if check["ok"] is not True] == []
    assert document["fidelity"]["verdict"] == "faithful"
    return {check["name"]: check for check in checks}


def test_a_connection_fills_both_paths_and_each_subflow_is_sampled(tmp_path: Path) -> None:
    document = made(tmp_path)
    checks = require_faithful(document)
    assert {name for name in checks if name.startswith("multipath")} == {
        "multipath_fallbacks", "multipath_subflows", "multipath_unnamed_subflows",
        "multipath_bytes",
    }  # fmt: skip
    assert checks["multipath_subflows"]["detail"] == "of 2 established"
    wifi, lte = document["flows"]
    assert [flow["name"] for flow in (wifi, lte)] == ["phone-wifi", "phone-lte"]
    assert {flow["entry"] for flow in (wifi, lte)} == {"phone"}
    assert {flow["start_s"] for flow in (wifi, lte)} == {0}
    for flow, rate_bps, rtt_s in ((wifi, 20e6, 0.02), (lte, 10e6, 0.08)):
        assert flow["goodput_bps"] == pytest.approx(rate_bps * PAYLOAD_SHARE, rel=0.01)
        assert flow["base_rtt_measured_s"] == pytest.approx(rtt_s, abs=1e-4)
        assert rtt_s < flow["rtt_mean_s"] < 2.2 * rtt_s
        assert flow["congestion_control"] == "cubic"
        assert flow["mptcp_subflows"] == 2
        assert flow["mptcp_reinjected_bytes"] == 0
        # The receiver holds back what came out of order at the beginning of the time.
        assert flow["mptcp_goodput_bps"] == pytest.approx(30e6 * PAYLOAD_SHARE, rel=0.02)
    assert wifi["mptcp_share"] + lte["mptcp_share"] == pytest.approx(1)
    assert document["metrics"]["jain_index"] == 1, "one connection"


def test_three_runs_have_equal_digests(tmp_path: Path) -> None:
    text = TWO_PATHS.replace("10s", "4s")
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    assert len({made(folder, text)["digest"] for folder in folders}) == 1


@pytest.mark.long
@pytest.mark.parametrize("backup", ["[]", "[lte]"])
def test_a_connection_goes_on_while_a_path_is_down(tmp_path: Path, backup: str) -> None:
    text = TWO_PATHS.replace("[wifi, lte]}", f"[wifi, lte], backup: {backup}}}") + (
        "events:\n  - {kind: link, link: wifi, at: 4s, state: down}\n"
        "measure:\n  - {name: before, from: 2s, to: 4s}\n  - {name: down, from: 6s, to: 10s}\n"
    )
    document = made(tmp_path, text)
    require_faithful(document)
    before, down = (document["windows"][name]["flows"] for name in ("before", "down"))
    assert (before[1]["mptcp_share"] == 0) == (backup == "[lte]")
    assert down[0]["goodput_bps"] == 0
    assert down[1]["goodput_bps"] > 0.65 * 10e6
    assert down[1]["mptcp_share"] == 1
    # What was on its way over the first path is sent again over the second one.
    assert document["flows"][0]["mptcp_reinjected_bytes"] > 20_000


@pytest.mark.long
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("backup", "used"), [("[wifi]", {"lte"}), ("[lte]", {"wifi"}), ("[wifi, lte]", {"wifi", "lte"})]
)
def test_a_backup_is_idle_while_another_path_is_up(
    tmp_path: Path, direction: str, backup: str, used: set[str]
) -> None:
    document = made(
        tmp_path, TWO_PATHS, "--set", "duration=5s", "--set", f"flows.phone.direction={direction}",
        "--set", f"flows.phone.mptcp.backup={backup}",
    )  # fmt: skip
    require_faithful(document)
    rates_bps = {flow["group"]: flow["goodput_bps"] for flow in document["flows"]}
    assert {path for path, rate_bps in rates_bps.items() if rate_bps} == used


@pytest.mark.long
def test_a_connection_may_have_one_path(tmp_path: Path) -> None:
    document = made(tmp_path, TWO_PATHS, "--set", "flows.phone.mptcp.paths=[lte]")
    require_faithful(document)
    (flow,) = document["flows"]
    assert flow["mptcp_share"] == flow["mptcp_subflows"] == 1
    assert flow["goodput_bps"] == pytest.approx(10e6 * PAYLOAD_SHARE, rel=0.02)


@pytest.mark.long
def test_connections_of_both_directions_and_of_eight_paths(tmp_path: Path) -> None:
    paths = [f"p{number}" for number in range(8)]
    text = TWO_PATHS.partition("topology:")[0] + "topology:\n  kind: multipath\n  paths:\n"
    text += "".join(f"    - {{name: {name}, rate: 5mbit, delay: 10ms}}\n" for name in paths)
    mptcp = f"mptcp: {{paths: [{', '.join(paths)}], backup: [p7]}}"
    text += f"flows:\n  - {{name: up, {mptcp}}}\n  - {{name: down, direction: reverse, {mptcp}}}\n"
    document = made(tmp_path, text, "--set", "duration=6s")
    checks = require_faithful(document)
    assert checks["multipath_subflows"]["detail"] == "of 16 established"
    for flow in document["flows"]:
        assert flow["mptcp_subflows"] == 8
        assert flow["goodput_bps"] == 0 if flow["group"] == "p7" else flow["goodput_bps"] > 3e6


@pytest.mark.long
def test_a_matrix_is_resumed_reported_and_handed_on(tmp_path: Path) -> None:
    file = tmp_path / "mptcp.yaml"
    matrix = "matrix:\n  backup:\n    none: {flows.phone.mptcp.backup: []}\n"
    matrix += "    lte: {flows.phone.mptcp.backup: [lte]}\n"
    file.write_text(TWO_PATHS.replace("10s", "4s") + "start_jitter: 100ms\n" + matrix)
    db = str(tmp_path / "runs.db")
    first = run(str(file), "--db", db)
    whole = run(str(file), "--db", db, "--repetitions", "2", "--resume")
    assert [made["fidelity"]["verdict"] for made in whole] == ["faithful"] * 4
    assert len({made["digest"] for made in whole}) == 4
    assert {made["id"] for made in first} < {made["id"] for made in whole}
    words = ("report", str(file), "--db", db, "--metric", "mptcp_goodput_bps")
    report = orchestrator(*words, "-o", str(tmp_path / "report"))
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Goodput of the MPTCP connection" in page
    crate = str(tmp_path / "crate")
    done = orchestrator("export", "mptcp", "--db", db, "--format", "rocrate", "-o", crate)
    assert done.returncode == 0, done.stderr
    again = run(crate, "--db", str(tmp_path / "other.db"))
    assert {made["digest"] for made in again} == {made["digest"] for made in whole}


ONE_SERVER = """\
version: 1
name: mptcp
seed: 1
duration: 8s
warmup: 2s
topology:
  kind: custom
  hosts: [wifi, lte, server]
  routers: [a, b, c]
  links:
    - {between: [wifi, a], rate: 20mbit, delay: 5ms, queue: {limit: 1bdp}}
    - {between: [lte, b], rate: 10mbit, delay: 20ms, queue: {limit: 1bdp}}
    - {between: [a, c], delay: 5ms}
    - {between: [b, c], delay: 20ms}
    - {between: [c, server], delay: 0ms}
  groups:
    - {name: wifi, sources: [wifi], sinks: [server]}
    - {name: lte, sources: [lte], sinks: [server]}
  multihomed: [[wifi, lte]]
flows:
  - {name: phone, mptcp: {paths: [wifi, lte]}}
"""


@pytest.mark.long
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_server_with_one_address_has_both_subflows(tmp_path: Path, direction: str) -> None:
    document = made(tmp_path, ONE_SERVER, "--set", f"flows.phone.direction={direction}")
    require_faithful(document)
    for flow, rate_bps in zip(document["flows"], (20e6, 10e6), strict=True):
        assert flow["goodput_bps"] == pytest.approx(rate_bps * PAYLOAD_SHARE, rel=0.02)


@pytest.mark.long
def test_a_connection_ends_when_all_its_bytes_have_come(tmp_path: Path) -> None:
    text = TWO_PATHS.replace("lte]}", "lte]}, traffic: {kind: bulk, bytes: 10MB}").replace(
        "warmup: 2s", "warmup: 0s"
    )
    document = made(tmp_path, text + "  - {name: cross, group: lte, start: 1s}\n")
    require_faithful(document)
    wifi, lte, cross = document["flows"]
    assert wifi["mptcp_goodput_bps"] * 10 / 8 == 10_000_000
    assert (wifi["goodput_bps"] + lte["goodput_bps"]) * 10 / 8 == pytest.approx(
        10_000_000 + wifi["mptcp_reinjected_bytes"]
    )
    assert 3 < wifi["ended_s"] < 6
    assert cross["mptcp_share"] is None
    assert cross["goodput_bps"] > 4e6


def test_settings_of_the_kernel_are_set_and_read_back(tmp_path: Path) -> None:
    settings = "{paths: [wifi, lte], checksum_enabled: true, stale_loss_cnt: 7, scheduler: default}"
    text = TWO_PATHS.replace("{paths: [wifi, lte]}", settings)
    document = made(tmp_path, text)
    require_faithful(document)
    with Store.open_read_only(tmp_path / "runs.db") as store:
        end = store.load(document["id"]).provenance["namespaces"]["end"]
    for host in ("wifi_src0", "wifi_dst0"):
        assert end[host]["net.mptcp.checksum_enabled"] == "1"
        assert end[host]["net.mptcp.stale_loss_cnt"] == "7"
    file = tmp_path / "other.yaml"
    file.write_text(text.replace("scheduler: default", "scheduler: quickest"))
    done = orchestrator("run", str(file), "--db", str(tmp_path / "runs.db"))
    assert done.returncode == 1
    assert "net.mptcp.scheduler=quickest: " in done.stdout + done.stderr
    assert "the kernel has: default" in done.stdout + done.stderr


PLAIN_LISTENER = """\
from orchestrator.testbed.traffic import bulk

listen = bulk.listen
bulk.listen = lambda bed, spec, host: listen(bed, {**spec, "parameters": {"bytes": None}}, host)
"""


def test_a_connection_that_fell_back_to_tcp_is_unfaithful(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(PLAIN_LISTENER)
    file = tmp_path / "mptcp.yaml"
    file.write_text(TWO_PATHS)
    planned = plan(load(file, ["duration=4s", "warmup=1s"]))
    db = tmp_path / "runs.db"
    ids = run_plan(planned, RunOptions(db, Guest(kernel, hook=hook)), Quiet())
    with Store.open_read_only(db) as store:
        (document,) = run_document.of_ids(store, ids)["runs"]
    assert document["status"] == "ok", document["error"]
    checks = {check["name"]: check for check in document["fidelity"]["checks"]}
    assert checks["multipath_fallbacks"]["ok"] is False
    assert checks["multipath_fallbacks"]["measured"] == 1
    assert document["fidelity"]["verdict"] == "unfaithful"
    assert document["flows"][0]["goodput_bps"] > 10e6, "plain TCP over the first path"
    assert document["flows"][1]["outcome"] == "never_connected"
