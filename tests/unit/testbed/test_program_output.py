"""What is kept of a program's output."""

from __future__ import annotations

from orchestrator.protocol.programs import KEPT_OUTPUT_BYTES, MOST_PRINTED
from orchestrator.testbed.programs.output import Output


def of(*parts: bytes) -> Output:
    output = Output()
    for part in parts:
        output.take(part)
    return output


def test_a_short_output_is_kept_whole() -> None:
    assert of(b"one\n", b"", b"two\n").text() == "one\ntwo\n"


def test_of_a_long_output_the_begin_and_the_end_are_kept() -> None:
    half = KEPT_OUTPUT_BYTES // 2
    parts = [b"a" * (half - 1), b"b" * 5, b"c" * KEPT_OUTPUT_BYTES, b"end"]
    output = of(*parts)
    whole = b"".join(parts)
    text = output.text()
    assert output.size_bytes == len(whole)
    assert text.startswith(whole[:half].decode() + "\n[... ")
    assert text.endswith(" bytes ...]\n" + whole[-half:].decode())
    assert f"[... {len(whole) - 2 * half} bytes ...]" in text


def test_bytes_that_are_no_text_are_escaped_within_the_limit() -> None:
    assert of(b"\xff\x00").text() == "\\xff\x00"
    assert len(of(b"\xff" * (1 << 20)).text()) <= MOST_PRINTED


def test_the_parts_in_which_it_comes_change_nothing() -> None:
    whole = bytes(range(256)) * 200
    by_bytes = of(*(whole[n : n + 1] for n in range(len(whole))))
    assert by_bytes.text() == of(whole).text()
