"""Kernel modules of a real machine for one run: loads them, sets and restores their parameters.

A module that was loaded before stays loaded, and its parameters are restored. Modules of the
machine are loaded by modprobe and stay loaded. A module that came with the run
(IN/modules/NAME.ko) is unloaded again.
"""

from __future__ import annotations

import contextlib
import glob
import os
import select
import signal
import subprocess

from orchestrator.protocol.kernel_modules import ALWAYS, BUILT_IN, COUNTS, SPRAYING
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Mapping
    from typing import Any, NoReturn

    from orchestrator.protocol.specification import TestbedSpec

SYSFS = "/sys/module"
_TRIES, _RETRY_NS = 100, 50_000_000
"""A module is in use until the kernel has removed the run's sockets, which takes up to 5 s."""


def needed(spec: TestbedSpec) -> set[str]:
    """Return the names of the modules that a run needs of the machine."""
    names = {*ALWAYS}
    if spec["switches"]:
        names.add("openvswitch")
    if spec.get("sprays"):
        names.update(SPRAYING)
    for link in spec["links"]:
        for direction in ("forward", "reverse"):
            channel = link[direction]
            if channel["queue"] is not None:
                names.add(f"sch_{channel['queue']['kind']}")
            if channel["policer"] is not None:
                names.add("act_police")
    return names - BUILT_IN | {module["name"] for module in spec["modules"]}


def can_be_there(name: str) -> bool:
    """Tell whether that module is loaded, built in or can be loaded."""
    if is_there(name):
        return True
    tried = subprocess.run(
        ["modprobe", "--dry-run", "--quiet", name], capture_output=True, check=False
    )
    return tried.returncode == 0


def is_there(name: str) -> bool:
    """Tell whether that module is loaded or built in."""
    return os.path.isdir(f"{SYSFS}/{name.replace('-', '_')}") or name in _built_in()


def _built_in() -> set[str]:
    try:
        with open(f"/lib/modules/{os.uname().release}/modules.builtin") as table:
            return {
                os.path.basename(line.strip()).removesuffix(".ko").replace("-", "_")
                for line in table
            }
    except FileNotFoundError:
        return set()


@contextlib.contextmanager
def loaded(spec: TestbedSpec, given: str) -> Iterator[dict[str, dict[str, Any]]]:
    """Load the run's modules for the time of the body, and restore the machine's state.

    Yields:
        {name of a module of the specification: {"parameters": {name: value}, "version" ...}}.

    Raises:
        RuntimeError: a module cannot be loaded or unloaded, or does not take a parameter.
    """
    own = {
        os.path.basename(path).removesuffix(".ko"): path
        for path in glob.glob(f"{given}/modules/*.ko")
    }
    missing = [name for name in sorted(needed(spec)) if name not in own and not is_there(name)]
    if COUNTS not in own and not is_there(COUNTS) and can_be_there(COUNTS):
        missing.append(COUNTS)
    for name in missing:
        _modprobe(name)
    with contextlib.ExitStack() as undone:
        for module in spec["modules"]:
            name = module["name"]
            if name in own:
                _load_own(own[name], name)
                undone.callback(_unload, name)
        parameters = {
            module["name"]: dict(text.split("=", 1) for text in module["parameters"].split())
            for module in spec["modules"]
        }
        with _parameters(parameters):
            yield {name: _described(name) for name in parameters}


def _modprobe(name: str) -> None:
    command = ["modprobe", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def _load_own(path: str, name: str) -> None:
    if is_there(name):
        raise RuntimeError(
            f"a module {name} is loaded already, and this run brings one of its own: rmmod {name}"
        )
    system.load_module(path, "")


def _unload(name: str) -> None:
    timer = system.Timer()
    for _try in range(_TRIES):
        try:
            system.unload_module(name.replace("-", "_"))
            return
        except BlockingIOError:
            timer.sleep_until(system.monotonic_ns() + _RETRY_NS)
    raise RuntimeError(f"module {name} is still in use after the run")


@contextlib.contextmanager
def _parameters(requested: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Set parameters ({module: {name: value}}), and restore them in every case."""
    texts = {
        f"{SYSFS}/{module.replace('-', '_')}/parameters/{name}": value
        for module, values in requested.items()
        for name, value in values.items()
    }
    if not texts:
        yield
        return
    before = {}
    for path in texts:
        try:
            with open(path) as file:
                before[path] = file.read()
        except FileNotFoundError:
            raise RuntimeError(f"{path} is not there: the module takes no such parameter") from None
    # The pipe closes when this process closes its end or ends in any way.
    end_of_run, held_end = os.pipe()
    restorer = os.fork()
    if restorer == 0:
        os.close(held_end)
        _restore_parameters(end_of_run, before)
    os.close(end_of_run)
    try:
        for path, value in texts.items():
            _write(path, value)
        yield
    finally:
        os.close(held_end)
        _pid, status = os.waitpid(restorer, 0)
    if status:
        raise RuntimeError(f"not all parameters could be restored: {', '.join(before)}")


def _restore_parameters(end_of_run: int, texts: Mapping[str, str]) -> NoReturn:
    """Wait for the pipe's end, write the texts to the files, and exit; the parameter restorer."""
    status = 1
    try:
        os.setsid()  # a signal to the bed's process group must not end this process
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        select.select([end_of_run], [], [])
        for path, text in texts.items():
            _write(path, text)
        status = 0
    finally:
        os._exit(status)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise RuntimeError(f"{path} cannot be set to {text.strip()}: {error.strerror}") from None


def _described(name: str) -> dict[str, Any]:
    """Return the version and the parameters of a loaded module, as the machine has them."""
    folder = f"{SYSFS}/{name.replace('-', '_')}"
    description = {}
    for key in ("version", "srcversion", "taint"):
        with contextlib.suppress(FileNotFoundError), open(f"{folder}/{key}") as file:
            description[key] = file.read().strip()
    parameters = {}
    for path in sorted(glob.glob(f"{folder}/parameters/*")):
        with contextlib.suppress(OSError), open(path) as file:
            parameters[os.path.basename(path)] = file.read().strip()
    return {**description, "parameters": parameters}
