"""``--set PATH=VALUE``: the values that it sets, and the places of its faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.scenario import Scenario, load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def dumped(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", by_alias=True, exclude_none=True)


def value_at(data: Any, path: str) -> Any:
    for part in path.split("."):
        data = data[int(part) if part.isdigit() else part]
    return data


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("flows.westwood.congestion=vegas", "flows.0.congestion.name", "vegas"),
        ("flows.0.congestion={name: vegas}", "flows.0.congestion.name", "vegas"),
        ("flows.reno.congestion.name=tibet", "flows.1.congestion.name", "tibet"),
        ("topology.bottleneck.rate=20mbit", "topology.bottleneck.rate", "20mbit"),
        ("topology.bottleneck.queue.limit=20p", "topology.bottleneck.queue.limit", "20p"),
        ("topology.groups.b.access.delay=1ms", "topology.groups.1.access.delay", "1ms"),
        ("topology.groups.1.hosts=3", "topology.groups.1.hosts", 3),
        ("flows.reno.start=1s", "flows.1.start", "1s"),
        ("flows.westwood.start=1s", "flows.0.start", "1s"),
        ("flows.westwood.traffic.bytes=3MB", "flows.0.traffic.bytes", "3MB"),
        ("topology.bottleneck.loss=0.1%", "topology.bottleneck.loss.probability", 0.001),
        ("topology.bottleneck.loss.probability=1%", "topology.bottleneck.loss.probability", 0.01),
        ("sample={tcp: 10ms}", "sample.queue", "100ms"),
        ("warmup=0s", "warmup", "0s"),
        ("seed=0x10", "seed", 16),
        ("description=a=b, c", "description", "a=b, c"),
        ("flows=[{name: only, group: a}]", "flows.0.name", "only"),
        ("measure=[{name: w, from: 1s, to: 2s}]", "measure.0.from", "1s"),
        ("repetitions=3", "repetitions", 3),
    ],
)
def test_an_override_sets_the_value_at_its_path(override: str, path: str, value: object) -> None:
    assert value_at(dumped(load(QUICKSTART, [override]).scenario), path) == value


def test_the_last_of_several_counts_and_the_file_stays_as_it_was() -> None:
    overrides = ["seed=2", "flows.reno.name=other", "flows.other.start=3s", "seed=3"]
    loaded = load(QUICKSTART, overrides)
    assert loaded.scenario.seed == 3
    assert loaded.scenario.flows[1].start == 3.0
    assert loaded.overrides == tuple(overrides)
    assert loaded.text == QUICKSTART.read_text()
    assert loaded.sha256 == load(QUICKSTART).sha256


def test_null_removes_an_optional_value() -> None:
    overrides = ["flows.reno.stop=30s", "flows.reno.stop=null"]
    assert load(QUICKSTART, overrides).scenario.flows[1].stop is None


@pytest.mark.parametrize(
    ("override", "column", "why"),
    [
        # a wrong value: at the value
        ("topology.bottleneck.rate=banana", 26, "`banana` is not a rate"),
        ("topology.bottleneck.loss={forward: 1.5, reverse: 0}", 36, "below 100%"),
        ("flows.reno.group=c", 18, "there is no group `c`; defined: a, b"),
        ("flows.reno.congestion=renno", 23, "(did you mean `reno`?)"),
        ("duration=1s", 10, ""),
        ("duration=[1s", 13, "not YAML"),
        ("duration=*x", 10, "YAML aliases"),
        ("sample={tcp: 1s, tcp: 1s}", 18, "key `tcp` is given twice; first at line 1, column 9"),
        ("duration=", 10, "a value for `duration` is missing"),
        ("duration=# 1s", 10, "a value for `duration` is missing"),
        # a wrong path: at the part that is not there
        ("durtion=30s", 1, "unknown key `durtion` (did you mean `duration`?); valid keys: version"),
        ("topology.bottlneck.rate=1mbit", 10, "unknown key `bottlneck` (did you mean `bott"),
        ("topology.bottleneck.rat=1mbit", 21, "valid keys: delay, loss, jitter,"),
        ("flows.vegas.start=1s", 7, "`flows` has no item `vegas`; valid: westwood, reno or an in"),
        ("flows.2.start=1s", 7, "or an index from 0 to 1"),
        ("flows.-1.start=1s", 7, "or an index from 0 to 1"),
        ("flows.renno.start=1s", 7, "has no item `renno` (did you mean `reno`?)"),
        ("topology.groups.c.hosts=1", 17, "`topology.groups` has no item `c`; valid: a, b"),
        ("flows.reno.group.name=x", 18, "is the single value `b` and has no `name`"),
        ("measure.w.to=1s", 1, "must be a list, not a mapping"),
        # no path at all
        ("duration", 1, "write PATH=VALUE"),
        ("=1s", 1, "write PATH=VALUE"),
        ("", 1, "write PATH=VALUE"),
        ("flows..start=1s", 7, "it has an empty part"),
        (".duration=1s", 1, "it has an empty part"),
        ("duration.=1s", 10, "it has an empty part"),
    ],
)
def test_a_fault_of_an_override_is_reported_at_its_place(
    override: str, column: int, why: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(QUICKSTART, [override])
    found = [fault for fault in refused.value.faults if fault.file == f"--set {override}"]
    if override == "duration=1s":  # what does not fit it any more is where it was written
        assert [str(fault) for fault in refused.value.faults] == [
            f"{QUICKSTART}:6:9: warmup must be shorter than the duration of 1s"
        ]
        return
    assert [(fault.line, fault.column) for fault in found[:1]] == [(1, column)], found
    assert why in found[0].message


def test_faults_of_overrides_and_of_the_file_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(QUICKSTART.read_text().replace("hosts: 1", "hosts: 0", 1))
    with pytest.raises(ScenarioError) as refused:
        load(file, ["seed=x", "flows.none.start=1s", "warmup=1h"])
    assert [(fault.file, fault.column) for fault in refused.value.faults] == [
        ("--set flows.none.start=1s", 7),
        ("--set seed=x", 6),
        ("--set warmup=1h", 8),
        (str(file), 24),
    ]


def test_an_override_can_fix_a_fault_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(QUICKSTART.read_text().replace("rate: 10mbit", "rate: 10"))
    assert load(file, ["topology.bottleneck.rate=10mbit"]).scenario == load(QUICKSTART).scenario


def test_unprintable_characters_are_not_repeated_in_messages() -> None:
    with pytest.raises(ScenarioError) as refused:
        load(QUICKSTART, ["a\nb\udc80=\x1b[1m"])
    assert all(fault.file.isprintable() for fault in refused.value.faults)
