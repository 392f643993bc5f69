"""Records of traces as the kernel's header has them: layouts, numbers and sizes."""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.decode.trace import stream
from orchestrator.protocol.reports import trace_records as records
from tests.support import link

HEADER = link.KMODS / "uapi" / "run_trace.h"
SOURCE = HEADER.read_text(encoding="utf-8")
STRUCT = re.compile(r"^struct (run_trace_\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\t(?:struct )?\w+ (\w+)(\[\w*\])?;", re.MULTILINE)

Layout = list[tuple[int, int]]
"""Offset and size of each field, in their order."""


def enumerated(source: str, first: str) -> dict[str, int]:
    """The names and numbers of the enum that begins with a name."""
    start = source.index(f"\t{first}")
    found: dict[str, int] = {}
    for name, value in re.findall(
        r"^\t(\w+)(?: = (\d+))?,", source[start : source.index("};", start)], re.MULTILINE
    ):
        found[name] = int(value) if value else max(found.values()) + 1
    return found


def defined(name: str) -> int:
    (value,) = re.findall(rf"^#define RUN_TRACE_{name}\s+(\d+)\b", SOURCE, re.MULTILINE)
    return int(value)


def test_numbers_are_those_of_the_header() -> None:
    prefix = "RUN_TRACE_"
    assert enumerated(SOURCE, f"{prefix}SOCKET") == {
        f"{prefix}SOCKET": records.SOCKET, f"{prefix}STATE": records.STATE,
        f"{prefix}EVENT": records.EVENT, f"{prefix}FRAME": records.FRAME,
        f"{prefix}LINK": records.LINK, f"{prefix}DROP": records.DROP, f"{prefix}FULL": records.FULL,
    }  # fmt: skip
    assert enumerated(SOURCE, f"{prefix}PACKETS") == {
        f"{prefix}{name.upper()}": value for name, value in records.WANTED.items()
    }
    assert enumerated(SOURCE, f"{prefix}BY_SEGMENT") == {
        f"{prefix}BY_SEGMENT": records.BY_SEGMENT, f"{prefix}BY_TIMER": records.BY_TIMER,
    }  # fmt: skip
    assert enumerated(SOURCE, f"{prefix}CA_STATE") == {
        f"{prefix}{name}": getattr(records, name)
        for name in ("CA_STATE", "RETRANSMIT", "COUNTER", "TCP_STATE", "TIMER", "CWND")
    }
    assert enumerated(SOURCE, f"{prefix}SENT") == {
        f"{prefix}SENT": records.SENT, f"{prefix}RECEIVED": records.RECEIVED,
    }  # fmt: skip


def test_steps_are_those_of_the_links_header() -> None:
    names = (
        "ENQUEUED", "BEGUN", "ARRIVED", "REFUSED", "DROPPED", "LOST_BY_NUMBER", "LOST_BY_LINE",
        "MARKED", "DUPLICATED", "LOST_BY_RING",
    )  # fmt: skip
    assert enumerated(link.SOURCE, "TC_LINK_ENQUEUED") == {
        f"TC_LINK_{name}": getattr(records, name) for name in names
    }
    (listed,) = re.findall(r"/\* What a frame is, beside (.*?) \*/", SOURCE)
    said = {getattr(records, name) for name in re.findall(r"TC_LINK_(\w+)", listed)}
    assert {*said, records.SENT, records.RECEIVED} == set(records.FRAME_STEPS)


def test_versions_and_sizes_are_those_of_the_header() -> None:
    assert defined("VERSION") == records.VERSION
    assert defined("NAME") == records.NAME_BYTES
    assert defined("CA_NAME") == records.CA_NAME_BYTES
    assert defined("CA_INFO") == records.CA_INFO_BYTES
    assert defined("SNAP_MAX") == records.MOST_SNAP_BYTES


