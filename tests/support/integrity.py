"""Stores whose content was spoilt."""

from __future__ import annotations

import random


def held(content: bytes) -> list[int]:
    """The places of 64 bytes that hold something: the free space of a page is zeros."""
    return [at for at in range(len(content) - 64) if content.count(0, at, at + 64) < 32]


def overwritten(content: bytes, places: list[int], number: int) -> bytes:
    """The content with 64 random bytes at one of the places."""
    draw = random.Random(number)
    place = draw.choice(places)
    return content[:place] + draw.randbytes(64) + content[place + 64 :]
