"""Makes untrusted text safe to store and to show: no control characters, and a limited length.

A guest's console output and a stranger's scenario can hold escape sequences, which set a
terminal's title or clear its screen. They can hold characters that reverse the direction of text
or are invisible, and lines of any length. Each kind of output has its function here, and no other
module escapes text:

=================  ======================================================================
:func:`visible`    text of several lines: logs, errors, pages, files that people read
:func:`one_line`   text that has one line: a cell, a heading, a note, the title of a figure
:func:`latex`      a cell of a LaTeX table
:func:`markdown`   a cell of a Markdown table
:func:`csv_cell`   a cell of a CSV file, which a spreadsheet may open
:func:`pictured`   text of a page of the dashboard
:func:`visible_json`  a JSON document
=================  ======================================================================

HTML and XML have their own escapes (Jinja, ``html.escape``), which are applied to what
:func:`visible` or :func:`one_line` returns.
"""

from __future__ import annotations

import re

MOST_LINES = 10_000
MOST_LINE_CHARS = 4_000
"""Limits of a stored log."""

MOST_LOG_BYTES = 8 * 2**20
"""The most bytes of a log that are read: half from its start, half from its end."""

# C0 without tab and newline, DEL, C1; line and paragraph separators; lone surrogates, which UTF-8
# cannot hold; and what XML 1.0 cannot hold.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"

# All of category Cf, such as marks of text direction, and all that Unicode lets a font ignore
# (Default_Ignorable_Code_Point), such as fillers and variation selectors: with them two different
# names look equal. Emoji that are sequences are therefore shown with escapes.
_INVISIBLE = (
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[{_CONTROLS}{_INVISIBLE}]")


def visible(text: str) -> str:
    r"""Return the text with control and invisible characters as escapes, such as ``\x1b``.

    Tabs and line ends stay, and so does all other text.
    """
    return _UNSAFE.sub(_escaped, text)


def pictured(text: str) -> str:
    r"""Return the text for a page: C0 controls as Unicode's pictures of them, the rest by number.

    Tabs and line ends stay. Where the text is markup already, it stays valid markup.
    """
    return _UNSAFE.sub(_picture, text)


def one_line(text: str) -> str:
    r"""Return the text on one line: :func:`visible`, with tabs and line ends as escapes, too."""
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "<": r"$<$", ">": r"$>$", "−": r"$-$",
}  # fmt: skip


def latex(text: str) -> str:
    """Return the text as LaTeX that shows it, on one line.

    A text that begins with ``[`` or ``*`` gets ``{}`` before it: after a row's end ``\\\\`` LaTeX
    would take it as an argument.
    """
    made = "".join(_LATEX.get(letter, letter) for letter in one_line(text))
    return "{}" + made if made[:1] in ("[", "*") else made


def markdown(text: str) -> str:
    """Return the text as Markdown that shows it, on one line of a table.

    It is neither emphasis nor code, and where a reader's program knows them, no mathematics and no
    text that is struck through.
    """
    for special in ("\\", "|", "`", "*", "_", "~", "$"):
        text = text.replace(special, f"\\{special}")
    text = text.replace("](", r"]\(")  # which would be a link
    for special, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(special, entity)
    return one_line(text)


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
_QUANTITY = re.compile(r"-|[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s?[A-Za-zµ%/]*")


def csv_cell(value: object) -> object:
    """Return a value for a cell of CSV: text on one line that no spreadsheet takes for a formula.

    A text that begins like a formula and is no quantity gets an apostrophe before it, as OWASP
    advises ("CSV injection"). Values that are no text stay.
    """
    if not isinstance(value, str):
        return value
    text = one_line(value)
    is_formula = _FORMULA.match(text) and not _QUANTITY.fullmatch(text)
    return f"'{text}" if is_formula else text


def visible_json(text: str) -> str:
    r"""Return a JSON document with what :func:`visible` escapes as JSON's escapes: ``\u009b``.

    JSON itself escapes only those below U+0020, and only within strings.
    """
    return _UNSAFE.sub(_json_escape, text)


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


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"‹U+{code:04X}›"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    above = code - 0x10000  # JSON writes it as two surrogates
    return f"\\u{0xD800 + (above >> 10):04x}\\u{0xDC00 + (above & 0x3FF):04x}"
