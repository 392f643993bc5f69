"""Congestion-control modules of this host: loading them, their parameters, what they are."""

import hashlib
import os
import socket

from orchestrator.testbed.errors import BuildError

_MODULES = "/sys/module"
_TELLING = ("version", "srcversion")


def present():
    """Return the names of the congestion controls that the kernel has now."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as text:
        return text.read().split()


def provide(name):
    """Let the kernel have that congestion control, loading its module; return whether it does."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


def load(wanted, ledger):
    """Load modules and set their parameters, each [{"congestion", "parameters"}].

    Raises:
        BuildError: the kernel has none, no such parameter, or another value than the one set.
    """
    for one in wanted:
        name, module = one["congestion"], f"tcp_{one['congestion']}"
        if name not in present():
            ledger.note("module", module=module)
            if not provide(name):
                raise BuildError(f"there is no congestion control {name}")
        for parameter, value in one["parameters"].items():
            _set(module, parameter, value, ledger)


def _set(module, parameter, value, ledger):
    path = f"{_MODULES}/{module}/parameters/{parameter}"
    try:
        with open(path) as file:
            before = file.read().strip()
        if _number(before) == value:
            return
        ledger.note("parameter", file=path, value=before)
        with open(path, "w") as file:
            file.write(str(value))
        with open(path) as file:
            found = file.read().strip()
    except OSError as error:
        raise BuildError(f"{module}: {parameter}={value}: {error.strerror}") from None
    if _number(found) != value:
        raise BuildError(f"{module}: {parameter} is {found}, asked was {value}")


def _number(text):
    return int({"Y": "1", "N": "0"}.get(text, text), 0)


def describe(name):
    """Return what is known of a congestion control that the kernel has.

    {"version", "srcversion", "sha256" of its file, "parameters": names}, each None or empty where
    it is built in or does not say. Modules of the same sources have the same srcversion.
    """
    folder = f"{_MODULES}/tcp_{name}"
    found = {key: _read(f"{folder}/{key}") for key in _TELLING}
    found["sha256"] = _hash(f"tcp_{name}")
    try:
        found["parameters"] = sorted(os.listdir(f"{folder}/parameters"))
    except OSError:
        found["parameters"] = []
    return found


def _read(path):
    try:
        with open(path) as file:
            return file.read().strip() or None
    except OSError:
        return None


def _hash(module):
    """Return the SHA-256 of the module's file where modprobe would find it."""
    root = f"/lib/modules/{os.uname().release}"
    try:
        with open(f"{root}/modules.dep") as lines:
            paths = [line.partition(":")[0] for line in lines]
    except OSError:
        return None
    for path in paths:
        if os.path.basename(path).partition(".")[0].replace("-", "_") == module:
            with open(os.path.join(root, path), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
    return None
