"""Filters the frames of a run's flows out of all that an interface of a lab host carries.

The interface is not the run's alone. Connections of others, such as that of the controller, may use
it, too, and are not to be kept. The filter is a program that the kernel runs for each frame.
Source: Documentation/networking/filter.rst, include/uapi/linux/bpf_common.h.
"""

from __future__ import annotations

from orchestrator.testbed.sampling.packet_capture import INSTRUCTION, RETURN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Instruction = tuple[int, int, int, int]
    """Code, places to jump if true, places to jump if not, and the constant."""

_LOAD_HALF, _LOAD_BYTE, _LOAD_WORD = 0x28, 0x30, 0x20
_LOAD_HALF_BEHIND_X, _X_IP_HEADER_BYTES = 0x48, 0xB1
_JUMP, _IF_EQUAL, _IF_GREATER, _IF_AT_LEAST, _IF_ANY_BIT = 0x05, 0x15, 0x25, 0x35, 0x45
_TYPE_AT, _IPV4 = 12, 0x0800
_IP_AT = 14
_FRAGMENT_AT, _FRAGMENT_OFFSET = _IP_AT + 6, 0x1FFF
_PROTOCOL_AT, _TCP, _UDP = _IP_AT + 9, 6, 17
_ADDRESSES_AT = (_IP_AT + 12, _IP_AT + 16)
_PORTS_AT = (_IP_AT, _IP_AT + 2)
"""Of source and destination, behind as many bytes as the header of IPv4 has."""
_MOST_INSTRUCTIONS = 4096
"""BPF_MAXINSNS."""


def program(
    peers: Sequence[bytes], ports: Sequence[tuple[int, int]], kept_bytes: int
) -> list[bytes]:
    """Return the instructions of a filter for frames with TCP or UDP over IPv4.

    Args:
        peers: IPv4 addresses, of which a frame comes from one or goes to one.
        ports: ranges, first and last port; a frame comes from one of their ports or goes to one.
        kept_bytes: how many bytes of such a frame are kept.

    Raises:
        ValueError: the kernel takes no filter that is so long.
    """
    refuse = [(RETURN, 0, 0, 0)]
    numbers = [int.from_bytes(peer, "big") for peer in peers]
    by_port = [*_either(_LOAD_HALF_BEHIND_X, _PORTS_AT, _in_ranges(ports)), *refuse]
    by_peer = [*_either(_LOAD_WORD, _ADDRESSES_AT, _equals(numbers)), *refuse]
    made = [
        (_LOAD_HALF, 0, 0, _TYPE_AT),
        (_IF_EQUAL, 1, 0, _IPV4),
        *refuse,
        (_LOAD_BYTE, 0, 0, _PROTOCOL_AT),
        (_IF_EQUAL, 2, 0, _TCP),
        (_IF_EQUAL, 1, 0, _UDP),
        *refuse,
        (_LOAD_HALF, 0, 0, _FRAGMENT_AT),
        (_IF_ANY_BIT, 0, 1, _FRAGMENT_OFFSET),  # without ports
        *refuse,
        *_resolved(by_peer),
        (_X_IP_HEADER_BYTES, 0, 0, _IP_AT),
        *_resolved(by_port),
        (RETURN, 0, 0, kept_bytes),
    ]
    if len(made) > _MOST_INSTRUCTIONS:
        raise ValueError(f"{len(peers)} peers and {len(ports)} ranges of ports are too many")
    return [INSTRUCTION.pack(*instruction) for instruction in made]


_ACCEPT = -1
"""In place of the distance of a jump: to behind the part of the program that it is in."""


def _equals(values: Sequence[int]) -> list[Instruction]:
    """Return instructions that jump to the end of their part if the loaded value is one of some."""
    return [step for value in values for step in ((_IF_EQUAL, 0, 1, value), (_JUMP, 0, 0, _ACCEPT))]


def _in_ranges(ranges: Sequence[tuple[int, int]]) -> list[Instruction]:
    return [
        step
        for first, last in ranges
        for step in (
            (_IF_AT_LEAST, 0, 2, first),
            (_IF_GREATER, 1, 0, last),
            (_JUMP, 0, 0, _ACCEPT),
        )
    ]


def _either(load: int, places: Sequence[int], test: Sequence[Instruction]) -> Iterator[Instruction]:
    for place in places:
        yield (load, 0, 0, place)
        yield from test


def _resolved(part: Sequence[Instruction]) -> Iterator[Instruction]:
    """Yield a part of the program with the distances of its jumps to the end."""
    for index, (code, if_true, if_false, constant) in enumerate(part):
        if (code, constant) == (_JUMP, _ACCEPT):
            yield (code, if_true, if_false, len(part) - index - 1)
        else:
            yield (code, if_true, if_false, constant)
