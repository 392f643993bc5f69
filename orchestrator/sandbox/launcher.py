"""Runs first inside the sandbox: sets limits, Landlock and a fixed address layout.

    python3 -I -S -B launcher.py KEY=NUMBER... [write=FOLDER...] -- COMMAND [ARGUMENT...]

Keys are names of the resource module in lower case without ``rlimit_`` (``as``, ``nproc``,
``fsize``, ``nofile``, ``core``), ``landlock`` (version of its interface, 0 without) and ``fixed``
(1: addresses are not randomised). The number of processes is limited here and not outside,
because only in the sandbox's own user namespace are other processes of the user not counted.

Standard library only. Source: personality(2), landlock(7), linux/landlock.h.
"""

import ctypes
import os
import resource
import struct
import sys

ADDR_NO_RANDOMIZE = 0x0040000
PR_SET_NO_NEW_PRIVS = 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1

EXECUTE, READ_FILE, READ_DIR = 1 << 0, 1 << 2, 1 << 3
RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version of the interface knows, in the order of their bits."""
BIND_TCP_CONNECT_TCP = 0b11
SCOPE_ABSTRACT_SOCKETS_SIGNALS = 0b11

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Apply the settings in the arguments and become the command."""
    end = arguments.index("--")
    settings = [argument.split("=", 1) for argument in arguments[:end]]
    numbers = {key: int(value) for key, value in settings if key != "write"}
    version = numbers.pop("landlock", 0)
    if numbers.pop("fixed", 0) and _libc.personality(ADDR_NO_RANDOMIZE) < 0:
        fail("personality")
    for key, value in numbers.items():
        limit(getattr(resource, f"RLIMIT_{key.upper()}"), value)
    if version:
        restrict(version, [value for key, value in settings if key == "write"])
    command = arguments[end + 1 :]
    os.execvp(command[0], command)


def limit(kind: int, value: int) -> None:
    """Set a soft and hard limit, unless the hard limit is lower already."""
    _soft, hard = resource.getrlimit(kind)
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (lowest, lowest))


def restrict(version: int, writable: list[str]) -> None:
    """Allow to read and run all files, to change only those below ``writable``, and no TCP."""
    every = (1 << RIGHTS_OF_VERSION[min(version, max(RIGHTS_OF_VERSION))]) - 1
    size, more = 8, b""
    if version >= 4:
        size, more = 16, struct.pack("=Q", BIND_TCP_CONNECT_TCP)
    if version >= 6:
        size, more = 24, more + struct.pack("=Q", SCOPE_ABSTRACT_SOCKETS_SIGNALS)
    attributes = struct.pack("=Q", every) + more
    ruleset = call(CREATE_RULESET, attributes, size, 0)
    rules = [("/", EXECUTE | READ_FILE | READ_DIR), *((folder, every) for folder in writable)]
    for folder, rights in rules:
        place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        call(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
        os.close(place)
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        fail("no_new_privs")
    call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def call(number: int, *arguments: object) -> int:
    """Make a system call; exit when it fails."""
    result: int = _libc.syscall(number, *arguments)
    if result < 0:
        fail(f"landlock call {number}")
    return result


def fail(what: str) -> None:
    """Exit with a message on standard error that names what failed and why."""
    sys.exit(f"launcher: {what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(sys.argv[1:])
