"""The programs that spray packets, run by an interpreter of classic BPF."""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from typing import Any

import numpy as np
import pytest

from orchestrator.fidelity import check_spray
from orchestrator.fidelity.evidence import Evidence
from orchestrator.network import Network
from orchestrator.protocol.numbering import host_mac
from orchestrator.testbed.network.spray import program

_WHOLE = 0xFFFFFFFF


def evidence(packets: dict[str, int]) -> Evidence:
    fact: Any = {"fact": "sprayed", "switch": "s", "packets": packets}
    return Evidence(Network((), (), (), (), ()), [fact], [], [], np.empty(0, [("drops", "u4")]))


def run(code: bytes, frame: bytes, random: int) -> int:
    """Return what a program returns for a frame; net/core/filter.c of Linux."""
    instructions = list(struct.iter_unpack("=HBBI", code))
    accumulator, position = 0, 0
    while True:
        operation, taken, other, value = instructions[position]
        position += 1
        if operation == 0x20:  # BPF_LD | BPF_W | BPF_ABS; with an offset of extensions: random
            at = random if value == 0xFFFFF000 + 56 else struct.unpack_from("!I", frame, value)[0]
            accumulator = at
        elif operation == 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
            position += taken if accumulator == value else other
        elif operation == 0x05:  # BPF_JMP | BPF_JA
            position += value
        elif operation == 0x94:  # BPF_ALU | BPF_MOD | BPF_K
            accumulator %= value
        else:
            assert operation == 0x06  # BPF_RET | BPF_K
            return int(value)


def frame(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", "")) + bytes(60)


@pytest.mark.parametrize("number", [1, 2, 199, 200, 201, 450])
def test_a_program_matches_its_destinations_alone(number: int) -> None:
    macs = [host_mac(n) for n in range(1, number + 1)]
    for choices, random, found in ((1, 7, _WHOLE), (3, 6, _WHOLE), (3, 7, 0), (3, 8, 0)):
        code = program(macs, choices)
        for mac in {macs[0], macs[number // 2], macs[-1]}:
            assert run(code, frame(mac), random) == found, (mac, choices, random)
        assert run(code, frame(host_mac(number + 1)), random) == 0
    assert len(program(macs, 2)) // 8 < 4096  # BPF_MAXINSNS


def test_filters_one_after_another_take_equal_shares() -> None:
    ports = 4
    codes = [program([host_mac(1)], ports - number) for number in range(ports)]
    packet = frame(host_mac(1))
    taken: Counter[int] = Counter()
    for draws in itertools.product(range(12), repeat=ports - 1):
        matches = [run(code, packet, draw) for code, draw in zip(codes, (*draws, 0), strict=True)]
        taken[matches.index(_WHOLE)] += 1
    assert set(taken.values()) == {12 ** (ports - 1) // ports}


@pytest.mark.parametrize(
    ("packets", "good"),
    [
        ({"a": 5010, "b": 4990}, True),
        ({"a": 5400, "b": 4600}, False),
        ({"a": 10_000, "b": 0}, False),
        ({"a": 3320, "b": 3400, "c": 3280}, True),
        ({"a": 3320, "b": 3700, "c": 2980}, False),
        ({"a": 3, "b": 0}, True),
    ],
)
def test_the_check_is_of_the_link_that_is_farthest_off(packets: dict[str, int], good: bool) -> None:
    (check,) = check_spray.check(evidence(packets))
    assert check.ok is good
    assert check.expected == pytest.approx(1 / len(packets))


def test_a_choice_without_packets_is_not_judged() -> None:
    assert list(check_spray.check(evidence({"a": 0, "b": 0}))) == []
