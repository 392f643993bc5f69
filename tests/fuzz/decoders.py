"""Damage a test bed's files, and check that decoders refuse them by BedError.

The corpus ``tests/data/bed`` was written by a real test bed. A damaged run either gives a recording
that can be stored and shown, or ends with a BedError. Anything else is a bug, and
``AssertionError`` names it.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.errors import BedError
from orchestrator.execution.runner import RunOptions, _finish, _HeadMaker
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording
from results.documents import run_document
from results.store.store import Store
from tests.support.hostile_texts import assembled, captured_files

Files = dict[str, bytes]
Damage = Callable[[random.Random, Files], None]

NUMBERS = (0, 1, -1, 2, 20, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1,
           2**63, -(2**63), 2**64 - 1, 2**70)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, "", "x", "reno", "\x00", "\x1b[2J", "\ud800", "\u202e", "x" * 5000, [], {},
    [[]], [1, 2], {"": 1}, 0.5, -0.0, 1e308, *NUMBERS,
)  # fmt: skip
WORDS = (b"NaN", b"Infinity", b"1e999", b"[" * 3000, b"{", b"}", b'"', b"\xff", b"\0", b"\n",
         b'{"fact":"done"}\n', b"9" * 5000, b"-")  # fmt: skip


def damaged(seed: int) -> Files:
    """Return the captured files after one to four kinds of damage that the seed draws."""
    draw = random.Random(seed)
    files = captured_files()
    for _time in range(draw.randint(1, 4)):
        draw.choice(DAMAGES)(draw, files)
    return files


def try_out(spec: RunSpec, files: Files, store: Store, heads: _HeadMaker) -> str:
    """Decode, judge, store and show a run's files; return ``ok`` or the error's text."""
    try:
        recording = assembled(spec, files)
        _stored(spec, recording, store, heads)
    except BedError as error:
        text = str(error)
        assert text.isprintable(), text
        assert len(text) < 10_000, "an error of bounded length"
        return text
    return "ok"


def _stored(spec: RunSpec, recording: Recording, store: Store, heads: _HeadMaker) -> None:
    run_id = store.begin(heads.make(spec))
    try:
        _finish(store, run_id, spec, recording, 1.0)
    except BedError as error:
        store.fail(run_id, str(error))
        raise
    json.dumps(run_document.of_ids(store, [run_id]), allow_nan=False)


def heads(backend: Any, db: Path) -> _HeadMaker:
    """Return what makes the heads of runs for ``try_out``."""
    return _HeadMaker("fuzz", RunOptions(db, backend), None)


def _some_file(draw: random.Random, files: Files) -> str:
    return draw.choice(sorted(name for name in files if files[name]))


def _truncate(draw: random.Random, files: Files) -> None:
    name = _some_file(draw, files)
    files[name] = files[name][: draw.randrange(len(files[name]))]


def _flip(draw: random.Random, files: Files) -> None:
    name = _some_file(draw, files)
    data = bytearray(files[name])
    for _byte in range(draw.choice((1, 1, 8, 200))):
        data[draw.randrange(len(data))] = draw.randrange(256)
    files[name] = bytes(data)


def _splice(draw: random.Random, files: Files) -> None:
    name, other = _some_file(draw, files), _some_file(draw, files)
    start = draw.randrange(len(files[other]))
    piece = files[other][start : start + draw.choice((1, 4, 100, 5000))]
    at = draw.randrange(len(files[name]))
    files[name] = files[name][:at] + piece + files[name][at:]


def _repeat(draw: random.Random, files: Files) -> None:
    name = _some_file(draw, files)
    files[name] *= draw.choice((2, 3, 20))


def _insert_word(draw: random.Random, files: Files) -> None:
    data = files["facts.jsonl"]
    at = draw.randrange(len(data) + 1)
    files["facts.jsonl"] = data[:at] + draw.choice(WORDS) + data[at:]


def _replace_number(draw: random.Random, files: Files) -> None:
    """Put an extreme number into a file of samples, at a field of its layout."""
    name = draw.choice(
        [
            name
            for name in ("tcp.bin", "queue.bin", "readings.bin", "sojourn.bin", "counters.bin")
            if len(files[name]) > 8
        ]
    )
    data = bytearray(files[name])
    form = draw.choice(("<H", "<I", "<q"))
    size = struct.calcsize(form)
    at = draw.randrange(max(1, (len(data) - size) // 4)) * 4
    number = draw.choice(NUMBERS) & (2 ** (8 * size) - 1)
    data[at : at + size] = number.to_bytes(size, "little")
    files[name] = bytes(data)


def _write_rows(draw: random.Random, files: Files) -> None:
    name, columns = draw.choice((("transfers.bin", 4), ("datagrams.bin", 14)))
    numbers = [max(-(2**63), min(2**63 - 1, draw.choice(NUMBERS))) for _column in range(columns)]
    files[name] += struct.pack(f"<{columns}q", *numbers) * draw.choice((1, 1, 3))


def _change_fact(draw: random.Random, files: Files) -> None:
    """Replace, remove or add a value at any depth of any fact."""
    lines = files["facts.jsonl"].splitlines()
    at = draw.randrange(len(lines) or 1)
    try:
        fact = json.loads(lines[at])
    except (IndexError, ValueError, RecursionError):
        return
    here = fact
    while isinstance(here, dict | list) and here:
        keys = sorted(here) if isinstance(here, dict) else list(range(len(here)))
        key: Any = draw.choice(keys)
        below = here[key]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.25:
            act = draw.random()
            if act < 0.2:
                del here[key]
            elif act < 0.3 and isinstance(here, dict):
                here[str(draw.choice(VALUES))] = below
            else:
                here[key] = draw.choice(VALUES)
            break
        here = below
    lines[at] = json.dumps(fact).encode()
    files["facts.jsonl"] = b"\n".join(lines) + b"\n"


def _move_facts(draw: random.Random, files: Files) -> None:
    lines = files["facts.jsonl"].splitlines(keepends=True)
    if lines:
        line = lines.pop(draw.randrange(len(lines)))
        if draw.random() < 0.5:
            lines.insert(draw.randrange(len(lines) + 1), line)
        files["facts.jsonl"] = b"".join(lines)


DAMAGES: tuple[Damage, ...] = (
    _truncate, _flip, _flip, _splice, _repeat, _insert_word, _replace_number, _replace_number,
    _write_rows, _change_fact, _change_fact, _change_fact, _change_fact, _move_facts,
)  # fmt: skip
