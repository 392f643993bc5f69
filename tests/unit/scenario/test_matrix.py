"""The matrix: combinations, include and exclude, and faults at their own place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import Fault, ScenarioError
from orchestrator.planning.identity import experiment_sha256
from orchestrator.scenario import LoadedScenario, load
from orchestrator.scenario.loader import load_stored

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
FIRST = len(QUICKSTART.read_text().splitlines()) + 1
"""Line of what is appended to the quickstart."""

RATE, CONTROL = "topology.bottleneck.rate", "flows.reno.congestion"


def with_matrix(tmp_path: Path, matrix: str) -> LoadedScenario:
    file = tmp_path / "matrix.yaml"
    file.write_text(QUICKSTART.read_text() + matrix)
    return load(file)


def faults(tmp_path: Path, matrix: str) -> list[Fault]:
    with pytest.raises(ScenarioError) as refused:
        with_matrix(tmp_path, matrix)
    return refused.value.faults


def test_no_matrix_is_one_variant(tmp_path: Path) -> None:
    loaded = load(QUICKSTART)
    assert [variant.values for variant in loaded.variants] == [{}]
    assert [variant.values for variant in with_matrix(tmp_path, "matrix: {}").variants] == [{}]
    assert loaded.variants[0].scenario == loaded.scenario


def test_combinations_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    loaded = with_matrix(
        tmp_path, f"matrix:\n  {RATE}: [5mbit, 20mbit]\n  {CONTROL}: [reno, vegas]\n"
    )
    assert [variant.values for variant in loaded.variants] == [
        {RATE: "5mbit", CONTROL: "reno"},
        {RATE: "5mbit", CONTROL: "vegas"},
        {RATE: "20mbit", CONTROL: "reno"},
        {RATE: "20mbit", CONTROL: "vegas"},
    ]
    last = loaded.variants[3].scenario
    assert last.flows[1].congestion.name == "vegas"
    assert last.topology.model_dump(mode="json")["bottleneck"]["rate"] == "20mbit"
    assert last.matrix == {}
    assert loaded.scenario.flows[1].congestion.name == "reno"


def test_values_may_be_mappings_and_lists(tmp_path: Path) -> None:
    loaded = with_matrix(
        tmp_path,
        "matrix:\n  flows: [[{name: x, group: a}], [{name: y, group: b}]]\n"
        "  topology.bottleneck.queue: [{limit: 50p}]\n",
    )
    assert [variant.scenario.flows[0].name for variant in loaded.variants] == ["x", "y"]


def test_exclude_and_include_work_as_in_github_actions(tmp_path: Path) -> None:
    # the example of "Using a matrix for your jobs": fruit [apple, pear], animal [cat, dog]
    fruit, animal, color, shape = "seed", "flows.reno.start", "warmup", "start_jitter"
    loaded = with_matrix(
        tmp_path,
        f"matrix:\n  {fruit}: [1, 2]\n  {animal}: [1s, 2s]\n  include:\n"
        f"    - {{{color}: 3s}}\n"
        f"    - {{{color}: 4s, {animal}: 1s}}\n"
        f"    - {{{fruit}: 1, {shape}: 5ms}}\n"
        f"    - {{{fruit}: 9}}\n"
        f"    - {{{fruit}: 9, {animal}: 1s}}\n",
    )
    assert [variant.values for variant in loaded.variants] == [
        {fruit: 1, animal: "1s", color: "4s", shape: "5ms"},
        {fruit: 1, animal: "2s", color: "3s", shape: "5ms"},
        {fruit: 2, animal: "1s", color: "4s"},
        {fruit: 2, animal: "2s", color: "3s"},
        {fruit: 9},
        {fruit: 9, animal: "1s"},
    ]


def test_a_part_of_a_combination_is_enough_to_exclude_it(tmp_path: Path) -> None:
    loaded = with_matrix(
        tmp_path,
        f"matrix:\n  {RATE}: [5mbit, 20mbit]\n  seed: [1, 2, 3]\n"
        f"  exclude: [{{{RATE}: 5mbit}}, {{{RATE}: 20mbit, seed: 2}}]\n",
    )
    assert [variant.values["seed"] for variant in loaded.variants] == [1, 3]


def test_include_alone_lists_the_variants(tmp_path: Path) -> None:
    loaded = with_matrix(tmp_path, "matrix: {include: [{seed: 5}, {seed: 6, warmup: 1s}]}\n")
    assert [variant.values for variant in loaded.variants] == [
        {"seed": 5},
        {"seed": 6, "warmup": "1s"},
    ]


def test_a_matrix_may_be_given_on_the_command_line() -> None:
    loaded = load(QUICKSTART, [f"matrix.{RATE}=[1mbit, 2mbit]", "matrix.seed=[7]"])
    assert [variant.values for variant in loaded.variants] == [
        {RATE: "1mbit", "seed": 7},
        {RATE: "2mbit", "seed": 7},
    ]
    with pytest.raises(ScenarioError) as refused:
        load(QUICKSTART, [f"matrix.{RATE}=[1mbit, 2mbps]"])
    assert [(fault.file, fault.column) for fault in refused.value.faults] == [
        (f"--set matrix.{RATE}=[1mbit, 2mbps]", 41)
    ]


@pytest.mark.parametrize(
    ("matrix", "found"),
    [
        (f"matrix:\n  {RATE}: [1mbit, 2mbps, 3]\n", [(1, 37), (1, 44)]),
        (f"matrix:\n  {CONTROL}: [renno]\n  seed: [x, 1]\n", [(1, 27), (2, 10)]),
        ("matrix:\n  topology.bottlneck.rate: [1mbit]\n", [(1, 3)]),
        ("matrix:\n  flows.vegas.start: [1s]\n  seed: [x]\n", [(1, 3), (2, 10)]),
        ("matrix:\n  flows..start: [1s]\n", [(1, 3)]),
        ("matrix:\n  seed: 3\n  warmup: [x]\n", [(1, 9), (2, 12)]),
        ("matrix:\n  seed: []\n", [(1, 9)]),
        ("matrix:\n  seed: [1, 2, 1]\n  warmup: [1s, 1s]\n", [(1, 16), (2, 16)]),
        ("matrix: [1]\n", [(0, 9)]),
        ("matrix: 1\n", [(0, 9)]),
        (
            "matrix:\n  version: [1]\n  repetitions: [1]\n  matrix.seed: [1]\n",
            [(1, 3), (2, 3), (3, 3)],
        ),
        ("matrix:\n  seed: [1]\n  include: {seed: 1}\n", [(2, 12)]),
        ("matrix:\n  seed: [1]\n  include: [1]\n", [(2, 13)]),
        ("matrix:\n  seed: [1]\n  include: [{seed: x}]\n", [(2, 20)]),
        ("matrix:\n  seed: [1]\n  exclude: [{sed: 1}]\n", [(2, 14)]),
        ("matrix:\n  seed: [1]\n  exclude: [{seed: 2}]\n", [(2, 13)]),
        ("matrix:\n  seed: [1]\n  exclude: [{seed: 1}]\n", [(1, 3)]),
        # between values: where the value that does not fit stands
        ("matrix:\n  duration: [20s, 5s]\n", [(6 - FIRST, 9)]),
        ("matrix:\n  flows.reno.start: [1s, 60s]\n", [(1, 26)]),
        ("matrix:\n  topology.groups.b.name: [b, c]\n", [(16 - FIRST, 25)]),
    ],
)
def test_a_fault_of_the_matrix_is_reported_at_its_place(
    tmp_path: Path, matrix: str, found: list[tuple[int, int]]
) -> None:
    positions = [(fault.line - FIRST, fault.column) for fault in faults(tmp_path, matrix)]
    assert positions == found


def test_too_many_combinations_or_runs_are_refused(tmp_path: Path) -> None:
    hundred = [f"{n}ms" for n in range(1, 102)]
    matrix = f"matrix:\n  flows.reno.start: {hundred}\n  flows.westwood.start: {hundred}\n"
    (fault,) = faults(tmp_path, matrix.replace("'", ""))
    assert fault.message == "10201 combinations; 10000 are allowed"
    ten = "".join(f"  flows.reno.parameters.k{axis}: {list(range(10))}\n" for axis in range(60))
    assert faults(tmp_path, f"matrix:\n{ten}")[0].message == (
        "at least 10^60 combinations; 10000 are allowed"
    )
    (fault,) = faults(tmp_path, f"matrix: {{seed: {[1] * 10_001}}}\n")
    assert fault.message == "`seed` has 10001 values; 10000 are allowed"
    (fault,) = faults(tmp_path, "repetitions: 5001\nmatrix: {seed: [1, 2]}\n")
    assert (fault.line, fault.column) == (FIRST, 14)
    assert "are 10002 runs; 10000 are allowed" in fault.message


@pytest.mark.parametrize("form", ["  all:\n    x: {SETS}\n", "  include: [{SETS}]\n"])
def test_a_combination_may_set_so_many_paths(tmp_path: Path, form: str) -> None:
    for paths in (1000, 1001):
        sets = ", ".join(f"flows.reno.k{number}: 1" for number in range(paths))
        text = f"matrix:\n{form.replace('SETS', sets)}"
        found = [fault for fault in faults(tmp_path, text) if "combination" in fault.message]
        assert [each.message for each in found] == (
            ["a combination sets 1001 paths; 1000 are allowed"] if paths > 1000 else []
        )


def test_a_value_given_twice_is_reported_with_its_first_place(tmp_path: Path) -> None:
    queue = "topology.bottleneck.queue"
    text = (
        f"matrix:\n  {queue}:\n    - {{limit: 20p}}\n    - {{limit: 30p}}\n    - {{limit: 20p}}\n"
    )
    (fault,) = faults(tmp_path, text)
    assert fault.message == (f"`{queue}` has a mapping twice; first at line {FIRST + 2}, column 7")
    assert (fault.line, fault.column) == (FIRST + 4, 7)


RTT = (
    "  rtt:\n"
    "    short: {topology.groups.a.access.delay: 5ms, topology.groups.b.access.delay: 6ms}\n"
    "    long: {topology.groups.a.access.delay: 50ms}\n"
)
A, B = "topology.groups.a.access.delay", "topology.groups.b.access.delay"


def test_a_named_value_sets_several_paths_and_shows_by_its_name(tmp_path: Path) -> None:
    loaded = with_matrix(tmp_path, f"matrix:\n{RTT}  {CONTROL}: [reno, vegas]\n")
    assert [variant.values for variant in loaded.variants] == [
        {"rtt": "short", CONTROL: "reno"},
        {"rtt": "short", CONTROL: "vegas"},
        {"rtt": "long", CONTROL: "reno"},
        {"rtt": "long", CONTROL: "vegas"},
    ]
    first, *_, last = loaded.variants
    assert first.sets == {"rtt": {A: "5ms", B: "6ms"}}
    assert last.sets == {"rtt": {A: "50ms"}}
    groups = first.scenario.topology.model_dump(mode="json")["groups"]
    assert [group["access"]["delay"] for group in groups] == ["5ms", "6ms"]


def test_named_values_are_excluded_and_included_by_name(tmp_path: Path) -> None:
    loaded = with_matrix(
        tmp_path,
        f"matrix:\n{RTT}  {CONTROL}: [reno, vegas]\n"
        f"  exclude: [{{rtt: long, {CONTROL}: vegas}}]\n"
        f"  include: [{{rtt: long, duration: 30s}}, {{rtt: long, {CONTROL}: cubic}}]\n",
    )
    assert [variant.values for variant in loaded.variants] == [
        {"rtt": "short", CONTROL: "reno"},
        {"rtt": "short", CONTROL: "vegas"},
        {"rtt": "long", CONTROL: "reno", "duration": "30s"},
        {"rtt": "long", CONTROL: "cubic"},
    ]
    assert loaded.variants[-1].sets == {"rtt": {A: "50ms"}}


def test_a_path_of_a_named_value_may_be_set(tmp_path: Path) -> None:
    file = tmp_path / "matrix.yaml"
    file.write_text(QUICKSTART.read_text() + f"matrix:\n{RTT}")
    loaded = load(file, [f"matrix.rtt.short.{A}=7ms", f"matrix.rtt.far={{{A}: 99ms}}"])
    assert [(variant.values["rtt"], variant.sets["rtt"][A]) for variant in loaded.variants] == [
        ("short", "7ms"), ("long", "50ms"), ("far", "99ms"),
    ]  # fmt: skip


def test_what_a_named_value_sets_belongs_to_the_experiment(tmp_path: Path) -> None:
    def identity(matrix: str) -> str:
        return experiment_sha256(with_matrix(tmp_path, matrix))

    same = identity(f"matrix:\n{RTT}")
    assert identity(f"matrix:\n{RTT}  exclude: [{{rtt: long}}]\n") != same
    assert identity(f"matrix:\n{RTT}".replace("50ms", "51ms")) != same
    assert identity(f"repetitions: 3\nmatrix:\n{RTT}") == same


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            f"  {CONTROL}: [reno, vegas]\n  include: [{{warmup: 1s}}, {{warmup: 2s}}]\n",
            f"the entry at line {FIRST + 2}, column 27 replaces `warmup` in every combination",
        ),
        (
            f"  {CONTROL}: [reno, vegas]\n  include: [{{{CONTROL}: reno}}]\n",
            "adds nothing: the combination is in the matrix",
        ),
        (
            "  include: [{seed: 4}, {seed: 4}]\n",
            f"the combination is given twice; first at line {FIRST + 1}, column 14",
        ),
        (
            f"{RTT}  topology.groups.0.access.delay: [1ms]\n",
            "`topology.groups.0.access.delay` is set twice, by `rtt` and "
            "`topology.groups.0.access.delay`",
        ),
        (
            "  topology.bottleneck.rate: [1mbit]\n"
            "  topology.bottleneck: [{rate: 2mbit, delay: 1ms}]\n",
            "`topology.bottleneck` replaces `topology.bottleneck.rate`, which comes before it",
        ),
        (f"{RTT}  include: [{{rtt: longer, warmup: 1s}}]\n", "`rtt` has no value `longer` (did"),
        (f"{RTT}  exclude: [{{rtt: none}}]\n", "`rtt` has no value `none`; valid: short, long"),
        ("  rtt: {short: 5ms}\n", "`rtt.short` must be a mapping of paths to values, such as"),
        ("  rtt: {}\n", "`rtt` must have at least one value"),
        ("  a.b: {short: {seed: 1}}\n", "`a.b` is no name of an axis with named values"),
        ("  rtt: {a/b: {seed: 1}}\n", "`a/b` is no name of a value"),
        ("  rtt: {short: {version: 1}}\n", "`version` cannot vary"),
        (
            "  topology.bottleneck.rate: [5mbit, 1mbit, 5000kbit]\n",
            f"`5000kbit` means the same as `5mbit` at line {FIRST + 1}, column 3",
        ),
        (
            "  rtt:\n    one: {warmup: 1s}\n    other: {warmup: 1000ms}\n",
            f"`other` means the same as `one` at line {FIRST + 2}, column 5",
        ),
        (
            f"  {CONTROL}: [reno, vegas]\n  include: [{{{CONTROL}: {{name: vegas}}}}]\n",
            f"a mapping means the same as `vegas` at line {FIRST + 1}",
        ),
    ],
)
def test_nothing_of_a_matrix_is_silently_replaced(
    tmp_path: Path, matrix: str, message: str
) -> None:
    found = [fault.message for fault in faults(tmp_path, f"matrix:\n{matrix}")]
    assert any(each.startswith(message) for each in found), found


def test_variants_that_mean_the_same_can_still_be_read_from_a_store() -> None:
    text = QUICKSTART.read_text() + "matrix:\n  topology.bottleneck.rate: [5mbit, 5000kbit]\n"
    assert len(load_stored(text, {}).variants) == 2
