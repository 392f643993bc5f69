"""Users' programs in the guest: their traffic, how they end, and what they cannot do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from guest.build import GuestKernel
from results.store.store import Store
from tests.guest.hostile_program import acts
from tests.support.guest_programs import runs, scenario

pytestmark = pytest.mark.guest

SIZE = 2_000_000
WEB = "server: [python3, -m, http.server, '8000'], ready: {port: 8000}, files: www"
FETCH = f"client: [curl, -sSf, -o, out, 'http://server:8000/file'], {WEB}"


def test_curl_takes_as_long_as_a_transfer_and_gives_equal_bits(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(bytes(range(256)) * (SIZE // 256) + bytes(SIZE % 256))
    fetched = runs(kernel, tmp_path, scenario("5s", page=f"kind: program, {FETCH}"), times=3)
    assert len({run["digest"] for run in fetched}) == 1
    assert {run["fidelity"]["verdict"] for run in fetched} == {"faithful"}
    page = fetched[0]["flows"][0]
    assert (page["outcome"], page["exit_status"], page["connections"]) == ("ended", 0, 1)
    assert page["congestion_control"] == "reno"
    assert [one["role"] for one in fetched[0]["programs"]] == ["server", "client"]
    assert "GET /file" in fetched[0]["programs"][0]["stderr"]

    (alone,) = runs(
        kernel, tmp_path, scenario("5s", page=f"kind: transfers, size: {SIZE}B, number: 1")
    )
    # The receiver asks first, which takes the request's way of 20 ms.
    transfer_s = alone["flows"][0]["fct_mean_s"] + 0.02
    assert page["completion_time_s"] == pytest.approx(transfer_s, rel=0.01)


def test_how_programs_end_is_a_result_of_the_run(kernel: GuestKernel, tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "own.sh").write_text("#!/bin/sh\nexec sleep 100\n")
    web = f"kind: program, {WEB}"
    text = scenario(
        "6s",
        missing=f"{web}, client: [curl, -sSf, 'http://server:8000/none']",
        signal="kind: program, client: [sh, -c, 'kill -11 $$']",
        late=f"{web}, client: [./own.sh], timeout: 2s",
        going=f"{web}, client: [sleep, '100']",
        never="kind: program, server: [sleep, '100'], client: ['true'], ready: {port: 8000}, "
        "timeout: 2s",
        dead="kind: program, server: ['false'], client: ['true'], ready: {port: 8000}",
        endless="kind: program, client: ['yes']",
        polling="kind: program, server: [iperf3, -s, '-1'], ready: {port: 5201}, sender: client, "
        "client: [iperf3, -c, server, -t, '1']",
    )
    (run,) = runs(kernel, tmp_path, text)
    ends = {flow["name"]: (flow["outcome"], flow["exit_status"]) for flow in run["flows"]}
    assert ends == {
        "missing": ("exit_status", 22),
        "signal": ("signal", None),
        "late": ("out_of_time", None),
        "going": ("stopped", None),
        "never": ("not_ready", None),
        "dead": ("not_ready", None),
        "endless": ("output", None),
        "polling": ("ended", 0),
    }
    ended_s = {flow["name"]: flow["ended_s"] for flow in run["flows"]}
    assert ended_s["late"] == pytest.approx(3.0, abs=1e-3)
    assert ended_s["going"] == pytest.approx(6.0, abs=1e-3)
    assert run["fidelity"]["verdict"] == "faithful"
    by_name = {flow["name"]: flow for flow in run["flows"]}
    assert by_name["missing"]["connections"] == 1  # it was shorter than a sample
    assert by_name["polling"]["goodput_bps"] > 1e6  # the client sends, by the flow's direction


def test_numbers_of_the_output_are_metrics_and_in_the_digest(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    printing = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo took 2 ms >&2"
    extract = (
        "extract: {count: {pattern: '^(line)', take: count}, "
        "most: {pattern: 'line ([0-9]+)', unit: p, take: max}, "
        "middle: '^line (?P<kB>10000)$', "
        "took: {pattern: 'took (?P<ms>.) ms', stream: stderr}, "
        "none: 'nothing (?P<mbit>[0-9]+)'}"
    )
    flows = {
        "prints": f'kind: program, client: [sh, -c, "{printing}"], {extract}',
        "never": "kind: program, server: ['false'], client: ['true'], ready: {port: 8000}, "
        "extract: {took: '(?P<s>1)'}",
        "late": "kind: program, client: [sh, -c, 'echo 7; sleep 9'], timeout: 500ms, "
        "extract: {seven: '(?P<s>7)'}",
        "going": "kind: program, client: [sh, -c, 'echo 8; sleep 9'], extract: {eight: '(?P<s>8)'}",
    }
    one, two = runs(kernel, tmp_path, scenario("3s", **flows), times=2)
    assert one["digest"] == two["digest"]
    assert one["fidelity"]["verdict"] == "faithful"
    assert len(one["programs"][0]["stdout"]) < 20_000  # the middle of it is not kept
    values = {
        (flow["name"], name.removeprefix("program_")): value
        for flow in one["flows"]
        for name, value in flow.items()
        if name.startswith("program_")
    }
    assert values == {
        ("prints", "count"): 20_000, ("prints", "most_packets"): 19_999,
        ("prints", "middle_bytes"): 10_000_000, ("prints", "took_s"): 0.002,
        ("prints", "none_bps"): None, ("never", "took_s"): None, ("late", "seven_s"): 7.0,
        ("going", "eight_s"): 8.0,
    }  # fmt: skip
    found = {(each["flow"], each["metric"]): each["matches"] for each in one["extracted"]}
    assert found["prints", "program_most_packets"] == 20_000
    assert found["prints", "program_none_bps"] == found["never", "program_took_s"] == 0

    other = scenario("3s", **(flows | {"late": flows["late"].replace("echo 7", "echo 7 7")}))
    (changed,) = runs(kernel, tmp_path, other)
    assert changed["digest"] != one["digest"]  # by the number of matches alone


SEND_BURSTS = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("server", 9000))
sender.setsockopt(17, 103, 1200)  # SOL_UDP, UDP_SEGMENT
for _burst in range(50):
    sender.send(bytes(12000))
    time.sleep(0.01)
time.sleep(1)
sender.send(b"over")
print("arrived", sender.recv(99).decode())
"""
COUNT_DATAGRAMS = """
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", 9000))
datagrams = 0
while True:
    data, sender = receiver.recvfrom(65535)
    if data == b"over":
        receiver.sendto(str(datagrams).encode(), sender)
    datagrams += 1
"""


