"""The conditions of ``--where``: what they select, and what they refuse."""

from __future__ import annotations

import random
from typing import Any

import pytest

from results.matrix.axes import axes
from results.query.conditions import MAX_DEPTH, ConditionError, of_variants, parse
from results.runs.model import ListedRun
from results.store.parts.notes import Remarks
from tests.support.run_results import listed


def run(number: int, controls: tuple[str, ...] = ("cubic",), **changes: Any) -> ListedRun:
    made: dict[str, Any] = {
        "id": f"2026-{number}", "started_utc": f"2026-11-2{number}T10:00:00.000+00:00"
    }  # fmt: skip
    return listed(controls, **(made | changes))


RUNS = [
    run(1, metrics={"goodput_bps": 9_500_000.0, "jain_index": 0.99, "utilisation": 0.95},
        remarks=Remarks(tags=["paper", "v1.2"])),
    run(2, ("westwoodplus", "cubic"), metrics={"goodput_bps": 4_000_000, "jain_index": 0.6},
        variant={"topology.bottleneck.rate": "10mbit", "flows.f.congestion": {"name": "tibet"}}),
    run(3, ("bbr",), verdict="unfaithful", windows={"late": {"goodput_bps": 1e6}}, repetition=2,
        seed=1_182_975_095_516_770_249,
        variant={"topology.bottleneck.rate": "0.02gbit", "topology.bottleneck.queue.limit": "1bdp",
                 "topology.groups.a.access.rate": "1gbit"}),
    run(4, (), status="failed", error="the guest hung", wall_s=None, simulated_s=None, verdict=None,
        variant={"topology.bottleneck.queue.limit": "20p", "sack": True,
                 "topology.bottleneck.loss": "0.1%"}),
]  # fmt: skip


def selected(condition: str) -> list[int]:
    holds = parse(condition, RUNS)
    return [int(each.row.id[-1]) for each in RUNS if holds(each)]


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ("congestion=westwoodplus and jain_index<0.7", [2]),
        ("congestion=cubic", [1, 2]),
        ("congestion!=cubic", [3, 4]),
        ("goodput_bps>5mbit", [1]),
        ("goodput_bps>=4000kbit", [1, 2]),
        ("goodput_bps > 4000000", [1]),
        ("goodput_bps=4mbit", [2]),
        ("goodput_bps!=4mbit", [1, 3, 4]),
        ("goodput_bps<1gbit", [1, 2]),
        ("goodput_bps=none", [3, 4]),
        ("goodput_bps!=none", [1, 2]),
        ("late.goodput_bps<=1mbit", [3]),
        ("utilisation>94%", [1]),
        ("utilisation>0.94", [1]),
        ("wall_s<3000ms", [1, 2, 3]),
        ("wall_s<3", [1, 2, 3]),
        ("status=failed", [4]),
        ("verdict=none", [4]),
        ("not verdict=faithful", [3, 4]),
        ("error='the guest hung'", [4]),
        ('error="the guest hung"', [4]),
        ("bottleneck.rate=10mbit", [2]),
        ("topology.bottleneck.rate>=10000kbit", [2, 3]),
        ("bottleneck.rate=20mbit", [3]),
        ("limit=1bdp", [3]),
        ("limit>10p", [4]),
        ("queue.limit=20p or queue.limit=1bdp", [3, 4]),
        ("loss=0.001", [4]),
        ("sack=true", [4]),
        ("flows.f.congestion=tibet", [2]),
        ("repetition>=1", [3]),
        ("seed=1182975095516770249", [3]),
        ("seed=1182975095516770248", []),
        ("seed<=1", [1, 2, 4]),
        ("started_utc>=2026-11-23", [3, 4]),
        ("flow=f", [1, 2, 3]),
        ("tag=paper", [1]),
        ("tag!=paper and tag=none", [2, 3, 4]),
        ("not tag=v1.2", [2, 3, 4]),
        ("flow='f[1]'", [2]),
        ("status=ok and congestion=cubic or congestion=bbr", [1, 2, 3]),
        ("congestion=bbr or status=ok and congestion=westwoodplus", [2, 3]),
        ("(congestion=bbr or status=ok) and congestion=westwoodplus", [2]),
        ("not congestion=cubic and status=ok", [3]),
        ("not (congestion=cubic or status=failed)", [3]),
        ("not not status=failed", [4]),
        ("status\n=\tok", [1, 2, 3]),
    ],
)
def test_what_a_condition_selects(condition: str, numbers: list[int]) -> None:
    assert selected(condition) == numbers


