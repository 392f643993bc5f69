"""Becomes a command that finds no IPv6, as on a kernel without it.

The bed runs this file where the kernel has IPv6: ``python3 -I -S -B ipv4_alone.py COMMAND...``. The
hosts' network is IPv4, and a server with a socket of both versions would be listed with those of
IPv6 alone. So ``socket`` fails as it does in a guest, by a filter of system calls (seccomp(2)).
32-bit programs and other means are left: it is no boundary.

Standard library only, and nothing of this project: it is run by its path.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # of BPF: LD W ABS, JMP JEQ K, RET K
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # in struct seccomp_data
_X86_64, _SOCKET, _AF_INET6 = 0xC000003E, 41, 10  # AUDIT_ARCH_X86_64, __NR_socket
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_FILTER = (
    (_LOAD, 0, 0, _ARCHITECTURE),
    (_IF_EQUAL, 0, 5, _X86_64),
    (_LOAD, 0, 0, _NUMBER),
    (_IF_EQUAL, 0, 3, _SOCKET),
    (_LOAD, 0, 0, _FIRST_ARGUMENT),
    (_IF_EQUAL, 0, 1, _AF_INET6),
    (_RETURN, 0, 0, _FAIL | errno.EAFNOSUPPORT),
    (_RETURN, 0, 0, _ALLOW),
)
"""Instructions of struct sock_filter: code, jumps if true and if false, value."""

_INSTRUCTION = struct.Struct("=HBBI")
_PROGRAM = struct.Struct("@HP")


def main() -> None:
    """Filter system calls, and become the command."""
    # Without new rights a user, too, may filter. The launcher gives them up anyway.
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    text = b"".join(_INSTRUCTION.pack(*each) for each in _FILTER)
    kept = ctypes.create_string_buffer(text, len(text))
    program = _PROGRAM.pack(len(_FILTER), ctypes.addressof(kept))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program))
    os.execv(sys.argv[1], sys.argv[1:])


def _prctl(option: int, value: int, address: object = None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), address, None, None) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


if __name__ == "__main__":
    main()
