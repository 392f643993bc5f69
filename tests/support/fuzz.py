"""Random scenarios."""

from __future__ import annotations

import random
import re
from pathlib import Path

from orchestrator.errors import Fault, ScenarioError
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load

EXTENDED = """\
measure: [{name: w, from: 1s, to: 2s}]
repetitions: 2
matrix:
  topology.bottleneck.rate: [1mbit, 20mbit]
  flows.reno: [{name: reno, group: a}, {name: reno, group: b, count: 2, direction: reverse}]
  include: [{duration: 70s}]
  exclude: [{topology.bottleneck.rate: 1mbit}]
"""


WORDS = """\
0 -1 1e400 .inf .nan null ~ true [] {} [[]] '' *a &a !!int <<: ?x - 10mbit 10ms 1bdp 1e-8 0x1f 🐍
% @ ` | > # --- ... 1bdp(min) {forward:1%} {kind:x} {kind:[1]} a.b flows kind name = ' " , : { } [ ]
"""


NASTY = [
    *WORDS.split(),
    *"\n\r\t \x00\u2028\ufeff",
    "9" * 5000,
    "{a: b}",
    "? [a]",
    "{forward: 1%, reverse: {kind: x}}",
]


PATHS = """\
flows.reno.congestion flows.0.start flows.x.y topology.bottleneck.queue.limit matrix.seed seed
topology.groups.a.access matrix repetitions a.b.c flows measure.0.from
"""


def mutilated(draw: random.Random, text: str) -> str:
    for _ in range(draw.choice([1, 1, 1, 2, 3, 6])):
        place = draw.randrange(len(text) + 1)
        words = list(re.finditer(r"[A-Za-z0-9_.+]+", text))
        lines = text.split("\n")
        match draw.randrange(6):
            case 0:
                text = text[:place] + draw.choice(NASTY) + text[place:]
            case 1:
                text = text[:place] + text[place + draw.randrange(1, 12) :]
            case 2:
                text = text[:place] + chr(draw.randrange(0x300)) + text[place + 1 :]
            case 3 if words:
                word = draw.choice(words)
                text = text[: word.start()] + draw.choice(NASTY) + text[word.end() :]
            case 4 if words:
                word = draw.choice(words)
                text = text[: word.start()] + draw.choice(words).group() + text[word.end() :]
            case _:
                lines.insert(draw.randrange(len(lines)), draw.choice(lines))
                text = "\n".join(lines)
    return text


def outcome(file: Path, overrides: list[str]) -> tuple[list[RunSpec], list[Fault]]:
    try:
        return plan(load(file, overrides)).runs, []
    except ScenarioError as error:
        return [], error.faults


def check_faults(faults: list[Fault], file: Path) -> None:
    lines = re.split("\r\n|[\r\n]", file.read_bytes().decode("utf-8-sig"))
    for fault in faults:
        assert fault.message.isprintable()
        if fault.file == str(file):
            assert 1 <= fault.line <= len(lines)
            assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
