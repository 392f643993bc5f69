"""The forms of facts of users' programs: how they ended, numbers of their output, kept files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from orchestrator.decode.fact_types import Count, Form, Name, TimeNs, Word
from orchestrator.protocol import kept_files
from orchestrator.protocol.programs import ENDINGS, MOST_PRINTED, ROLES
from orchestrator.recording.extracted import MOST_NUMBERS


def _is_kept_name(name: str) -> str:
    if not kept_files.is_name(name):
        raise ValueError("it is no name of a kept file")
    return name


KeptName = Annotated[str, Field(strict=True), AfterValidator(_is_kept_name)]


_Printed = Annotated[str, Field(strict=True, max_length=MOST_PRINTED)]


class Program(Form):
    """How a program ended, and what it printed."""

    flow: Name
    role: Literal[ROLES]  # type: ignore[valid-type]
    begun_ns: TimeNs
    ended_ns: TimeNs
    ended_by: Literal[ENDINGS]  # type: ignore[valid-type]
    status: Annotated[int, Field(strict=True, ge=0, le=255)] | None
    signal: Annotated[int, Field(strict=True, ge=1, le=64)] | None
    stdout: _Printed
    stderr: _Printed
    printed_bytes: Annotated[list[Count], Field(min_length=2, max_length=2)]


class _ExtractedValue(Form):
    value: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None
    matches: Count
    numbers: Count


class Extracted(Form):
    """Numbers of a client's output by the names that the flow gives them."""

    flow: Name
    values: Annotated[dict[Name, _ExtractedValue], Field(max_length=MOST_NUMBERS)]


class _KeptFile(Form):
    name: KeptName
    bytes: Annotated[int, Field(strict=True, ge=0, le=kept_files.MOST_BYTES)]


class _LeftOutFile(Form):
    name: Word
    bytes: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None
    reason: Literal[tuple(kept_files.REASONS)]  # type: ignore[valid-type]


class Kept(Form):
    """Files of a program that are kept, and those that are left out."""

    flow: Name
    role: Literal[ROLES]  # type: ignore[valid-type]
    files: Annotated[list[_KeptFile], Field(max_length=kept_files.MOST_FILES)]
    left_out: Annotated[list[_LeftOutFile], Field(max_length=kept_files.MOST_LEFT_OUT + 1)]