@pytest.mark.parametrize(
    ("condition", "column", "said"),
    [
        ("", 1, "here must be a name, such as `status` or `goodput_bps` (it ends there)"),
        ("jane_index<0.7", 1, "no `jane_index` (did you mean `jain_index`?); valid names:"),
        ("status=ok and ", 15, "here must be a name"),
        ("status=ok status=ok", 11, "here must be `and`, `or` or the end"),
        ("status", 7, "here must be one of = != < <= > >="),
        ("status==ok", 7, "write `=`"),
        ("goodput_bps=<5", 12, "here must be one of ="),
        ("status=", 8, "here must be a value of status, or `none`"),
        ("status=and", 8, "here must be a value of status"),
        ("status=fail", 8, "is one of running, ok, failed, interrupted (did you mean `failed`?)"),
        ("status<ok", 7, "status is compared by = or != only"),
        ("jain_index<none", 11, "`none` is compared by = or != only"),
        ("goodput_bps>5ms", 13, "alone or with a unit (bit, kbit, mbit"),
        ("goodput_bps>5mbps", 13, "not `5mbps`"),
        ("goodput_bps>50%", 13, "not `50%`"),
        ("jain_index<low", 12, "with a unit (%); not `low`"),
        ("(status=ok", 11, "here must be `and`, `or` or `)` (it ends there)"),
        ("status=ok)", 10, "here must be `and`, `or` or the end"),
        ("error='hung", 7, "the text in quotes has no end"),
        ("rate=10mbit", 1, "topology.bottleneck.rate or topology.groups.a.access.rate: write the"),
        ("bottleneck.rate=10", 17, "has values such as `10mbit`; not `10`"),
        ("bottleneck.rate=10ms", 17, "has values such as `10mbit`; not `10ms`"),
        ("sack<true", 6, "`true` is a text: compare it by = or !="),
        ("1=1", 1, "there is no `1`"),
        ("__class__=1", 1, "there is no `__class__`"),
        ("status=ok AND status=ok", 11, "here must be `and`"),
    ],
)
def test_errors_name_the_place_and_what_is_valid(condition: str, column: int, said: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse(condition, RUNS)
    lines = str(caught.value).split("\n")
    assert caught.value.column == column
    assert lines[0].startswith(f"column {column}: ")
    assert said in str(caught.value)
    assert lines[1] == f"  {condition}"
    assert lines[2].index("^") == column + 1


def test_a_wrong_name_is_answered_with_all_names() -> None:
    with pytest.raises(ConditionError) as caught:
        parse("nothing=1", RUNS)
    for name in ("congestion", "goodput_bps", "verdict", "topology.bottleneck.queue.limit"):
        assert name in str(caught.value)


def test_nesting_and_length_have_limits() -> None:
    assert selected("(" * MAX_DEPTH + "status=ok" + ")" * MAX_DEPTH) == [1, 2, 3]
    for text in ("(" * 1000 + "status=ok" + ")" * 1000, "not " * 1000 + "status=ok"):
        with pytest.raises(ConditionError, match="more than 50 levels"):
            parse(text, RUNS)
    with pytest.raises(ValueError, match="10000 characters"):
        parse("status=ok" + " " * 10_000, RUNS)


def test_random_texts_are_read_or_refused_and_nothing_else() -> None:
    parts = ["status=ok", "goodput_bps<5mbit", "(", ")", "and", "or", "not", "error!=none", "=",
             "5mbit", "limit>20p", "late.goodput_bps=none", "'", "\x00", "é;--"]  # fmt: skip
    draw = random.Random(1)
    read = 0
    for _ in range(3000):
        text = " ".join(draw.choices(parts, k=draw.randrange(1, 9)))
        try:
            holds = parse(text, RUNS)
        except ConditionError:
            continue
        read += 1
        assert all(holds(each) in (True, False) for each in RUNS)
    assert read > 100


LIMIT, QUEUE = "topology.bottleneck.queue.limit", "topology.bottleneck.queue"
CONTROL, RATE = "flows.a.congestion", "topology.bottleneck.rate"
TIBET: dict[str, Any] = {"name": "tibet", "parameters": {"beta": 2}}
VARIANTS: list[dict[str, Any]] = [
    {CONTROL: "reno", LIMIT: "0.5bdp", RATE: "10mbit"},
    {CONTROL: {"name": "tibet"}, LIMIT: "1bdp(min)", RATE: "10mbit"},
    {CONTROL: TIBET, LIMIT: "1bdp", RATE: "20mbit"},
    {CONTROL: "none", QUEUE: {"kind": "codel"}, RATE: "20mbit"},
]


def kept(condition: str) -> list[int]:
    holds = of_variants(condition, axes(VARIANTS))
    return [index for index, variant in enumerate(VARIANTS) if holds(variant)]


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ("congestion=reno", [0]),
        ("flows.a.congestion = reno", [0]),
        ("limit=1bdp(min)", [1]),
        ("(limit=1bdp(min)) or limit=1bdp", [1, 2]),
        ("limit='1bdp(min)'", [1]),
        ("limit=1bdp", [2]),
        ("limit<1bdp", [0]),
        ("limit<=1bdp and not congestion=reno", [2]),
        ("limit=none", [3]),
        ("limit!=none and rate=10mbit", [0, 1]),
        ("rate=10000kbit", [0, 1]),
        ("rate>10mbit", [2, 3]),
        ("congestion=none", [3]),  # a value of that name comes first
        ("congestion=tibet", [1]),  # as it is written
        ("congestion={name: tibet, parameters: {beta: 2}}", [2]),
        ("congestion={name: tibet, parameters: {beta: 2}} or congestion=reno", [0, 2]),
        ("queue={kind: codel}", [3]),
        ("queue=codel", [3]),
    ],
)
def test_variants_are_kept_by_the_same_language(condition: str, numbers: list[int]) -> None:
    assert kept(condition) == numbers


