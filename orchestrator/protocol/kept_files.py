"""Files that are kept of what users' programs leave in their folders: limits, names and reasons."""

from __future__ import annotations

import re

FILE = "kept.bin"
"""In a bed's output folder: contents one after the other, in the order of the facts ``kept``."""

MOST_FILES, MOST_BYTES = 100, 8 << 20
"""Of a program: files, and bytes of all of them together."""

MOST_RUN_BYTES = 64 << 20
"""Of all programs of a run together."""

MOST_NAME_BYTES = 200
"""Of a file's path in its program's folder."""

MOST_LEFT_OUT = 100
"""Files of a program that are listed with the reason why they are not kept; others are counted."""

MOST_LOOKED_AT = 10_000
"""Entries of a program's folders that are compared with patterns."""

REASONS = {
    "missing": "nothing has this name",
    "kind": "it is no regular file",
    "name": f"its name has more than {MOST_NAME_BYTES} bytes, or characters that cannot be shown",
    "size": f"with it, the program's files would have more than {MOST_BYTES >> 20} MiB",
    "number": f"{MOST_FILES} files of the program are kept already",
    "run": f"with it, the run's files would have more than {MOST_RUN_BYTES >> 20} MiB",
    "entries": f"only {MOST_LOOKED_AT} entries of the program's folders are looked at",
    "more": f"only {MOST_LEFT_OUT} files that are not kept are listed",
}
"""Why something is not kept, in words."""

_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""What ``orchestrator/plaintext.py`` escapes, with tabs and line ends, which a test compares."""

_UNSAFE = re.compile(f"[{_HIDDEN}]")


def is_name(name: str) -> bool:
    """Tell whether a path may be that of a kept file.

    It is relative, has no ``.`` and no ``..``, is UTF-8, and all of its characters are visible.
    """
    if _UNSAFE.search(name) or len(name.encode()) > MOST_NAME_BYTES:
        return False
    return not {"", ".", ".."} & set(name.split("/"))


def shown_name(name: str) -> str:
    """Return any path as text that can be shown: with escapes, and cut off."""
    escaped = "".join(_escaped(character) for character in name[: MOST_NAME_BYTES // 2])
    return escaped if len(name) <= MOST_NAME_BYTES // 2 else f"{escaped}..."


def _escaped(character: str) -> str:
    if not _UNSAFE.match(character):
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as os.fsdecode() returns it
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
