"""Options of ``orchestrator plot KIND``, made of the keys of the kinds of figures."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click
from pydantic import ValidationError

from orchestrator.errors import UsageError
from orchestrator.scenario.faults import messages
from results.matrix.axes import Where

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from results.figures import FigureSpec

NOT_OPTIONS = ("kind", "file")
"""Keys of a figure that the command line gives otherwise: by the command's name and by -o."""

_METAVARS = {
    "metric": "M", "delay": "M", "by": "AXIS", "flow": "ENTRY", "where": "CONDITION",
    "names": "NAME=WORDS", "window": "NAME", "x_label": "TEXT", "y_label": "TEXT",
    "from_": "TIME", "to": "TIME", "bin": "TIME",
}  # fmt: skip


def options(figure: type[FigureSpec]) -> list[click.Option]:
    """Return an option for each key of a kind; keys that are required come first."""
    fields = [
        (name, field) for name, field in figure.model_fields.items() if name not in NOT_OPTIONS
    ]
    ordered = sorted(fields, key=lambda each: not each[1].is_required())
    return [_option(name, field) for name, field in ordered]


def _option(name: str, field: FieldInfo) -> click.Option:
    flag = f"--{(field.alias or name).replace('_', '-')}"
    kind = _plain(field.annotation)
    text = _help(field, kind)
    if kind is bool:
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None, help=text)
    settings: dict[str, Any] = {"help": text, "required": field.is_required()}
    if get_origin(kind) is Literal:
        settings["type"] = click.Choice(get_args(kind))
    elif get_origin(kind) in (list, dict) or kind is Where:
        settings["multiple"] = True
        item = next(iter(get_args(kind)), None)
        if get_origin(item) is Literal:
            settings["type"] = click.Choice(get_args(item))
    elif kind is int:
        settings["type"] = int
    if name in _METAVARS:
        settings["metavar"] = _METAVARS[name]
    return click.Option([flag, name], **settings)


def _plain(annotation: Any) -> Any:
    """Return the type of a field without ``None``."""
    if annotation == Where:
        return Where
    if get_origin(annotation) in (Union, types.UnionType):
        (rest,) = [one for one in get_args(annotation) if one is not type(None)]
        return _plain(rest)
    return annotation


def _help(field: FieldInfo, kind: Any) -> str:
    text = (field.description or "").replace("`", "")
    text = text[:1].upper() + text[1:] + "."
    default = field.default if isinstance(field.default, str | int) else None
    if default is not None and kind is not bool:
        text += f" Default: {default}."
    repeatable = get_origin(kind) in (list, dict) or kind is Where
    return text + (" Repeatable." if repeatable else "")


def made(figure: type[FigureSpec], file: str, given: Mapping[str, Any]) -> FigureSpec:
    """Return the figure that the options describe.

    Raises:
        UsageError: an option is not valid.
    """
    values = {"kind": figure.model_fields["kind"].default, "file": file}
    (values["kind"],) = get_args(figure.model_fields["kind"].annotation)
    for name, value in given.items():
        if value is None or value == ():
            continue
        field = figure.model_fields[name]
        key = field.alias or name
        if _plain(field.annotation) is Where:
            values[key] = (
                value[0]
                if len(value) == 1
                else " and ".join(f"({condition})" for condition in value)
            )
        elif get_origin(_plain(field.annotation)) is dict:
            values[key] = dict(_pair(name, text) for text in value)
        else:
            values[key] = list(value) if isinstance(value, tuple) else value
    try:
        return figure.model_validate(values)
    except ValidationError as error:
        raise UsageError("\n".join(_lines(messages(error, figure.keys()), file))) from None


def _pair(name: str, text: str) -> tuple[str, str]:
    first, equals, second = text.partition("=")
    if not equals:
        raise UsageError(f"--{name} {text}: give {_METAVARS.get(name, 'NAME=VALUE')}")
    return first.strip(), second.strip()


def _lines(faults: Sequence[tuple[Sequence[str | int], str]], file: str) -> list[str]:
    lines = []
    for path, message in faults:
        option = str(path[0]).replace("_", "-") if path else ""
        where = f"-o {file}: " if option == "file" else f"--{option}: " if option else ""
        lines.append(f"{where}{message}")
    return lines
