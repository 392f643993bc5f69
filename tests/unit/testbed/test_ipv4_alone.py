"""Users' programs on real machines have no sockets of IPv6."""

from __future__ import annotations

import subprocess
import sys

from orchestrator.testbed.programs import ipv4_alone

SCRIPT = """
import errno, os, socket

for family in (socket.AF_INET, socket.AF_UNIX):
    socket.socket(family).close()
if not os.fork():
    with open("/proc/self/status") as status:
        filters = [line.split()[1] for line in status if line.startswith("Seccomp:")]
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(socket.AF_INET6, kind)
        except OSError as error:
            print(*filters, errno.errorcode[error.errno])
    os._exit(0)
os.wait()
"""


def test_a_program_and_its_children_find_no_ipv6() -> None:
    words = ["-I", "-S", "-B", ipv4_alone.__file__, sys.executable, "-c", SCRIPT]
    said = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines() == ["2 EAFNOSUPPORT", "2 EAFNOSUPPORT"]  # 2 is a filter
