"""Kernel modules of this lab host: loads them, sets parameters, and describes them."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess

from orchestrator.protocol.kernel_modules import COUNTS
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel.modules import is_there

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable

    from orchestrator.protocol.examination import CongestionState
    from orchestrator.protocol.specification import AgentModuleSpec
    from orchestrator.testbed.lab.undo_log import UndoLog

_MODULES = "/sys/module"


def present() -> list[str]:
    """Return the names of the congestion controls that the kernel has now."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as text:
        return text.read().split()


def provide(name: str) -> bool:
    """Have the kernel load a congestion control if needed; return whether the kernel has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True


def load(requested: Iterable[AgentModuleSpec], undo_log: UndoLog) -> None:
    """Load modules and set their parameters; note in ``undo_log`` what must be undone.

    Raises:
        BuildError: the kernel has no such congestion control or parameter, or another value than
            the one that was set.
    """
    for module_spec in requested:
        name, module = module_spec["congestion"], f"tcp_{module_spec['congestion']}"
        if name not in present():
            undo_log.note("module", module=module)
            if not provide(name):
                raise BuildError(f"there is no congestion control {name}")
        for parameter, value in module_spec["parameters"].items():
            _set(module, parameter, value, undo_log)


def load_counts(undo_log: UndoLog) -> None:
    """Load our module run_counts, which counts datagrams; note what must be undone.

    Raises:
        BuildError: it is not installed.
    """
    if is_there(COUNTS):
        return
    undo_log.note("module", module=COUNTS)
    done = subprocess.run(["modprobe", COUNTS], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"modprobe {COUNTS}: {done.stderr.strip()}")


def _set(module: str, parameter: str, value: int, undo_log: UndoLog) -> None:
    path = f"{_MODULES}/{module}/parameters/{parameter}"
    try:
        with open(path) as file:
            before = file.read().strip()
        if _number(before) == value:
            return
        undo_log.note("parameter", file=path, value=before)
        with open(path, "w") as file:
            file.write(str(value))
        with open(path) as file:
            applied = file.read().strip()
    except OSError as error:
        raise BuildError(f"{module}: {parameter}={value}: {error.strerror}") from None
    if _number(applied) != value:
        raise BuildError(f"{module}: {parameter} is {applied}, requested was {value}")


def _number(text: str) -> int:
    return int({"Y": "1", "N": "0"}.get(text, text), 0)


def describe(name: str) -> CongestionState:
    """Return what is known of a congestion control that the kernel has."""
    folder = f"{_MODULES}/tcp_{name}"
    try:
        parameters = sorted(os.listdir(f"{folder}/parameters"))
    except OSError:
        parameters = []
    return {
        "version": _read(f"{folder}/version"),
        "srcversion": _read(f"{folder}/srcversion"),
        "sha256": _hash(f"tcp_{name}"),
        "parameters": parameters,
    }


def _read(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read().strip() or None
    except OSError:
        return None


def _hash(module: str) -> str | None:
    """Return the SHA-256 of the file that modprobe would load; None where there is none."""
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
