"""Unpacks what zlib has compressed, without believing how large it is."""

from __future__ import annotations

import zlib


def inflated(compressed: bytes, most_bytes: int) -> bytes:
    """Return the content; a byte more than ``most_bytes`` is never unpacked.

    Raises:
        ValueError: it is larger, ends early, is followed by other bytes, or is no such content. The
            message completes a sentence about it.
    """
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(compressed, most_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"cannot be read: {error}") from error
    if len(content) > most_bytes:
        raise ValueError(f"must not have more than {most_bytes} bytes")
    if not stream.eof:
        raise ValueError("must not end early")
    if stream.unused_data:
        raise ValueError(f"must not be followed by {len(stream.unused_data)} bytes")
    return content
