"""YAML text to a tree with positions: types of values, and refused texts."""

from __future__ import annotations

import math

import pytest

from orchestrator.kinds.fields import Path
from orchestrator.scenario.document import Mapping, Scalar, Sequence, find, nearest, parse, plain

TEXT = """\
# a comment
name: quickstart
list:
  - {name: a, value: 'x y'}
  -   deep:
        [1, 2.5, true]
empty:
after: "end"
"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ((), 2, 1),
        (("name",), 2, 7),
        (("list",), 4, 3),
        (("list", 0), 4, 5),
        (("list", 0, "name"), 4, 12),
        (("list", 0, "value"), 4, 22),
        (("list", 1), 5, 7),
        (("list", 1, "deep"), 6, 9),
        (("list", 1, "deep", 1), 6, 13),
        (("empty",), 7, 1),
        (("after",), 8, 8),
        (("list", 0, "missing"), 4, 5),
        (("list", 9, "missing"), 4, 3),
        (("name", "below", "a", "scalar"), 2, 7),
        (("list", 0, "forward", "value"), 4, 22),
        (("list", 0, "reverse"), 4, 5),
    ],
)
def test_every_value_has_its_position(path: Path, line: int, column: int) -> None:
    tree, faults = parse(TEXT, "f")
    assert tree is not None
    assert not faults
    mark = nearest(tree, path)
    assert (mark.file, mark.line, mark.column) == ("f", line, column)


def test_columns_count_characters_not_bytes() -> None:
    tree, _ = parse('{description: "Zoë → 🐍", seed: 1}', "f")
    assert tree is not None
    assert nearest(tree, ("seed",)).column == 32


def test_the_plain_form_has_the_values_without_positions() -> None:
    tree, _ = parse(TEXT, "f")
    assert tree is not None
    assert plain(tree) == {
        "name": "quickstart",
        "list": [{"name": "a", "value": "x y"}, {"deep": [1, 2.5, True]}],
        "empty": None,
        "after": "end",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("1e-8", 1e-8),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("1e400", math.inf),
        # what YAML 1.1 took for something else is text in YAML 1.2
        ("yes", "yes"),
        ("off", "off"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("190:20:30", "190:20:30"),
        ("2026-11-20", "2026-11-20"),
        ("=", "="),
        ("10mbit", "10mbit"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("|\n  12", "12"),
        ('"\\ud83d\\udc0d"', "🐍"),  # as json.dumps writes it
    ],
)
def test_scalars_are_typed_as_yaml_1_2(text: str, value: object) -> None:
    tree, faults = parse(f"key: {text}", "f")
    assert not faults
    assert isinstance(tree, Mapping)
    found = plain(tree.entries["key"].node)
    assert found == value
    assert type(found) is type(value)


def test_nan_is_read_as_a_number() -> None:
    tree, _ = parse("[.nan]", "f")
    assert isinstance(tree, Sequence)
    assert math.isnan(plain(tree)[0])  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "key `a` is given twice; first at line 1, column 1"),
        ("x: {b: 1, c: 2, b: 3}", 1, 17, "key `b` is given twice; first at line 1, column 5"),
        ("a: &x 1", 1, 4, "YAML anchors such as `&x` are not supported"),
        ("a: *x", 1, 4, "YAML aliases such as `*x` are not supported"),
        ("a: 1\n<<: {b: 2}", 2, 1, "YAML merge keys (`<<`) are not supported"),
        ("a: !!python/name:os.system", 1, 4, "YAML tags such as"),
        ("a: !mine {b: 1}", 1, 4, "YAML tags such as `!mine` are not supported"),
        ("1: a", 1, 1, "a key must be text, not `1`: put it in quotes"),
        ("true: a", 1, 1, "a key must be text, not `true`"),
        ("? [a, b]\n: c", 1, 3, "a key must be text, not a list"),
        ("? {a: b}\n: c", 1, 3, "a key must be text, not a mapping"),
        (": c", 1, 1, "a key must be text, not nothing"),
        ("a: 1\n---\nb: 1", 2, 1, "only one YAML document is allowed"),
        ("%YAML 1.2\n---\na: 1", 1, 1, "YAML directives are not supported"),
        ("%TAG ! x\n---\na: 1", 1, 1, "YAML directives are not supported"),
        ("a: [1, 2", 1, 9, "not YAML: while parsing a flow sequence"),
        ("a: {b: 1", 1, 9, "not YAML: while parsing a flow mapping"),
        ("a: 'text", 1, 9, "not YAML: while scanning a quoted scalar"),
        ("a: b: c", 1, 5, "not YAML: mapping values are not allowed here"),
        ("a: 1\n b: 2", 2, 3, "not YAML: mapping values are not allowed here"),
        ("\ta: 1", 1, 1, "not YAML: while scanning for the next token"),
        ("a: @x", 1, 4, "not YAML: while scanning for the next token"),
        ("a: 1\nb: \x07", 2, 4, "this character is not allowed in YAML"),
        ("a: 1\r\nb: \x00", 2, 4, "this character is not allowed in YAML"),
        ('a: "x\\ud83d"', 1, 4, "a lone surrogate is no text"),
        ('"\\udc0d": 1', 1, 1, "a lone surrogate is no text"),
        ("a: " + "9" * 5000, 1, 4, "a number may have 40 digits at most"),
        ("[" * 100_000, 1, 33, "nested deeper than 32 levels"),
        ("{a: " * 100_000, 1, 129, "nested deeper than 32 levels"),
        ("\n".join("- " * depth for depth in range(1, 50)), 33, 65, "nested deeper than 32 levels"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_faults_of_yaml_are_reported_at_their_place(
    text: str, line: int, column: int, why: str
) -> None:
    _, faults = parse(text, "f")
    assert [(fault.line, fault.column) for fault in faults] == [(line, column)]
    assert why in faults[0].message
    assert faults[0].message.isprintable()


def test_every_fault_is_found_and_the_rest_is_read() -> None:
    tree, faults = parse("a: &x 1\nb: *x\na: 2\n3: [4, {5: 6}]\nc: d", "f")
    positions = [(1, 4), (2, 4), (3, 1), (4, 1), (4, 9)]
    assert sorted((fault.line, fault.column) for fault in faults) == positions
    assert tree is not None
    assert plain(tree) == {"a": 1, "b": None, "c": "d"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", "   "])
def test_a_text_without_a_document_is_none(text: str) -> None:
    assert parse(text, "f") == (None, [])


def test_a_text_within_another_starts_at_its_column() -> None:
    tree, _ = parse("[1, 2]", "--set a.b=[1, 2]", column=5)
    assert tree is not None
    assert nearest(tree, (1,)).column == 9
    _, faults = parse("[1,", "--set a.b=[1,", column=5)
    assert faults[0].column == 8


def test_find_returns_a_value_only_for_an_exact_path() -> None:
    tree, _ = parse(TEXT, "f")
    assert tree is not None
    assert find(tree, ("list", 2)) is None
    assert find(tree, ("list", "name")) is None
    assert find(tree, ("forward",)) is None
    found = find(tree, ("name",))
    assert isinstance(found, Scalar)
    assert found.value == "quickstart"
