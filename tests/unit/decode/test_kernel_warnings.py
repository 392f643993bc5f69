"""Warnings of a guest's kernel: which lines of the console are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.decode import kernel_warnings
from orchestrator.protocol.reports.console import BEGINS, ENDS

# As UML's kernel 6.12 prints it.
SPLAT = """\
------------[ cut here ]------------
WARNING: CPU: 0 PID: 40 at /tcp_mycc.c:12 mycc_cong_avoid+0x1c/0x40 [tcp_mycc]
Modules linked in: tcp_mycc(O) sch_link(O)
CPU: 0 UID: 0 PID: 40 Comm: python3 Tainted: G           O       6.12.117 #1
Stack:
 60a2f0c0 60044c1a 61a33b40 0
Call Trace:
 [<60044c1a>] ? _printk+0x0/0x98
---[ end trace 0000000000000000 ]---
"""
ATOMIC = """\
BUG: scheduling while atomic: python3/40/0x00000002
Modules linked in: tcp_mycc(O)
CPU: 0 UID: 0 PID: 40 Comm: python3
 [<60044c1a>] ? _printk+0x0/0x98
"""


@pytest.mark.parametrize(
    ("during", "count", "first"),
    [
        ("", 0, ""),
        ("tcp_mycc: ack 7\n" * 3, 3, "tcp_mycc: ack 7"),
        (SPLAT * 2, 2, "WARNING: CPU: 0 PID: 40 at /tcp_mycc.c:12 mycc_cong_avoid"),
        (ATOMIC + "netem: broken\n", 2, "BUG: scheduling while atomic"),
        ("[  30.000001] tcp_mycc: \x1b[31m\n", 1, "tcp_mycc: "),
    ],
)
def test_each_message_counts_once(during: str, count: int, first: str) -> None:
    before = "tcp_mycc: loading out-of-tree module taints kernel.\n" + SPLAT
    text = f"{before}{BEGINS}\n{during}{ENDS}\nreboot: Power down\n"
    found = kernel_warnings.counted(text.splitlines(keepends=True))
    assert found is not None
    assert found.number == count
    assert found.first.startswith(first)
    assert "\x1b" not in found.first


def test_a_console_without_traffic_says_nothing(tmp_path: Path) -> None:
    assert kernel_warnings.counted(SPLAT.splitlines()) is None
    assert kernel_warnings.read(tmp_path / "console") is None
    console = tmp_path / "console"
    console.write_bytes(f"{BEGINS}\nlost \xff\n".encode("latin-1"))
    assert kernel_warnings.read(console) == (1, "lost \N{REPLACEMENT CHARACTER}")
