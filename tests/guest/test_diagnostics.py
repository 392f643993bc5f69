"""What ``ss`` and a trace show of sockets that use our modules, beside what a run samples."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from guest.build import GuestKernel
from kmods import catalogue
from orchestrator.backends.guest import Guest
from orchestrator.backends.guest.shell import run_commands
from orchestrator.backends.modules import ensure_ours
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.store.store import Store
from results.store.stored import StoredRun
from tests.guest.conftest import QUICKSTART, Quiet

pytestmark = pytest.mark.guest

NAMES = [
    *sorted(catalogue.modules_of("6.12")),
    "bbr",
]  # bbr shows that the test sees what ss prints
RATE_KBPS = 4000
SAMPLED_NS = 6_100_000_000
PARAMETERS = {  # with which no value stays zero
    "idealtcp": {"idealtcp_rate_bps": RATE_KBPS * 1000, "idealtcp_rtt_us": 100_000},
    "libra": {"libra_capacity_kbps": RATE_KBPS},
    "westwoodplus": {"mode": 1},
}
MAY_STAY_ZERO = ("ACKs that packet pairs refused",)
HOOK = """
import json, os, re, subprocess, threading
from orchestrator.testbed.kernel import system

BEGIN_NS = 20_000_333_333  # traffic starts there when set-up takes less (testbed/run.py)
TRACE = "/run/trace"
os.makedirs(TRACE)
system.mount("tracefs", TRACE, "tracefs")


def switch(value):
    for name in NAMES:
        if name != "bbr":
            with open(f"{TRACE}/events/tcp_{name}/cc_ack/enable", "w") as file:
                file.write(value)


def look():
    system.Timer().sleep_until(BEGIN_NS + 5_000_000_000)
    with bed.enter("a_src0"):
        command = ["ss", "-tinOH"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        print("SS " + line)
    switch("1")
    system.Timer().sleep_until(BEGIN_NS + 6_200_000_000)
    switch("0")
    with open(TRACE + "/trace") as file:
        text = file.read()
    traced = {}
    for port, rest in re.findall(r" src=10[.]0[.]0[.]1:(\\d+) dest=10[.0-9]+:[0-9]+ (.*)", text):
        values = dict(word.split("=") for word in rest.split())
        traced.setdefault(int(port), []).append([int(values["bw"]), int(values["rtt_min_us"])])
    for port, values in traced.items():
        print("TRACED " + json.dumps([port, values[-100:]]))


threading.Thread(target=look, daemon=True).start()
"""

IPV6 = """\
base64 -d > /tmp/tcp_tibet.ko << END
MODULE
END
ip link set lo up
mkdir /tmp/trace
mount -t tracefs tracefs /tmp/trace && insmod /tmp/tcp_tibet.ko || exit 1
echo 1 > /tmp/trace/events/tcp_tibet/cc_ack/enable
python3 -c '
import socket
listener = socket.create_server(("::1", 6000), family=socket.AF_INET6)
client = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"tibet")
client.connect(("::1", 6000))
server, _address = listener.accept()
client.sendall(b"x")
server.recv(1)
'
cat /tmp/trace/trace
"""


@dataclass(frozen=True)
class Looked:
    """What was seen of the flows of one run.

    Attributes:
        sockets: the lines of ``ss``.
        traced: (bandwidth in bytes/s, RTTmin in us) at the last ACKs of each sending port.
        stored: the run.
    """

    sockets: list[str]
    traced: dict[int, list[list[int]]]
    stored: StoredRun


@pytest.fixture(scope="module")
def looked(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looked]:
    """One run with a flow of each module."""
    folder = tmp_path_factory.mktemp("diagnostics")
    flows = [
        {
            "name": name,
            "group": "a",
            "congestion": {"name": name, "parameters": PARAMETERS.get(name, {})},
        }
        for name in NAMES
    ]
    hook = folder / "hook.py"
    hook.write_text(f"NAMES = {NAMES}\n{HOOK}", encoding="utf-8")
    changes = (f"flows={json.dumps(flows)}", "duration=12s", "warmup=2s")
    planned = plan(load(QUICKSTART, changes))
    db = folder / "runs.db"
    (run_id,) = run_plan(planned, RunOptions(db, Guest(kernel, hook=hook)), Quiet())
    with Store.open_read_only(db) as store:
        stored = store.load(run_id)
        assert stored.row.status == "ok", stored.row.error
        log = stored.artefact("log")
        traced = map(json.loads, re.findall(r"^TRACED (.*)$", log, re.MULTILINE))
        yield Looked(re.findall(r"^SS (.*)$", log, re.MULTILINE), dict(traced), stored)


@pytest.mark.parametrize("name", NAMES)
def test_ss_shows_no_module_under_the_name_of_another_algorithm(looked: Looked, name: str) -> None:
    (line,) = (line for line in looked.sockets if name in line.split())
    values = re.findall(r"\w+:\(.*?\)", line)  # such as bbr:(bw:...,pacing_gain:...)
    assert [text.split(":")[0] for text in values] == (["bbr"] if name == "bbr" else [])


@pytest.mark.parametrize("name", sorted(catalogue.modules_of("6.12")))
def test_samples_have_every_value_that_a_module_shows(looked: Looked, name: str) -> None:
    shown = catalogue.modules_of("6.12")[name].shown
    stored = looked.stored
    assert stored.flows[stored.flow_index(name)].congestion_fields == shown
    for slot, (meaning, _unit) in enumerate(shown):
        seen = stored.tcp(name, 0, [f"congestion_{slot}"])[f"congestion_{slot}"].any()
        assert seen or meaning in ("unused", *MAY_STAY_ZERO), meaning
        assert not seen or meaning != "unused"


@pytest.mark.parametrize("name", sorted({*catalogue.modules_of("6.12")} - {"fast"}))
def test_the_trace_shows_what_is_sampled(looked: Looked, name: str) -> None:
    # FAST's rate follows from cwnd, which may change between the trace and the sample.
    (line,) = (line for line in looked.sockets if name in line.split())
    port = int(line.split()[3].rpartition(":")[2])
    samples = looked.stored.tcp(name, 0, ["congestion_0", "congestion_1"], (SAMPLED_NS, SAMPLED_NS))
    ((bandwidth, rtt_min),) = zip(*(column.tolist() for column in samples.values()), strict=True)
    assert [bandwidth, rtt_min] in looked.traced[port]


def test_the_trace_shows_addresses_of_ipv6(kernel: GuestKernel) -> None:
    module = ensure_ours(kernel).folder / "tcp_tibet.ko"
    commands = IPV6.replace("MODULE", base64.encodebytes(module.read_bytes()).decode())
    said = run_commands(kernel, commands.encode()).output.decode()
    assert re.search(r"cc_ack: net=\d+ src=\[::1\]:\d+ dest=\[::1\]:6000 cwnd=\d", said), said
