"""Prints the reference of the scenario language, from the models of the JSON Schema."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from orchestrator.kinds.events import MAX_EVENT_TIMES
from orchestrator.kinds.fields import MAX_DELAY_S, MAX_FLOWS, MAX_NAME, MAX_PAIRS
from orchestrator.kinds.profiles import profiles
from orchestrator.repetitions import MAX_RUNS
from orchestrator.scenario.document import MAX_DIGITS
from orchestrator.scenario.schema import json_schema
from orchestrator.scenario.variants.matrix import MAX_VALUES
from orchestrator.scenario.variants.overrides import MOST_PATHS
from orchestrator.units import FREQUENCY_MAX, LIMIT_MAX, RATE_MAX_BPS, format_rate

_FAMILIES = ("topology", "queue", "loss", "traffic", "event", "figure")
_TEXT = """\
# Reference of the scenario language

`orchestrator schema --markdown` writes this page from the models; a test compares it with them.
A value with a unit is written as text:

| quantity | example | units | valid |
|---|---|---|---|
| rate | `10mbit` | bit, kbit, mbit, gbit; kibit, mibit, gibit (powers of 1024), per second | above 0, up to {rate} |
| time | `20ms` | ns, us, ms, s, min, h | up to 720h, a delay of a link up to {delay_s}s, in whole ns |
| size | `150kB` | B, kB, MB, GB, KiB, MiB, GiB | above 0, below 2^63 bytes, in whole bytes |
| frequency | `5/s` | /s, /min, /h | above 0, up to {frequency}/s |
| queue limit | `100p` | p (packets), a size, a time at the link's rate, bdp, bdp(min) | above 0, up to 10000bdp and {limit} packets or bytes |
| probability | `0.1%` | %, or a plain number such as 0.001 | below 100%; 100%, too, where the value is *from 0 to 1* |

