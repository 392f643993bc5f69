"""Our own congestion-control modules in the guest's kernel."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from guest.build import GuestKernel
from kmods import build, catalogue
from results.store import Store
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("name", sorted(catalogue.modules()))
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
    file = build.ensure(kernel).folder / f"tcp_{name}.ko"
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
        "from testbed import system\n"
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
