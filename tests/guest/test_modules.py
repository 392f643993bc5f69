"""Our own congestion-control modules in the guest's kernel."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guest.build import GuestKernel
from kmods import build, catalogue
from orchestrator.backends.modules import ensure_ours
from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

MSS_BYTES = 1448
TOLD_BPS, TOLD_RTT_US = 3_000_000, 100_000
IDEAL = (
    "flows=[{name: one, group: a, congestion: {name: idealtcp, parameters: "
    "{idealtcp_rate_bps: 3mbit, idealtcp_rtt_us: 100ms}}}]"
)
LOSSY = "topology.bottleneck.loss={forward: 1%, reverse: 0%}"
SETTING = "net.ipv4.idealtcp_rate_bps"


@pytest.mark.parametrize("name", sorted(catalogue.modules_of("6.12")))
def test_a_module_fills_a_lossless_link_with_a_bdp_queue(
    run: Run, db: Path, kernel: GuestKernel, name: str
) -> None:
    document = run(
        f"flows=[{{name: one, group: a, congestion: {name}, traffic: {{kind: bulk}}}}]",
        "topology.bottleneck.queue.limit=1bdp",
        "duration=60s",
        "warmup=20s",
    )
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    assert document["flows"][0]["congestion_control"] == name
    assert document["metrics"]["utilisation"] >= 0.93
    file = ensure_ours(kernel).folder / f"tcp_{name}.ko"
    (declared,) = build.modinfo(file, "shows")
    assert catalogue.shown_values(declared.split("; ")) == catalogue.modules()[name].shown
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        recorded = stored.provenance["modules"][f"tcp_{name}"]
        assert recorded["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        assert stored.flows[0].congestion_fields == catalogue.modules()[name].shown
        shown = stored.tcp(0, 0, ["congestion_1"])["congestion_1"]
    # RTTmin, which all of them show second: 100 ms, or that plus a standing queue.
    assert 99_000 < shown[-1] < 250_000


def test_a_parameter_reaches_the_module(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "import os\n"
        "from orchestrator.testbed.kernel import system\n"
        "os.makedirs('/run/sysfs')\n"
        "system.mount('sysfs', '/run/sysfs', 'sysfs')\n"
        "path = '/run/sysfs/module/tcp_logwestwood/parameters/alpha_max'\n"
        "assert open(path).read() == '64\\n', open(path).read()\n",
        encoding="utf-8",
    )
    document = run(
        "flows.westwood.congestion={name: logwestwood, parameters: {alpha_max: 64}}",
        "duration=12s",
        "warmup=2s",
        hook=hook,
    )
    assert document["status"] == "ok", document["error"]


def tcp(db: Path, run_id: str, flow: int, *fields: str) -> Any:
    """Return a sender's samples of one run, and its provenance's namespaces."""
    with Store.open_read_only(db) as store:
        stored = store.load(run_id)
        return stored.tcp(flow, 0, list(fields)), stored.provenance["namespaces"]


def test_ideal_tcp_reduces_to_the_window_of_its_hosts_settings(run: Run, db: Path) -> None:
    document = run(IDEAL, LOSSY, "duration=60s", "warmup=5s")
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    samples, namespaces = tcp(
        db, document["id"], 0, "snd_cwnd_segments", "snd_ssthresh_segments", "congestion_0"
    )
    window = TOLD_BPS * TOLD_RTT_US // 8_000_000 // MSS_BYTES
    assert set(samples["snd_ssthresh_segments"][50:].tolist()) == {window}
    cwnd = samples["snd_cwnd_segments"][50:]  # well behind the first loss
    # It grows from there by one segment a round trip until the next loss, some seven later.
    assert window - 3 <= cwnd.min() <= window + 2
    assert window <= np.median(cwnd) <= window * 1.4
    assert samples["congestion_0"][-1] == TOLD_BPS / 8
    told = {SETTING: str(TOLD_BPS), "net.ipv4.idealtcp_rtt_us": str(TOLD_RTT_US)}
    assert namespaces["end"] == {"a_src0": told}
    assert all(each["time_ns"] < 0 for each in namespaces["set"])
    # Told 0, it knows no RTT and takes half: so the window above is what it was told.
    document = run(IDEAL.replace("rtt_us: 100ms", "rtt_us: 0"), LOSSY, "duration=60s", "warmup=5s")
    samples, _ = tcp(db, document["id"], 0, "snd_cwnd_segments")
    assert np.median(samples["snd_cwnd_segments"][50:]) < window * 0.8


def test_hosts_can_have_different_settings(run: Run, db: Path) -> None:
    libra = "{{name: libra, parameters: {{libra_capacity_kbps: {}}}}}"
    document = run(
        f"flows.westwood.congestion={libra.format('5mbit')}",
        f"flows.reno.congestion={libra.format(20000)}",
        "flows.reno.direction=reverse",
        "duration=30s",
        "warmup=5s",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    shown = []
    for flow, capacity_bps in enumerate((5_000_000, 20_000_000)):
        samples, namespaces = tcp(db, document["id"], flow, "congestion_0", "congestion_2")
        assert set(samples["congestion_0"][10:].tolist()) == {capacity_bps / 8}
        shown.append(float(np.median(samples["congestion_2"][-50:])))
    # Libra's increase is proportional to the capacity; their round trips differ by the queues.
    assert 2.5 < shown[1] / shown[0] < 6
    assert set(namespaces["end"]) == {"a_src0", "b_dst0"}


def test_flows_of_libra_learn_the_capacity_of_a_busy_link(run: Run, db: Path) -> None:
    """Ten flows with packet pairs. The first ACKs of three of them gave a hundredth of it before.

    Other flows' packets may be between those of a flight, so an estimate may be half of it.
    """
    document = run(
        "topology.groups=[{name: a, hosts: 10, access: {rate: 100mbit, delay: 20ms}}]",
        "topology.bottleneck.queue={kind: droptail, limit: 1bdp}",
        "flows=[{name: ten, group: a, congestion: libra}]",
        "start_jitter=1s",
        "duration=12s",
        "warmup=2s",
        "seed=1182975095516770249",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    learned = []
    for flow in range(10):
        samples, _ = tcp(db, document["id"], flow, "congestion_0")
        learned += [float(capacity) * 8 for capacity in samples["congestion_0"][-1:] if capacity]
    assert len(learned) >= 7, "the other flows have not learned it yet"
    assert all(4e6 < capacity_bps < 9.7e6 for capacity_bps in learned), learned


CHANGE_LATER = """
import threading
from orchestrator.testbed.kernel import system