SHARED_HOSTS = """\
version: 1
name: programs
duration: 5s
start_jitter: 0ms
topology:
  kind: dumbbell
  bottleneck: {rate: 6mbit, delay: 10ms, queue: {limit: 20p}}
  groups: [{name: ends, hosts: 1, rtt: 40ms}]
flows:
  - {name: beside, group: ends, start: 1s, traffic: {kind: cbr, rate: 1mbit}}
"""
IPERF3 = """\
  - name: {name}
    group: ends
    congestion: reno
    start: 1s
    traffic:
      kind: program
      server: [iperf3, -s, "-1", -p, "{port}"]
      ready: {{port: {port}}}
      sender: client
      client: [sh, -c, "iperf3 -c server -p {port} -u -t 2 -J {options} > report"]
      keep: [report]
"""


def test_datagrams_of_programs_at_the_same_hosts_are_counted_as_iperf3_counts_them(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    """Before the test, iperf3 sends four bytes and its server answers with four.

    It counts as lost what is missing up to the last datagram that it has received.
    """
    text = SHARED_HOSTS + "".join(
        IPERF3.format(name=name, port=port, options=options)
        for name, port, options in (("whole", 5201, "-b 4M"), ("cut", 5202, "-b 3M -l 3000"))
    )
    (run,) = runs(kernel, tmp_path, text)
    beside, *flows = run["flows"]
    assert run["fidelity"]["verdict"] == "faithful"
    assert beside["received_packets"] > 100
    assert beside["udp_sent_packets"] is None
    with Store.open_read_only(tmp_path / "runs.db") as store:
        stored = store.load(run["id"])
        reports = [json.loads(stored.kept_content(file))["end"] for file in stored.kept_files]
    for flow, report in zip(flows, reports, strict=True):
        sent, came = report["sum_sent"]["packets"], report["sum_received"]
        received = came["packets"] - came["lost_packets"]
        assert flow["udp_sent_packets"] == sent + 1
        assert flow["udp_sent_bytes"] == report["sum_sent"]["bytes"] + 4
        assert flow["udp_received_packets"] == received + 1 < sent
        assert flow["udp_received_bytes"] == came["bytes"] + 4
        assert flow["udp_goodput_bps"] == pytest.approx((came["bytes"] + 4) * 8 / 5)
        assert flow["udp_loss_ratio"] == pytest.approx(1 - (received + 1) / (sent + 1))
        assert flow["udp_reverse_sent_packets"] == flow["udp_reverse_received_packets"] == 1
        assert flow["udp_reverse_sent_bytes"] == flow["udp_reverse_received_bytes"] == 4
        assert flow["udp_reverse_loss_ratio"] == 0


@pytest.mark.long
def test_datagrams_that_a_program_sends_together_are_packets_of_their_own(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    """QUIC programs hand many datagrams to the kernel at once (UDP_SEGMENT)."""
    (tmp_path / "udp").mkdir()
    (tmp_path / "udp" / "send.py").write_text(SEND_BURSTS)
    (tmp_path / "udp" / "count.py").write_text(COUNT_DATAGRAMS)
    traffic = (
        "kind: program, files: udp, server: [python3, /run/files/count.py], "
        "client: [python3, /run/files/send.py], "
        "ready: {port: 9000, transport: udp}, sender: client, extract: {n: 'arrived (?P<p>[0-9]+)'}"
    )
    (run,) = runs(kernel, tmp_path, scenario("5s", bursts=traffic))
    assert run["fidelity"]["verdict"] == "faithful"
    (flow,) = run["flows"]
    assert flow["program_n_packets"] == 500
    # Before the answer comes the datagram that asks for it.
    assert (flow["udp_sent_packets"], flow["udp_sent_bytes"]) == (501, 500 * 1200 + len("over"))
    assert flow["udp_received_packets"] == 501
    assert flow["udp_received_bytes"] == flow["udp_sent_bytes"]
    assert (flow["udp_reverse_sent_bytes"], flow["udp_reverse_received_bytes"]) == (3, 3)


@pytest.mark.long
def test_a_pattern_that_takes_for_ever_fails_its_run_alone(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    extract = "extract: {x: {pattern: '^((?:a+)+)$', unit: s}}"
    (run,) = runs(
        kernel,
        tmp_path,
        scenario("2s", evil=f"kind: program, client: [echo, '{'a' * 60}!'], {extract}"),
    )
    assert run["status"] == "failed"
    assert "made no progress" in run["error"]
    assert "A pattern of `extract` may backtrack for ever" in run["error"]


def test_a_program_that_cannot_be_started_fails_the_run(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "text").write_text("no program\n")
    text = scenario("2s", text="kind: program, client: [./text], files: www")
    (run,) = runs(kernel, tmp_path, text)
    assert run["status"] == "failed"
    assert "could not be started: /run/files/./text: Exec format error" in run["error"]


ACTS = {
    "root": "id -u | grep -qx 0",
    "write the root": "echo x > /x",
    "write the machine's accounts": "echo x >> /etc/passwd",
    "write its files": "echo x > $FILES/file",
    "see the bed": "ls /run/bed || ls /bed/in || ls /bed/out",
    "see homes": "ls -A /root /home /var | grep -v ':' | grep -q .",
    "read secrets": "cat /etc/shadow",
    "see other processes": "test $(ls -d /proc/[0-9]* | wc -l) -gt 12",
    "kill the first process": "kill -9 1",
    "become root in a namespace": "unshare -r true",
    "mount": "mount -t tmpfs none /tmp",
    "a raw socket": "python3 -c 'import socket; socket.socket(2, 3, 1)'",
    "change the network": "ip link set eth0 down",
    "set sysctls": "echo 1 > /proc/sys/net/ipv4/ip_forward",
    "run with real-time priority 50": "chrt -f 50 true",
    "fill the memory of its folder": "head -c 1G /dev/zero > /tmp/large",
    "open too many files": "python3 -c 'import os; [os.dup(0) for _ in range(5000)]'",
    "start too many processes": "python3 -c 'import os, time\nfor n in range(200):\n"
    "  if not os.fork(): time.sleep(9)'",
    **{
        what: f"python3 -c 'import ctypes; c = ctypes.CDLL(None); exit(c.{call} != 0)'"
        for what, call in {
            "load a module": 'syscall(313, 0, b"", 0)',
            "power off": "reboot(0x4321FEDC)",
            "trace the bed": "ptrace(16, 1, 0, 0)",
        }.items()
    },
    "read the kernel's memory": "head -c 1 /dev/mem || head -c 1 /dev/kmem || cat /proc/kcore",
    "read the kernel's log": "head -c 9000 /dev/kmsg",
}
"""What a hostile program tries, as shell commands that succeed where it can do it."""


def test_a_hundred_acts_of_a_hostile_program_are_refused(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    assert len(acts.acts()) >= 100
    shutil.copytree(
        Path(acts.__file__).parent, tmp_path / "acts", ignore=shutil.ignore_patterns("__pycache__")
    )
    text = scenario(
        "5s", hostile="kind: program, client: [python3, /run/files/acts.py], files: acts"
    )
    (run,) = runs(kernel, tmp_path, text)
    (program,) = run["programs"]
    assert program["stdout"].splitlines() == [f"tried {len(acts.acts())}"], f"{program}"
    assert run["fidelity"]["verdict"] == "faithful"


def test_a_hostile_program_can_do_nothing_of_this(kernel: GuestKernel, tmp_path: Path) -> None:
    (tmp_path / "acts").mkdir()
    (tmp_path / "acts" / "file").write_text("read only\n")
    lines = []
    for number, act in enumerate(ACTS.values()):
        (tmp_path / "acts" / f"act{number}").write_text(f"{act}\n")
        lines.append(f"sh $FILES/act{number} < /dev/null > /dev/null 2>&1 && echo {number}")
    (tmp_path / "acts" / "all.sh").write_text("#!/bin/sh\n" + "\n".join(lines) + "\necho over\n")
    text = scenario("5s", hostile="kind: program, client: [./all.sh], files: acts")
    (run,) = runs(kernel, tmp_path, text)
    (program,) = run["programs"]
    *done, last = program["stdout"].split()
    assert last == "over", program
    assert [list(ACTS)[int(number)] for number in done] == []
    assert run["fidelity"]["verdict"] == "faithful"
