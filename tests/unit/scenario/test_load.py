"""Loading a scenario: the quickstart's values, and every fault at its line and column."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds.congestion import MAINLINE, known
from orchestrator.scenario import load
from orchestrator.scenario.repetitions import ONCE
from topologies.dumbbell import Dumbbell

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
Edit = tuple[str, str]


def faults(tmp_path: Path, *edits: Edit) -> list[Fault]:
    """Return the faults of the quickstart after replacing first occurrences of texts."""
    text = QUICKSTART.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / "edited.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as refused:
        load(file)
    assert all(fault.file == str(file) for fault in refused.value.faults)
    return refused.value.faults


def test_the_quickstart_has_its_values() -> None:
    loaded = load(QUICKSTART)
    scenario = loaded.scenario
    assert loaded.text == QUICKSTART.read_text()
    assert loaded.sha256 == hashlib.sha256(QUICKSTART.read_bytes()).hexdigest()
    assert (scenario.version, scenario.name, scenario.seed) == (1, "quickstart", 1)
    assert (scenario.duration, scenario.warmup, scenario.start_jitter) == (60.0, 10.0, 0.01)
    assert (scenario.sample.tcp, scenario.sample.queue) == (0.1, 0.1)
    assert [flow.congestion.name for flow in scenario.flows] == ["westwood", "reno"]
    assert [flow.start for flow in scenario.flows] == [0.0, 0.1]
    topology = scenario.topology
    assert isinstance(topology, Dumbbell)
    assert topology.bottleneck.rate is not None
    assert topology.bottleneck.rate.forward == 10_000_000
    assert str(topology.bottleneck.queue.reverse.limit) == "100p"
    delays = [group.access.delay for group in topology.groups if group.access is not None]
    assert [delay and delay.forward.to for delay in delays] == [0.02, 0.02]


def test_locate_gives_line_and_column_of_a_key() -> None:
    loaded = load(QUICKSTART)
    assert loaded.locate(("topology", "bottleneck", "queue", "limit")) == (10, 74)
    assert loaded.locate(("flows", 1, "group")) == (16, 25)
    assert loaded.locate(("flows", 1, "stop")) == (16, 5)


def test_a_minimal_scenario_has_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "least.yaml"
    file.write_text(
        "version: 1\nname: least\nduration: 1s\n"
        "topology:\n  kind: dumbbell\n  bottleneck: {rate: 10mbit, delay: 10ms}\n"
        "  groups: [{name: a, access: {delay: 1ms}}]\n"
        "flows: [{name: f, group: a}]\n"
    )
    scenario = load(file).scenario
    flow = scenario.flows[0]
    assert (scenario.seed, scenario.warmup, scenario.start_jitter) == (1, 0.0, 0.0)
    assert (scenario.description, scenario.measure) == ("", [])
    assert scenario.repetitions == ONCE
    assert (scenario.sample.tcp, scenario.sample.queue) == (0.1, 0.1)
    assert (flow.congestion.name, flow.congestion.parameters) == ("cubic", {})
    assert (flow.traffic.kind, flow.start, flow.stop, flow.count) == ("bulk", 0.0, None, 1)
    assert flow.traffic.demand().engine == "builtin"
    assert isinstance(scenario.topology, Dumbbell)
    assert str(scenario.topology.bottleneck.queue.forward.limit) == "1bdp"
    assert scenario.topology.bottleneck.loss.forward.mean == 0.0
    access = scenario.topology.groups[0].access
    assert access is not None
    assert access.rate is None


ONE_FAULT: list[tuple[Edit, int, int, str]] = [
    # units
    (("rate: 10mbit", "rate: 10ms"), 10, 22, "`ms` is a unit of time, not of rate"),
    (("rate: 10mbit", "rate: 10"), 10, 22, "a rate needs a unit"),
    (("rate: 10mbit", "rate: 10mbps"), 10, 22, "tc reads `mbps` as bytes per second"),
    (("rate: 10mbit", "rate: -10mbit"), 10, 22, "above zero"),
    (("rate: 10mbit", "rate: 0mbit"), 10, 22, "above zero"),
    (("rate: 10mbit", "rate: 200gbit"), 10, 22, "100gbit at most"),
    (("delay: 10ms", "delay: -10ms"), 10, 37, "a time must not be negative"),
    (("delay: 10ms", "delay: 11min"), 10, 37, "a delay may be 600s at most"),
    (("delay: 10ms", "delay: 10"), 10, 37, "a time needs a unit"),
    (("limit: 100p", "limit: 100"), 10, 74, "a queue limit needs a unit"),
    (("limit: 100p", "limit: 10mbit"), 10, 74, "a unit of rate, not of queue limit"),
    # times
    (("duration: 60s", "duration: 0s"), 5, 11, "must be above zero"),
    (("duration: 60s", "duration: 60"), 5, 11, "a time needs a unit"),
    (("duration: 60s", "duration: .nan"), 5, 11, "a time needs a unit"),
    (("duration: 60s", "duration: 1e400"), 5, 11, "a time needs a unit"),
    (("duration: 60s", "duration: 1e400s"), 5, 11, "720h (30 days) at most"),
    (("duration: 60s", "duration:"), 5, 1, "a time is missing"),
    (("warmup: 10s", "warmup: 60s"), 6, 9, "warmup must be shorter than the duration of 60s"),
    (("start_jitter: 10ms", "start_jitter: 2min"), 7, 15, "start_jitter must be shorter"),
    (("start: 100ms", "start: 60s"), 16, 76, "must be before the flow's end (60s)"),
    (("start: 100ms", "start: 59.99s"), 16, 76, "plus start_jitter (10ms) must be before"),
    (("start: 100ms", "start: 5s, stop: 5s"), 16, 76, "must be before the flow's end (5s)"),
    (("start: 100ms", "stop: 5ms"), 16, 75, "the start (0s) plus start_jitter (10ms)"),
    (("start: 100ms", "stop: 61s"), 16, 75, "a flow must stop by the duration of 60s"),
    (("start: 100ms", "stop: 0s"), 16, 75, "must be above zero"),
    (("sample: {tcp: 100ms", "sample: {tcp: 999us"), 17, 15, "at least 1ms"),
    (("sample: {tcp: 100ms", "sample: {tcp: 61s"), 17, 15, "longer than the duration of 60s"),
    (("sample: {tcp: 100ms", "sample: {counters: 61s"), 17, 20, "longer than the duration of 60s"),
    (("sample: {tcp: 100ms", "sample: {counters: 999us"), 17, 20, "at least 1ms"),
    # keys
    (("warmup:", "warmpu:"), 6, 1, "unknown key `warmpu` (did you mean `warmup`?); valid keys: v"),
    (("rate: 10mbit,", "rate: 10mbit, dealy: 1ms,"), 10, 30, "(did you mean `delay`?)"),
    (("hosts: 1,", "hosts: 1, color: red,"), 12, 27, "valid keys: name, hosts, access"),
    (
        ("{tcp: 100ms,", "{udp: 1s, tcp: 100ms,"),
        17,
        10,
        "unknown key `udp`; valid keys: tcp, queue",
    ),
    (("traffic: {kind: bulk}", "traffic: {byte: 1MB}"), 15, 64, "(did you mean `bytes`?)"),
    (("{kind: droptail,", "{kind: droptail, ecn: 1,"), 10, 67, "valid keys: kind, limit"),
    (("seed: 1", "seed: 1\nseed: 2"), 5, 1, "key `seed` is given twice; first at line 4, column 1"),
    (("rate: 10mbit,", "rate: 10mbit, rate: 1mbit,"), 10, 30, "first at line 10, column 16"),
    (("version: 1\n", ""), 1, 1, "`version` is missing"),
    (("rate: 10mbit, ", ""), 10, 15, "`rate` is missing"),
    (("limit: 100p", ""), 10, 50, "`limit` is missing"),
    (("name: a, ", ""), 12, 7, "`name` is missing"),
    (("group: b, ", ""), 16, 5, "`group` is missing"),
    # kinds
    (("kind: dumbbell", "kind: dumbell"), 9, 9, "unknown topology kind `dumbell` (did you mean"),
    (("  kind: dumbbell\n", ""), 9, 3, "`kind` is missing; valid: custom, dumbbell, "),
    (("kind: droptail", "kind: blue"), 10, 57, "unknown queue kind `blue`; valid: ared, cake"),
    (("kind: droptail", "kind: [a]"), 10, 57, "unknown queue kind a list; valid: ared, cake"),
    (("traffic: {kind: bulk}", "traffic: {kind: wap}"), 15, 70, "unknown traffic kind `wap`"),
    (("traffic: {kind: bulk}", "traffic: bulk"), 15, 63, "must be a traffic with a `kind` (bulk, "),
    (("{kind: bulk}", "{engine: iperf}"), 15, 72, "(did you mean `iperf3`?); valid: builtin, ip"),
    (("{kind: bulk}", "{bytes: 3kb}"), 15, 71, "write `kB` for 1000 bytes"),
    (("limit: 100p", "limit: 0.1BDP"), 10, 74, "(did you mean `0.1bdp`?)"),
    # words of other tools
    (("delay: 10ms,", "delay: 10ms, plr: 1%,"), 10, 43, "key `plr` (did you mean `loss`?)"),
    (("queue: {kind: droptail, limit: 100p}", "buffer: 9p"), 10, 43, "mean `queue.limit`?"),
    (("congestion: reno", "cca: reno"), 16, 28, "key `cca` (did you mean `congestion`?)"),
    (("start: 100ms", "duration: 9s"), 16, 69, "key `duration` (did you mean `stop`?)"),
    (("start: 100ms", "number: 2"), 16, 69, "key `number` (did you mean `count`?)"),
    (("seed: 1", "runs: 5"), 4, 1, "key `runs` (did you mean `repetitions`?)"),
    (("kind: droptail", "kind: fifo"), 10, 57, "kind `fifo` (did you mean `droptail`?)"),
    (("kind: droptail", "kind: FQ-CoDel"), 10, 57, "kind `FQ-CoDel` (did you mean `fq_codel`?)"),
    (("{kind: bulk}", "{kind: rate}"), 15, 70, "kind `rate` (did you mean `cbr`?)"),
    (("{kind: bulk}", "bulk"), 15, 63, "not `bulk`: write `{kind: bulk}`"),
    (
        ("queue: {kind: droptail, limit: 100p}", "queue: 100p"),
        10,
        50,
        "not `100p`, such as `{kind: droptail, limit: 100p}`",
    ),
    (
        ("seed: 1", "events: [{at: 1s, kind: rate}]"),
        4,
        25,
        "kind `rate`; valid: link, reroute, such as `{at: 5s, link: bottleneck, rate: 5mbit}`",
    ),
    (("rate: 10mbit", "rate: 10mbit, stop: 30s"), 10, 30, "mean `flows.westwood.stop` or"),
    (("hosts: 1", "hosts: 1, bandwidth: 1gbit"), 12, 27, "(did you mean `access.rate`?)"),
    (("congestion: reno", "congestion: {name: vegas, alpha: 2}"), 16, 54, "`parameters.alpha`?"),
    (("congestion: reno", "congestion: [bbr]"), 16, 40, "for several values use `matrix`"),
    (("rate: 10mbit", "rate: [10mbit]"), 10, 22, "a list is not a rate: write a number"),
    # references and names
    (("group: b", "group: c"), 16, 25, "there is no group `c`; defined: a, b"),
    (
        ("group: b", "group: bb"),
        16,
        25,
        "there is no group `bb` (did you mean `b`?); defined: a, b",
    ),
    (("name: reno", "name: westwood"), 16, 12, "flow `westwood` is given twice; first at line 15"),
    (("name: westwood", "name: 1st"), 15, 12, "`1st` is not a valid name"),
    (("name: westwood", "name: a.b"), 15, 12, "`a.b` is not a valid name"),
    (("name: westwood", f"name: {'x' * 41}"), 15, 12, "40 characters at most"),
    (("name: westwood", "name: 7"), 15, 12, "must be text (put it in quotes), not `7`"),
    (("name: quickstart", "name: ../x"), 2, 7, "`../x` is not a valid name"),
    (("congestion: reno", "congestion: renno"), 16, 40, "control `renno` (did you mean `reno`?)"),
    (("congestion: reno", "congestion: BBR"), 16, 40, "control `BBR` (did you mean `bbr`?)"),
    (("congestion: reno", "congestion: TCP-Cubic"), 16, 40, "(did you mean `cubic`?)"),
    (("congestion: reno", "congestion: westwood+"), 16, 40, "(did you mean `westwoodplus`?)"),
    (("congestion: reno", "congestion: BBRv3"), 16, 40, "only version 1 of BBR, which is `bbr`"),
    (("congestion: reno", "congestion: {name: bbr3}"), 16, 47, f"valid: {', '.join(known())}"),
    (("congestion: reno", "congestion: {}"), 16, 40, "`name` is missing"),
    (("congestion: reno", "congestion: [reno]"), 16, 40, "name, parameters), not a list"),
    (
        ("congestion: reno", "congestion: {name: reno, parameters: {alpha: 2}}"),
        16,
        73,
        "`reno` takes no parameters: remove `alpha`",
    ),
    # types and bounds
    (("version: 1", "version: 2"), 1, 10, "`2` is not valid; valid: 1"),
    (("version: 1", "version: true"), 1, 10, "must be a whole number, not `true`"),
    (("version: 1", "version: 1.0"), 1, 10, "must be a whole number, not `1.0`"),
    (("seed: 1", "seed: -1"), 4, 7, "must be at least 0, not `-1`"),
    (("seed: 1", "seed: 9223372036854775808"), 4, 7, "must be at most 9223372036854775807"),
    (("seed: 1", f"seed: {'9' * 5000}"), 4, 7, "40 digits at most"),
    (("seed: 1", "seed: 1.0"), 4, 7, "must be a whole number, not `1.0`"),
    (("seed: 1", "seed: true"), 4, 7, "must be a whole number, not `true`"),
    (("seed: 1", "seed: '1'"), 4, 7, "must be a whole number, not `1`"),
    (("hosts: 1", "hosts: 0"), 12, 24, "must be at least 1, not `0`"),
    (("hosts: 1", "hosts: two"), 12, 24, "must be a whole number, not `two`"),
    (("hosts: 1", "hosts: 1000000000"), 12, 24, "must be at most 1000"),
    (("start: 100ms", "count: 0"), 16, 76, "must be at least 1"),
    (("start: 100ms", "direction: back"), 16, 80, "valid: forward, reverse"),
    (("start: 100ms", "direction: revers"), 16, 80, "(did you mean `reverse`?)"),
    (("seed: 1", "seed: 1\nrepetitions: 0"), 5, 14, "must be a whole number from 1"),
    (
        ("sample: {tcp: 100ms, queue: 100ms}", "sample: 100ms"),
        17,
        9,
        "(keys: tcp, queue, counters), not `100ms`",
    ),
    (
        ("description: W", "description: [W]  # "),
        3,
        14,
        "must be text (put it in quotes), not a list",
    ),
    # directions and losses
    (("rate: 10mbit", "rate: {forward: 10mbit}"), 10, 22, "`reverse` is missing"),
    (
        ("delay: 10ms", "delay: 10ms, loss: {forward: {kind: list, packets: [1]}}"),
        10,
        49,
        "`reverse` is missing: write `reverse: 0%` where nothing is lost",
    ),
    (
        ("delay: 10ms", "delay: 10ms, loss: {forward: 1%, reverse: null}"),
        10,
        72,
        "must be a loss: write `0%` where nothing is lost",
    ),
    (("rate: 10mbit", "rate: {forward: 9ms, reverse: 1mbit}"), 10, 32, "not of rate"),
    (
        ("rate: 10mbit", "rate: {forward: 1mbit, reverse: 1mbit, back: 1mbit}"),
        10,
        55,
        "valid keys: forward, reverse",
    ),
    (("delay: 10ms", "delay: 10ms, loss: 1.5"), 10, 49, "must be below 100%"),
    (("delay: 10ms", "delay: 10ms, loss: banana"), 10, 49, "`banana` is not a probability"),
    (("delay: 10ms", "delay: 10ms, loss: {kind: x}"), 10, 56, "unknown loss kind `x`; valid: gil"),
    (
        ("delay: 10ms", "delay: 10ms, loss: {forward: 1.5, reverse: 0}"),
        10,
        59,
        "must be below 100%",
    ),
    (
        ("{rate: 100mbit, delay: 20ms}", "{delay: 20ms, queue: {limit: 2p}}"),
        12,
        56,
        "a queue needs a rate",
    ),
    # windows
    (
        ("seed: 1", "measure: [{name: w, from: 2s, to: 2s}]"),
        4,
        27,
        "a window must begin before it ends at 2s",
    ),
    (
        ("seed: 1", "measure: [{name: w, from: 2s, to: 61s}]"),
        4,
        35,
        "a window must end by the duration of 60s",
    ),
    (
        ("seed: 1", "measure: [{name: w, from: 2s, to: 3s}, {name: w, from: 2s, to: 3s}]"),
        4,
        47,
        "window `w` is given twice; first at line 4, column 18",
    ),
]


@pytest.mark.parametrize(
    ("edit", "line", "column", "why"), ONE_FAULT, ids=[case[0][1][:40] for case in ONE_FAULT]
)
def test_a_fault_is_reported_at_its_place(
    tmp_path: Path, edit: Edit, line: int, column: int, why: str
) -> None:
    reported = faults(tmp_path, edit)
    assert [(fault.line, fault.column) for fault in reported] == [(line, column)], reported
    assert why in reported[0].message


def test_all_faults_are_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    reported = faults(
        tmp_path,
        ("seed: 1", "seed: one"),
        ("warmup: 10s", "warmup: 70s"),
        ("rate: 10mbit", "rate: 10ms"),
        ("limit: 100p", "limit: 0p"),
        ("hosts: 1", "host: 1"),
        ("group: b", "group: c"),
        ("congestion: reno", "congestion: new-reno"),
        ("start: 100ms", "start: 100ms, start: 5s"),
        ("tcp: 100ms", "tcp: &period 100ms"),
    )
    assert [(fault.line, fault.column) for fault in reported] == [
        (4, 7),
        (6, 9),
        (10, 22),
        (10, 72),
        (12, 17),
        (16, 25),
        (16, 40),
        (16, 87),
        (17, 15),
    ], reported


def test_two_missing_keys_of_one_mapping_are_two_faults(tmp_path: Path) -> None:
    reported = faults(tmp_path, ("rate: 10mbit, delay: 10ms, ", ""))
    assert [(f.line, f.column, f.message) for f in reported] == [
        (10, 15, "`delay` is missing"),
        (10, 15, "`rate` is missing"),
    ]


def test_a_queue_may_be_given_for_each_direction(tmp_path: Path) -> None:
    both = "{forward: {limit: 0p}, reverse: {limt: 2p}}"
    reported = faults(tmp_path, ("{kind: droptail, limit: 100p}", both))
    assert [(fault.line, fault.column) for fault in reported] == [(10, 68), (10, 82), (10, 83)]


def test_a_group_given_twice_is_a_fault(tmp_path: Path) -> None:
    reported = faults(tmp_path, ("name: b", "name: a"))
    assert [str(fault).split(":", 1)[1] for fault in reported] == [
        "13:14: group `a` is given twice; first at line 12, column 14",
        "16:25: there is no group `b`; defined: a",
    ]


@pytest.mark.parametrize(
    ("content", "line", "column", "why"),
    [
        (b"", 1, 1, "the file is empty"),
        (b"# nothing\n", 1, 1, "the file is empty"),
        (b"\xef\xbb\xbf", 1, 1, "the file is empty"),
        (b"- a\n- b\n", 1, 1, "a scenario is a mapping of keys (version, name, desc"),
        (b"just text", 1, 1, "not `just text`"),
        (b"null", 1, 1, "not nothing"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 1, 1, "not UTF-8 text"),
        ("name: größer".encode("latin-1"), 1, 9, "not UTF-8 text"),
        ("version: 1\nname: größe \xff".encode() + b"\xff", 2, 14, "not UTF-8 text"),
        ("version: 1".encode("utf-16"), 1, 1, "not UTF-8 text"),
        (b"\x00\x01\x02", 1, 1, "this character is not allowed"),
        (b"version: [1", 1, 12, "not YAML"),
        (b"x" * 4_000_001, 1, 1, "larger than 4000000 bytes"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_is_no_scenario_is_a_fault(
    tmp_path: Path, content: bytes, line: int, column: int, why: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as refused:
        load(file)
    assert [(fault.line, fault.column) for fault in refused.value.faults] == [(line, column)]
    assert why in refused.value.faults[0].message


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + QUICKSTART.read_bytes())
    assert load(file).scenario == load(QUICKSTART).scenario


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    for path, why in [
        (tmp_path / "missing.yaml", "cannot be read: No such file or directory"),
        (tmp_path, "is a folder, not a regular file"),
        (Path("a\0b"), "cannot be read"),
    ]:
        with pytest.raises(ScenarioError) as refused:
            load(path)
        assert [why in fault.message for fault in refused.value.faults] == [True]


def test_an_error_has_one_line_for_each_fault(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("version: 1\nname: x\nfoo: 1\n")
    with pytest.raises(ScenarioError) as refused:
        load(file)
    lines = str(refused.value).splitlines()
    assert len(lines) == len(refused.value.faults) == 4
    assert lines[3].startswith(f"{file}:3:1: unknown key `foo`; valid keys: version, name")
    assert refused.value.exit_status == 2


@pytest.mark.parametrize("name", MAINLINE)
def test_every_mainline_congestion_control_is_accepted(tmp_path: Path, name: str) -> None:
    assert (
        load(QUICKSTART, [f"flows.reno.congestion={name}"]).scenario.flows[1].congestion.name
        == name
    )


@pytest.mark.parametrize(
    ("ends", "why"),
    [("[a, b, a]", "must have 2 items at most, not 3"), ("[a]", "must have at least 2 items")],
)
def test_a_list_of_the_wrong_length_is_reported_with_its_length(ends: str, why: str) -> None:
    custom = (
        f"topology={{kind: custom, hosts: [a, b], links: [{{between: {ends}, delay: 1ms}}], "
        "groups: [{name: g, sources: [a], sinks: [b]}]}"
    )
    with pytest.raises(ScenarioError) as refused:
        load(QUICKSTART, [custom, "flows=[{name: f, group: g}]"])
    assert [fault.message for fault in refused.value.faults] == [why]


def test_a_long_text_of_the_user_is_shortened_in_every_message(tmp_path: Path) -> None:
    long = "x" * 5000
    text = QUICKSTART.read_text()
    for old, new in (
        ("name: a,", f"name: {long},"),
        ("group: a,", f"group: {long},"),
        ("congestion: westwood", f"congestion: {{name: mine, module: {long}}}"),
        ("rate: 10mbit", f"capacity: {{trace: {long}}}"),
        ("seed: 1", f"matrix: {{{long}: [1, 2], exclude: [{{a: 1}}]}}"),
        ("seed: 1", f"{long}: 1"),
    ):
        path = tmp_path / "long.yaml"
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(ScenarioError) as refused:
            load(path)
        for fault in refused.value.faults:
            assert len(fault.message) < 1000, fault.message
    for override in (f"flows.{long}.start=1s", f"flows.reno.start={long}", long):
        with pytest.raises(ScenarioError) as refused:
            load(QUICKSTART, [override])
        for fault in refused.value.faults:
            assert len(str(fault)) < 1000