def change():
    system.Timer().sleep_until(BEGIN_NS + 10_000_000_000)
    bed.set_namespace("a_src0", "net.ipv4.idealtcp_rate_bps", 6000000)

BEGIN_NS = 20_000_333_333  # traffic starts there when set-up takes less (testbed/run.py)
threading.Thread(target=change, daemon=True).start()
"""


def test_a_setting_may_change_while_traffic_runs_and_that_is_recorded(
    run: Run, db: Path, tmp_path: Path
) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(CHANGE_LATER, encoding="utf-8")
    document = run(IDEAL, "duration=20s", "warmup=2s", hook=hook)
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    samples, namespaces = tcp(db, document["id"], 0, "time_ns", "congestion_0")
    changes = [each for each in namespaces["set"] if each["time_ns"] >= 0]
    change = {"host": "a_src0", "sysctl": SETTING, "value": 6_000_000}
    assert [{**each, "time_ns": None} for each in changes] == [{**change, "time_ns": None}]
    assert abs(changes[0]["time_ns"] - 10_000_000_000) < 1_000_000
    rate = dict(zip(samples["time_ns"].tolist(), samples["congestion_0"].tolist(), strict=True))
    assert (rate[9_900_000_000], rate[10_100_000_000]) == (TOLD_BPS / 8, 6_000_000 / 8)
    assert namespaces["end"]["a_src0"][SETTING] == "6000000"


def test_a_setting_that_another_process_changes_is_detected(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.testbed.kernel.sysctl import write_sysctl\n"
        f"with bed.enter('a_src0'):\n    write_sysctl('{SETTING}', 7)\n",
        encoding="utf-8",
    )
    document = run(IDEAL, "duration=12s", "warmup=2s", hook=hook)
    assert "settings_changed" in failed_checks(document), document["fidelity"]


def test_a_value_that_the_kernel_refuses_ends_the_run(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(f"bed.set_namespace('a_src0', '{SETTING}', 10**12)\n", encoding="utf-8")
    document = run(IDEAL, "duration=12s", "warmup=2s", hook=hook)
    assert document["status"] == "failed"
    assert f"a_src0: {SETTING}=1000000000000: Invalid argument" in document["error"]
