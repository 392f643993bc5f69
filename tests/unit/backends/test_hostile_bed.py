"""A test bed that writes what no test bed does: a failed run with a reason, never more."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports.records import SENDER_STATE_ROW
from results.store.store import Store
from tests.support.hostile_texts import ROOT, assembled, captured_files, captured_plan, play

Facts = list[dict[str, Any]]
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def spec() -> RunSpec:
    (run,) = captured_plan().runs
    return run


def with_facts(change: Callable[[Facts], object]) -> Files:
    """Return the captured files with changed facts."""
    files = captured_files()
    facts: Facts = [json.loads(line) for line in files["facts.jsonl"].splitlines()]
    change(facts)
    files["facts.jsonl"] = "".join(f"{json.dumps(fact)}\n" for fact in facts).encode()
    return files


def one(facts: Facts, name: str) -> dict[str, Any]:
    return next(fact for fact in facts if fact["fact"] == name)


def line(text: str | bytes) -> Files:
    """Return the captured files with a further line of facts.jsonl."""
    files = captured_files()
    files["facts.jsonl"] += (text.encode() if isinstance(text, str) else text) + b"\n"
    return files


def file(name: str, data: bytes) -> Files:
    return {**captured_files(), name: data}


def diag(*attributes: tuple[int, bytes], length: int | None = None, time_ns: int = 0) -> bytes:
    """Return a record of tcp.bin with one message about the first flow's sender."""
    body = bytearray(72)
    body[4:8] = struct.pack(">HH", 25001, 5001)
    for kind, data in attributes:
        body += struct.pack("<HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)
    body += bytes(max(0, 216 - 16 - len(body)))
    length = 16 + len(body) if length is None else length
    message = struct.pack("<IHHII", length, 20, 0, 0, 0) + bytes(body)
    return struct.pack("<qI", time_ns, len(message)) + message


def layouts() -> bytes:
    """Return messages that each have attributes at other places."""
    return b"".join(diag((500, bytes(n)), (501, bytes(160 - n))) for n in range(1, 150))


def test_the_captured_files_are_a_run(spec: RunSpec) -> None:
    assert assembled(spec, captured_files()).verdict == "faithful"
    assert assembled(spec, with_facts(lambda facts: None)).verdict == "faithful"


MALFORMED: dict[str, tuple[Callable[[], Files], str]] = {
    "nested": (lambda: line("[" * 100_000), "nested too deeply"),
    "nested a little": (lambda: line('{"fact":"route","x":' + "[" * 20 + "]" * 20 + "}"),
                        "nested deeper than 12"),
    "not UTF-8": (lambda: line(b'{"fact":"\xff"}'), "can't decode byte 0xff"),
    "no JSON": (
        lambda: line("done"),
        f"line {len(captured_files()['facts.jsonl'].splitlines()) + 1}: Expecting value",
    ),
    "no object": (lambda: line("[1]"), "a JSON object is allowed"),
    "no name": (lambda: line("{}"), "there is no fact None"),
    "a name that is a list": (lambda: line('{"fact":["done"]}'), "there is no fact"),
    "an unknown name": (lambda: line('{"fact":"\\u001b]0;x\\u0007"}'), r"no fact '\\\\x1b"),
    "a key twice": (lambda: line('{"fact":"done","fact":"done"}'), "has a key twice"),
    "not a number": (lambda: line('{"fact":"route","x":NaN}'), "NaN is no number"),
    "infinity": (lambda: line('{"fact":"route","x":1e999}'), "is not finite"),
    "a huge integer": (lambda: line('{"fact":"route","x":' + "9" * 30 + "}"), "more than 64 bits"),
    "a giant integer": (lambda: line('{"fact":"route","x":' + "9" * 9999 + "}"), "limit"),
    "a long key": (lambda: line('{"fact":"route","' + "k" * 400 + '":1}'), "longer than 300"),
    "too many values": (lambda: line("[" + "0," * 3_000_000 + "0]"), "more than 2097152 values"),
    "done twice": (lambda: line('{"fact":"done","origin_ns":0,"duration_ns":1}'), "done twice"),
    "a stranger's flow": (lambda: line('{"fact":"congestion","flow":"x","kernel":"reno"}'),
                          "there is no flow 'x'"),
    "a stranger's probe": (
        lambda: line('{"fact":"round_trip","source":"x","sink":"y","measured_ns":1,'
                     '"frame_bytes":50,"expected_ns":1,"attempts":1,"fill_ns":0}'),
        "no flow goes from 'x' to 'y'",
    ),
    "a measure of text": (
        lambda: with_facts(lambda f: one(f, "round_trip").update(measured_ns="soon")),
        "measured_ns.*valid integer",
    ),
    "a negative measure": (
        lambda: with_facts(lambda f: one(f, "round_trip").update(measured_ns=-1)), "measured_ns",
    ),
    "another expectation": (
        lambda: with_facts(lambda f: one(f, "round_trip").update(expected_ns=7)),
        "this was not requested",
    ),
    "a burst at no rate": (
        lambda: with_facts(lambda f: one(f, "burst").update(rate_bps=0)), "rate_bps",
    ),
    "packets that passed in pairs": (
        lambda: with_facts(lambda f: one(f, "burst").update(passed=[[1, 2]])), "passed",
    ),
    "packets that left at once": (
        lambda: with_facts(lambda f: one(f, "burst").update(passed=[[0, 1, 5, 5]] * 3)),
        "gives inf",
    ),
    "an echo of another length": (
        lambda: with_facts(lambda f: one(f, "round_trip").update(frame_bytes=51)),
        "this was not requested",
    ),
    "a burst of no length": (
        lambda: with_facts(lambda f: one(f, "burst").update(frame_bytes=0)), "frame_bytes",
    ),
    "queues of text": (
        lambda: with_facts(lambda f: one(f, "queues").update(names="all")), "names",
    ),
    "a queue twice": (
        lambda: with_facts(lambda f: one(f, "queues").update(names=[[102, 1048576]] * 30)),
        "each once",
    ),
    "too many queues": (
        lambda: with_facts(lambda f: one(f, "queues").update(names=[[n, 1] for n in range(999)])),
        "up to 40",
    ),
    "no channels": (
        lambda: with_facts(lambda f: one(f, "channels").update(channels={})), "missing or extra",
    ),
    "channels of numbers": (
        lambda: with_facts(lambda f: one(f, "channels").update(channels={"a:forward": 7})),
        "a:forward",
    ),
    "a rate beyond SQLite": (
        lambda: with_facts(
            lambda f: one(f, "channels")["channels"]["bottleneck:forward"]["link"].update(
                rate_bps=2**64 - 1
            )
        ),
        "rate_bps",
    ),
    "a link without a delay": (
        lambda: with_facts(
            lambda f: one(f, "channels")["channels"]["bottleneck:forward"]["link"].pop("delay_ns")
        ),
        "delay_ns",
    ),
    "a link that is no object": (
        lambda: with_facts(
            lambda f: one(f, "channels")["channels"]["bottleneck:forward"].update(link="link")
        ),
        "link",
    ),
    "a burst from before the link's end": (
        lambda: with_facts(lambda f: one(f, "burst").update(behind_ns=-1)), "behind_ns",
    ),
    "no timeline": (
        lambda: with_facts(lambda f: f.remove(one(f, "timeline"))), "did not record timeline",
    ),
    "events of three numbers": (
        lambda: with_facts(lambda f: one(f, "timeline").update(events=[[1, 2, 3]])), "events",
    ),
    "no softnet": (
        lambda: with_facts(lambda f: f.remove(one(f, "softnet"))),
        "did not record softnet at the start",
    ),
    "a kernel without a name": (
        lambda: with_facts(lambda f: one(f, "versions").update(kernel=None)), "kernel",
    ),
    "a message of no length": (lambda: file("tcp.bin", diag(length=0)), "a message of 0 bytes"),
    "a short message": (lambda: file("tcp.bin", diag(length=15)), "a message of 15 bytes"),
    "a long message": (lambda: file("tcp.bin", diag(length=10_000)), "a message of 10000 bytes"),
    "half a message": (
        lambda: file("tcp.bin", struct.pack("<qI", 0, 9) + bytes(9)), "middle of a message",
    ),
    "a giant record": (
        lambda: file("tcp.bin", struct.pack("<qI", 0, 2**32 - 1)), "a record of 4294967295",
    ),
    "attributes beyond the message": (
        lambda: file(
            "tcp.bin", diag((2, bytes(124))).replace(b"\x80\0\x02\0", b"\xff\x03\x02\0")
        ),
        "impossible attributes",
    ),
    "many attributes": (
        lambda: file("tcp.bin", diag(*([(500, b"")] * 65))), "impossible attributes",
    ),
    "a long name": (lambda: file("tcp.bin", diag((4, b"x" * 99))), "name of 99 bytes"),
    "a short attribute": (lambda: file("tcp.bin", diag((16, b"x" * 8))), "attribute 16 of 8"),
    "many layouts": (lambda: file("tcp.bin", layouts()), "more than 128 layouts"),
    "a sample before the run": (
        lambda: file("tcp.bin", diag((2, bytes(232)), time_ns=-1)),
        "time_ns is -1",
    ),
    "a sample behind the run": (
        lambda: file("tcp.bin", diag((2, bytes(232)), time_ns=2**62)),
        f"time_ns is {2**62}",
    ),
    "a queue before the run": (
        lambda: file("queue.bin", struct.pack("<q", -5) + captured_files()["queue.bin"][8:]),
        r"queue\.bin has a row whose time_ns is -5",
    ),
    "the state of a sender of no flow": (
        lambda: file("senders.bin", SENDER_STATE_ROW.pack(0, 1000, *[0] * 7)), "flow is 1000",
    ),
    "the state of a sender behind the run": (
        lambda: file("senders.bin", SENDER_STATE_ROW.pack(2**50, 0, *[0] * 7)), "time_ns is",
    ),
    "half a state of a sender": (
        lambda: file("senders.bin", b"half"), "middle of a row",
    ),
    "datagrams of a TCP flow": (
        lambda: file("datagrams.bin", struct.pack("<14q", 0, 1, *[0] * 12)), "a TCP flow",
    ),
    "datagrams of no flow": (
        lambda: file("datagrams.bin", struct.pack("<14q", 0, 2**40, *[0] * 12)), "a row of flow",
    ),
    "a transfer of no flow": (
        lambda: file("transfers.bin", struct.pack("<4q", 7, 0, 1, 1)), "flow is 7; 0 to 1",
    ),
    "a transfer without bytes": (
        lambda: file("transfers.bin", struct.pack("<4q", 0, 0, 1, -9)), "bytes is -9",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_malformed_output_is_a_failed_run_with_a_reason(spec: RunSpec, kind: str) -> None:
    make, said = MALFORMED[kind]
    began = time.monotonic()
    with pytest.raises(BedError, match=said) as refused:
        assembled(spec, make())
    assert time.monotonic() - began < 5
    assert len(str(refused.value)) < 1200
    assert str(refused.value).isprintable()


def test_text_of_a_guest_is_stored_clean(spec: RunSpec) -> None:
    def rename(facts: Facts) -> None:
        one(facts, "versions")["kernel"] = "6.12\x1b[2J\ud800\u202e\x00"

    files = with_facts(rename)
    files["bed.log"] = b"\x1b]0;title\x07 said\n"
    recording = assembled(spec, files)
    assert recording.kernel == "6.12\\x1b[2J\\ud800\\u202e\\x00"
    assert recording.log == "\\x1b]0;title\\x07 said\n"
    assert recording.provenance["versions"]["kernel"] == recording.kernel


FINE = ("", "")
SPOIL = "open('facts.jsonl', 'a').write({!r})"
ACTS: dict[str, tuple[tuple[str, str], str]] = {
    **{
        f"FIFO {name}": ((f"os.mkfifo({name!r})", ""), f"{name} is a FIFO")
        for name in ("tcp.bin", "queue.bin", "facts.jsonl", "progress", "bed.log", "failure")
    },
    "endless progress": (("os.symlink('/dev/zero', 'progress')", ""), "progress is a symbolic"),
    "a private log": (("os.symlink('/etc/hostname', 'bed.log')", ""), "bed.log is a symbolic"),
    "a sparse giant": (
        ("open('tcp.bin', 'wb').truncate(1 << 42)", ""), "tcp.bin has 4398046511104 bytes",
    ),
    "a folder without rights": (
        ("os.makedirs('a/b/c'); os.chmod('a/b', 0); os.chmod('a', 0)", ""), "a is a folder",
    ),
    "a folder that nobody may enter": (("", "os.chmod('.', 0)"), ""),
    "many files": (
        ("for n in range(1100): open(str(n), 'w').close()", ""), "more than 1000 files",
    ),
    "a long console": (
        ("sys.stdout.write('x' * (17 << 20)); sys.stdout.flush()", ""), "exceeds 16 MiB",
    ),
    "a made-up phase": (
        ("", "open('progress', 'w').write('\\x1b[2J 0'); time.sleep(0.5)"), "malformed output",
    ),
    "nested facts": (("", SPOIL.format("[" * 99_999 + "\n")), "nested too deeply"),
}  # fmt: skip

WATCHDOG_S = 3.0
"""Longer than a fake bed takes to start on a busy machine."""

STALLS: dict[str, tuple[tuple[str, str], str]] = {
    "done without an end": (("", "time.sleep(60)"), "no progress for 3.4 s, in phase done"),
    "a bed that writes its log forever": (
        ("", "open('progress', 'w').write('traffic 1')\n"
             "while True: open('bed.log', 'a').write('x'); time.sleep(0.05)"),
        "no progress for 3.4 s",
    ),
}  # fmt: skip


@pytest.mark.slow
def test_a_sweep_of_hostile_beds_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    acts = [FINE, *(act for act, _said in ACTS.values()), FINE]
    began = time.monotonic()
    runs = play(tmp_path, monkeypatch, acts)
    assert time.monotonic() - began < 40
    assert [run["status"] for run in (runs[0], runs[-1])] == ["ok", "ok"]
    assert runs[0]["digest"] == runs[-1]["digest"]
    for (kind, (_act, said)), run in zip(ACTS.items(), runs[1:-1], strict=True):
        if kind == "a folder that nobody may enter" and os.geteuid() == 0:
            continue  # root may
        assert run["status"] == "failed", kind
        assert said in run["error"], kind
        assert "unexpected" not in run["error"]
        assert "\x1b" not in run["error"]
    with Store.open_read_only(tmp_path / "runs.db") as store:
        log = store.load(runs[1 + list(ACTS).index("a private log")]["id"]).artefact("log")
    assert Path("/etc/hostname").read_text(encoding="utf-8").strip() not in log
    assert not list((tmp_path / "tmp").iterdir())
    assert (tmp_path / "runs.db").stat().st_size < 5 * 2**20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20  # KiB


@pytest.mark.long
@pytest.mark.slow
def test_beds_without_progress_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acts = [FINE, *(act for act, _said in STALLS.values()), FINE]
    runs = play(tmp_path, monkeypatch, acts, watchdog_s=WATCHDOG_S)
    assert [run["status"] for run in runs] == ["ok", "failed", "failed", "ok"]
    for (kind, (_act, said)), run in zip(STALLS.items(), runs[1:-1], strict=True):
        assert said in run["error"], kind


@pytest.mark.slow
def test_three_runs_with_a_malformed_one_give_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoilt = ("", SPOIL.format('{"fact":"route","x":' + "9" * 40 + "}\n"))
    runs = play(tmp_path, monkeypatch, [FINE, spoilt, FINE])
    assert [run["status"] for run in runs] == ["ok", "failed", "ok"]
    assert "an integer has more than 64 bits" in runs[1]["error"]


@pytest.mark.slow
def test_values_that_the_store_refuses_are_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Store.finish
    wrong: list[Any] = [2**70, "\ud800", object()]

    def spoil(store: Store, run_id: str, recording: Any, *rest: Any) -> None:
        if store.load(run_id).row.repetition < len(wrong):
            recording.kernel = wrong[store.load(run_id).row.repetition]
        finish(store, run_id, recording, *rest)

    monkeypatch.setattr(Store, "finish", spoil)
    runs = play(tmp_path, monkeypatch, [FINE] * 4)
    assert [run["status"] for run in runs] == ["failed", "failed", "failed", "ok"]
    assert all("malformed output" in run["error"] for run in runs[:3])


@pytest.mark.slow
def test_a_run_has_a_time_that_its_user_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    creeps = """
for n in range(10**6):
    open('progress', 'w').write(f'traffic {n * 2000000}')
    time.sleep(0.05)
"""
    (run,) = play(tmp_path, monkeypatch, [("", creeps)], timeout_s=1.5)
    assert run["status"] == "failed"
    assert "the guest took longer than 1500ms of wall time" in run["error"]
    assert "--timeout" in run["error"]


ENDLESS = """
row = bytes.fromhex(%r)
end = time.monotonic() + 60
while time.monotonic() < end:
    with open('tcp.bin', 'ab') as file:
        if file.tell() < 60 << 20:
            file.write(row * 20_000)
    with open('progress', 'w') as file:
        file.write('boot 0')
"""

SWEEP = """
import sys
from pathlib import Path
import pytest
from tests.support.hostile_texts import play
with pytest.MonkeyPatch.context() as patch:
    try:
        play(Path(sys.argv[1]), patch, [(sys.argv[2], "")])
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.slow
def test_the_first_signal_ends_a_run_whose_output_is_hostile(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SWEEP, str(tmp_path), ENDLESS % diag((2, bytes(124))).hex()]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(words, cwd=ROOT, env=environment) as process:
        while not list(temporary.rglob("tcp.bin")):
            assert process.poll() is None, "it ended before the bed reported anything"
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        assert process.wait(20) == 130
        assert time.monotonic() - sent < 5
    with Store.open_read_only(tmp_path / "runs.db") as opened:
        assert [row.status for row in opened.list_runs()] == ["interrupted"]
    assert not list(temporary.iterdir())


def test_a_real_machine_may_send_more_bursts_than_asked_for(spec: RunSpec) -> None:
    files = with_facts(lambda facts: one(facts, "burst").update(rounds=9))
    assert assembled(spec, files).verdict == "faithful"
