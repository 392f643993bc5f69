"""Makes text from elsewhere safe to store and to show: no control characters, bounded length.

What a guest writes to its console can hold escape sequences that set a terminal's title or clear
its screen, characters that reverse the direction of text, and lines of any length.
"""

from __future__ import annotations

import re

MOST_LINES = 10_000
MOST_LINE_CHARS = 4_000
"""Of a log as it is stored."""

MOST_LOG_BYTES = 8 * 2**20
"""Of a log that is read at all: half of them from its start, half from its end."""

# C0 without tab and newline, DEL, C1; marks, embeddings and isolates of text direction; line and
# paragraph separators; lone surrogates, which UTF-8 cannot hold; and what XML 1.0 cannot hold.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Return the text with control characters as escapes, such as ``\x1b``.

    Tabs and ends of lines stay. Text that is clean already stays as it is.
    """
    return _UNSAFE.sub(_escaped, text)


def visible_json(text: str) -> str:
    r"""Return a JSON document with all control characters as JSON's escapes, such as ``\u009b``.

    JSON itself escapes only those below U+0020, and only within texts.
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(text: str, most_chars: int = MOST_LINE_CHARS) -> str:
    """Return the text without its middle where it is longer than ``most_chars``.

    A mark says how many characters are left out; it comes in addition.
    """
    if len(text) <= most_chars:
        return text
    head, tail = most_chars - most_chars // 2, most_chars // 2
    left_out = f"[... {len(text) - most_chars} characters left out ...]"
    return text[:head] + left_out + text[len(text) - tail :]


def bounded(text: str, most_lines: int = MOST_LINES, most_chars: int = MOST_LINE_CHARS) -> str:
    """Return a log as it is stored: clean, with its first and last lines, none of them long."""
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > most_lines + 1:  # behind the last end of a line there is an empty one
        head, tail = most_lines - most_lines // 2, most_lines // 2 + 1
        left_out = len(lines) - head - tail
        lines = [*lines[:head], f"[... {left_out} lines left out ...]", *lines[-tail:]]
    return "\n".join(visible(shortened(line, most_chars)) for line in lines)


def decoded(head: bytes, tail: bytes = b"", left_out_bytes: int = 0) -> str:
    """Return the log of which these bytes are the start and the end, as it is stored."""
    text = head.decode("utf-8", "replace")
    if left_out_bytes:
        text += f"\n[... {left_out_bytes} bytes left out ...]\n" + tail.decode("utf-8", "replace")
    return bounded(text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