Units of rates may have upper or lower case.
`null` as the value of a key without a default means that the key is not given.
So an axis of a matrix can have it: `flows.x.traffic.window: [null, 3p]`.
A scenario file may have 4 000 000 bytes, and be nested 32 levels deep.
A name has a letter, then letters, digits, `_` and `-`, {name} characters at most.
A number has {digits} digits at most.
A scenario may have {runs} runs and {flows} flows, and a topology {pairs} pairs of hosts.
Events take effect {events} times at most.
A combination of a matrix may set {paths} paths, and a matrix {values} values in all.
A value of a link may be the same for both directions, or `{{forward: ..., reverse: ...}}`.
"""  # noqa: E501 - rows of a table have no breaks
_NUMBERS = {
    "delay_s": MAX_DELAY_S, "frequency": FREQUENCY_MAX, "limit": LIMIT_MAX, "name": MAX_NAME,
    "digits": MAX_DIGITS, "runs": MAX_RUNS, "flows": MAX_FLOWS, "pairs": MAX_PAIRS,
    "events": MAX_EVENT_TIMES, "paths": MOST_PATHS, "values": MAX_VALUES,
}  # fmt: skip
_HEAD = _TEXT.format(
    rate=format_rate(RATE_MAX_BPS),
    **{name: f"{number:,}".replace(",", " ") for name, number in _NUMBERS.items()},
)
Schema = dict[str, Any]
_COLUMNS = 100
_NO_BREAK = "\0"


def markdown() -> str:
    """Return the reference, in Markdown."""
    schema = json_schema()
    return "\n".join([_HEAD, *_document(schema)]).rstrip() + "\n"


def _document(schema: Schema) -> Iterator[str]:
    definitions = schema["$defs"]
    yield from _part("A scenario", schema, 2, definitions)
    families = {name: _kinds(definitions, name) for name in _FAMILIES}
    of_families = {name for kinds in families.values() for name in kinds}
    for name in sorted(definitions):
        if name not in {*_FAMILIES, *of_families} and _own_properties(definitions[name]):
            yield from _part(f"`{name}`", definitions[name], 2, definitions)
    for family, kinds in families.items():
        yield f"## Kinds of {family}\n"
        for name in kinds:
            definition = definitions[name]
            kind = definition["properties"].get("kind", {}).get("const")
            yield from _part(f"`{family}: {kind or name}`", definition, 3, definitions)
    yield "## TCP profiles\n"
    for profile in profiles().values():
        yield f"### `profile: {profile.name}`\n\n{profile.account}\n"
        values = ", ".join(
            f"`{key}:{_NO_BREAK}{json.dumps(value)}`" for key, value in profile.options.items()
        )
        yield textwrap.fill(f"Sets {values}.", _COLUMNS).replace(_NO_BREAK, " ") + "\n"


def _kinds(definitions: Schema, family: str) -> list[str]:
    options = definitions[family]["anyOf"]
    names = [option["$ref"].split("/")[2] for option in options if "$ref" in option]
    return list(dict.fromkeys(name for name in names if _own_properties(definitions[name])))


def _whole(definition: Schema) -> Schema:
    """Return a definition as one mapping; a definition with a short form has it as an option.

    Of several mappings, only the keys that all require are required.
    """
    options = [definition, *definition.get("anyOf", ())]
    mappings = [option for option in options if option.get("properties")]
    if not mappings:
        return definition
    properties = {key: item for mapping in mappings for key, item in mapping["properties"].items()}
    required = set.intersection(*(set(mapping.get("required", ())) for mapping in mappings))
    return {**mappings[0], "properties": properties, "required": required}


def _own_properties(definition: Schema) -> Schema:
    """Return the properties; empty when they are only one value for each direction."""
    properties: Schema = _whole(definition).get("properties", {})
    return {} if set(properties) == {"forward", "reverse"} else properties


def _part(title: str, definition: Schema, level: int, all_: Schema) -> Iterator[str]:
    definition = _whole(definition)
    yield f"{'#' * level} {title}\n"
    if "description" in definition:
        yield _text(definition["description"]) + "\n"
    yield "| key | value | default | |\n|---|---|---|---|"
    required = definition.get("required", ())
    for key, item in _own_properties(definition).items():
        if key == "kind":
            continue
        default = "required" if key in required else _default(item)
        text = _text(item.get("description", "")).replace("|", "\\|")
        yield f"| `{key}` | {_type(item, all_)} | {default} | {text} |"
    yield ""


def _text(description: str) -> str:
    return description.replace("``", "`").replace("<", "&lt;")


def _default(item: Schema) -> str:
    value = item.get("default")
    if value is None or value in ([], {}, ""):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _type(item: Schema, all_: Schema) -> str:
    """Return the type of a value in a few words."""
    if "$ref" in item:
        return _named(item["$ref"], all_)
    if "anyOf" in item:
        options = [_type(option, all_) for option in item["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(options))
    if "const" in item:
        return f"`{json.dumps(item['const'])}`"
    if "enum" in item:
        return ", ".join(f"`{value}`" for value in item["enum"])
    each = item.get("additionalProperties")
    if isinstance(each, dict) and "](#" in (of_each := _type(each, all_)):  # it has a section
        return f"mapping of names to {of_each}"
    if item.get("type") == "array":
        return f"list of {_type(item.get('items', {}), all_)}"
    if item.get("examples"):
        return f"such as `{item['examples'][0]}`"
    bounds = [
        f"{word} {item[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"))
        if key in item
    ]
    names = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    kind = item.get("type", "value")
    return " ".join([names.get(kind, kind) if isinstance(kind, str) else "value", *bounds])


def _named(reference: str, all_: Schema) -> str:
    path = reference.split("/")[2:]
    if len(path) > 1:  # the definition of a short form
        return _type(all_[path[0]]["properties"][path[2]], all_)
    name = path[0]
    if name in _FAMILIES:
        return f"[{name}](#kinds-of-{name})"
    if "forward" in all_[name].get("properties", {}):
        return _type(all_[name]["properties"]["forward"], all_)
    link = f"[{name}](#{name.lower()})"
    if "anyOf" in all_[name] and not all_[name].get("properties"):
        options = [option for option in all_[name]["anyOf"] if not option.get("properties")]
        short = _type({"anyOf": options}, all_)
        return f"{short} or {link}" if _own_properties(all_[name]) else short
    return link
