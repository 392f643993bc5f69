"""Makes untrusted text safe to store and to show: no control characters, and a limited length.

A guest's console output can hold escape sequences that set a terminal's title or clear its screen,
characters that reverse the direction of text, and lines of any length.
"""

from __future__ import annotations

import re

MOST_LINES = 10_000
MOST_LINE_CHARS = 4_000
"""Limits of a stored log."""

MOST_LOG_BYTES = 8 * 2**20
"""The most bytes of a log that are read: half from its start, half from its end."""

# C0 without tab and newline, DEL, C1; marks, embeddings and isolates of text direction; line and
# paragraph separators; lone surrogates, which UTF-8 cannot hold; and what XML 1.0 cannot hold.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Return the text with control characters as escapes, such as ``\x1b``.

    Tabs and line ends stay, and so does text without control characters.
    """
    return _UNSAFE.sub(_escaped, text)


def visible_json(text: str) -> str:
    r"""Return a JSON document with all control characters as JSON's escapes, such as ``\u009b``.

    JSON itself escapes only those below U+0020, and only within strings.
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, most_chars: int = MOST_LINE_CHARS) -> str:
    """Return the text without its middle when it is longer than ``most_chars``.

    A mark gives the number of characters left out; it is not counted.
    """
    if len(text) <= most_chars:
        return text
    head, tail = most_chars - most_chars // 2, most_chars // 2
    left_out = f"[... {len(text) - most_chars} characters left out ...]"
    return text[:head] + left_out + text[len(text) - tail :]


def bounded(text: str, most_lines: int = MOST_LINES, most_chars: int = MOST_LINE_CHARS) -> str:
    """Return a log for the store: its first and last lines, shortened, with escapes."""
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > most_lines + 1:  # an empty one follows the last line end
        head, tail = most_lines - most_lines // 2, most_lines // 2 + 1
        left_out = len(lines) - head - tail
        lines = [*lines[:head], f"[... {left_out} lines left out ...]", *lines[-tail:]]
    return "\n".join(visible(shortened(line, most_chars)) for line in lines)


def decoded(head: bytes, tail: bytes = b"", left_out_bytes: int = 0) -> str:
    """Return the stored form of a log that has these bytes at its start and its end."""
    text = head.decode("utf-8", "replace")
    if left_out_bytes:
        text += f"\n[... {left_out_bytes} bytes left out ...]\n" + tail.decode("utf-8", "replace")
    return bounded(text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