@pytest.mark.parametrize("condition", ["queue={kind: codel}", "limit=1bdp(min)", "queue=codel"])
def test_runs_take_values_as_written_too(condition: str) -> None:
    runs = [run(index, variant=variant) for index, variant in enumerate(VARIANTS)]
    holds = parse(condition, runs)
    assert [index for index, each in enumerate(runs) if holds(each)] == kept(condition)


@pytest.mark.parametrize(
    ("condition", "column", "said"),
    [
        (
            "limit=2bdp",
            7,
            "limit has no value 2bdp (did you mean `1bdp`?); its values are `0.5bdp`,",
        ),
        ("limit!=2bdp", 8, "limit has no value 2bdp"),
        ("rate>2bdp", 6, "rate has values such as 10mbit; not `2bdp`"),
        ("congestion<reno", 12, "is a text: compare it by = or !="),
        ("jain_index<0.7", 1, "there is no axis jain_index; the axes are"),
        ("rate=10mbit rate=20mbit", 13, "here must be `and`, `or` or the end"),
    ],
)
def test_errors_of_conditions_on_variants(condition: str, column: int, said: str) -> None:
    with pytest.raises(ConditionError) as caught:
        kept(condition)
    assert (caught.value.column, said in str(caught.value)) == (column, True), caught.value