def compiled(folder: Path) -> dict[str, tuple[int, Layout]]:
    """Size and layout of each structure of the header, by a C compiler."""
    structures = {name: FIELD.findall(body) for name, body in STRUCT.findall(SOURCE)}
    lines = []
    for name, fields in structures.items():
        lines.append(f'printf("{name} %zu\\n", sizeof(struct {name}));')
        for field, array in fields:
            size = "0" if array == "[]" else f"sizeof(((struct {name} *)0)->{field})"
            lines.append(
                f'printf(" %zu %zu\\n", offsetof(struct {name}, {field}), (size_t){size});'
            )
    code = '#include <stddef.h>\n#include <stdio.h>\n#include "run_trace.h"\n'
    (folder / "layout.c").write_text(f"{code}int main(void)\n{{\n{''.join(lines)}return 0;\n}}\n")
    command = ["gcc", "-Wall", "-Werror", "-I", str(HEADER.parent), "layout.c", "-o", "layout"]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run([folder / "layout"], capture_output=True, text=True, check=True).stdout
    found: dict[str, tuple[int, Layout]] = {}
    for line in said.splitlines():
        first, second = line.split()
        if line[0] == " ":
            found[name][1].append((int(first), int(second)))
        else:
            name = first
            found[name] = int(second), []
    return found


def of_struct(form: struct.Struct) -> Layout:
    """The layout of a struct without arrays but for bytes."""
    parts, at = [], 0
    for code in re.findall(r"\d*[a-zA-Z]", form.format.removeprefix("=")):
        parts.append((at, struct.calcsize(f"={code}")))
        at += parts[-1][1]
    return parts


def of_dtype(dtype: np.dtype[Any], without: tuple[str, ...] = ()) -> Layout:
    """The layout of rows."""
    fields: Mapping[str, tuple[Any, ...]] = dtype.fields or {}
    names = [name for name in dtype.names or () if name not in without]
    return [(fields[name][1], fields[name][0].itemsize) for name in names]


def of_rows(kind: int) -> Layout:
    """The layout of a record that the decoder reads as a row, without its head and padding."""
    head = ("head_time_ns", "head_bytes", "head_kind", "what", "of")
    return of_dtype(stream.FORMS[kind].dtype, (*head, "padding"))


@pytest.mark.build
def test_layouts_are_those_of_the_compiled_header(tmp_path: Path) -> None:
    layouts = compiled(tmp_path)
    assert layouts.pop("run_trace_setup") == (records.SETUP.size, of_struct(records.SETUP))
    assert layouts.pop("run_trace_head") == (records.HEAD.size, of_struct(records.HEAD))

    size, frame = layouts.pop("run_trace_frame")
    behind = [(at + records.HEAD.size, part) for at, part in of_struct(records.FRAME_BODY)]
    assert frame == [(0, records.HEAD.size), *behind, (stream.FRAME_START, 0)]
    assert size == stream.FRAME_START

    size, inside = layouts.pop("run_trace_flow")
    flow = np.dtype(list(records.FLOW_FIELDS))
    assert (size, inside) == (flow.itemsize, of_dtype(flow))

    kinds = {"socket": records.SOCKET, "state": records.STATE, "event": records.EVENT,
             "link": records.LINK, "drop": records.DROP}  # fmt: skip
    assert layouts.keys() == {f"run_trace_{name}" for name in kinds}
    for name, kind in kinds.items():
        size, (head, *body) = layouts[f"run_trace_{name}"]
        assert head == (0, records.HEAD.size)
        if name in ("link", "drop"):  # with struct run_trace_flow in it
            inner, *rest = body
            assert inner == (records.HEAD.size, flow.itemsize)
            body = [(records.HEAD.size + at, part) for at, part in inside] + rest
        assert of_rows(kind) == body, name
        assert stream.FORMS[kind].dtype.itemsize == size + -size % 8, name
    socket = [(at + records.HEAD.size, part) for at, part in of_struct(records.SOCKET_BODY)]
    assert of_rows(records.SOCKET) == socket
