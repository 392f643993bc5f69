"""Checks how the guest's kernel treats congestion-control modules, without any traffic.

``python3 -m orchestrator.testbed.module_check FILE`` reads a JSON list of ``ModuleCheck``. It
prints, for each module, the list of its ``ModuleAnswer``. Both are in protocol/examination.py.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys

from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Mapping

    from orchestrator.protocol.examination import (
        ModuleAnswer,
        ModuleCheck,
        Observed,
        ParameterCheck,
    )

LOADED, UNLOADED, WRITTEN = "loaded", "unloaded", "written"
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"


def main(path: str) -> None:
    """Print the answers about every module in that file."""
    with open(path) as text:
        modules: list[ModuleCheck] = json.load(text)
    print(json.dumps([_ModuleTest(module).answers() for module in modules]))


class _ModuleTest:
    """The checks of one module."""

    def __init__(self, module: ModuleCheck) -> None:
        self._name, self._file = module["name"], module["file"]
        self._parameters, self._settings = module["parameters"], module["settings"]
        self._kernel_name = os.path.basename(self._file).removesuffix(".ko")
        self._answers: list[ModuleAnswer] = []

    def answers(self) -> list[ModuleAnswer]:
        """Load and unload the module in every way to be checked; stop if it never loads."""
        loaded = self._load({})
        self._expect("loads", "with its defaults", LOADED, loaded)
        if loaded != LOADED:
            return self._answers
        self._expect("loads", "is offered to sockets", True, self._is_offered())
        self._read_all(
            "by default", {declared["name"]: declared["default"] for declared in self._parameters}
        )
        for setting in self._settings:
            self._check_setting(setting)
        self._use_and_unload()
        if self._parameters:
            lowest = {declared["name"]: declared["low"] for declared in self._parameters}
            highest = {declared["name"]: declared["high"] for declared in self._parameters}
            self._check_values("all at their low ends", lowest)
            self._check_values("all at their high ends", highest)
        for parameter in self._parameters:
            for value in parameter["bad"]:
                self._refuse(parameter["name"], value)
        return self._answers

    def _expect(
        self,
        about: str,
        action: str,
        expected: Observed,
        observed: Observed,
        parameter: str | None = None,
    ) -> None:
        """Note an answer."""
        self._answers.append(
            {
                "about": about,
                "parameter": parameter,
                "asked": action,
                "wanted": expected,
                "got": observed,
            }
        )

    def _use_and_unload(self) -> None:
        user = socket.socket()
        option = (socket.IPPROTO_TCP, socket.TCP_CONGESTION)
        used = _result(lambda: user.setsockopt(*option, self._name.encode()), self._name)
        if used == self._name:
            used = user.getsockopt(*option, 16).rstrip(b"\0").decode()
        self._expect("loads", "a socket that asks for it gets", self._name, used)
        self._expect("unloads", "while a socket uses it", "EAGAIN", self._unload())
        user.close()
        self._expect("unloads", "when nothing uses it", UNLOADED, self._unload())
        self._expect("unloads", "is still offered to sockets", False, self._is_offered())
        left = [
            setting["name"]
            for setting in self._settings
            if os.path.exists(_sysctl(setting["name"]))
        ]
        self._expect("unloads", "leaves settings", [], left)

    def _check_values(self, which: str, values: Mapping[str, int]) -> None:
        self._expect("parameters", f"load with {which}", LOADED, self._load(values))
        self._read_all(which, values)
        self._expect("unloads", f"after a load with {which}", UNLOADED, self._unload())

    def _read_all(self, when: str, values: Mapping[str, int | None]) -> None:
        folder = f"/sys/module/{self._kernel_name}/parameters"
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        self._expect("parameters", f"their names, {when}", sorted(values), names)
        for name, value in values.items():
            text = _text_or_error(f"{folder}/{name}")
            self._expect("parameters", when, str(value), text, name)

    def _refuse(self, name: str, value: str) -> None:
        outcome = self._load({name: value})
        self._expect("refuses", value, "EINVAL", outcome, name)
        if outcome == LOADED:
            self._unload()

    def _check_setting(self, setting: ParameterCheck) -> None:
        """Set it in a new network namespace, and see that this one keeps its value."""
        name, path = setting["name"], _sysctl(setting["name"])
        default, high = str(setting["default"]), str(setting["high"])
        home = system.current_network_namespace()
        other = system.new_network_namespace()
        self._expect("parameters", "in a new namespace", default, _text_or_error(path), name)
        self._expect("parameters", f"set to {high}", WRITTEN, _write(path, high), name)
        after = f"after it was set to {high}"
        self._expect("parameters", after, high, _text_or_error(path), name)
        for value in setting["bad"]:
            self._expect("refuses", value, "EINVAL", _write(path, value), name)
            after = f"after {value} was refused"
            self._expect("parameters", after, high, _text_or_error(path), name)
        system.enter(home)
        self._expect("parameters", "in another namespace", default, _text_or_error(path), name)
        os.close(other)
        os.close(home)

    def _load(self, values: Mapping[str, int | str]) -> str:
        if os.path.exists(f"/sys/module/{self._kernel_name}"):
            return "loaded already"
        text = " ".join(f"{name}={value}" for name, value in values.items())
        return _result(lambda: system.load_module(self._file, text), LOADED)

    def _unload(self) -> str:
        return _result(lambda: system.unload_module(self._kernel_name), UNLOADED)

    def _is_offered(self) -> bool:
        return self._name in _read(AVAILABLE).split()


def _result(action: Callable[[], None], done: str) -> str:
    """Do it and return ``done``, or the name of the error."""
    try:
        action()
    except OSError as error:
        return _error_name(error)
    return done


def _text_or_error(path: str) -> str:
    """Return the text of a file, or the name of the error."""
    try:
        return _read(path)
    except OSError as error:
        return _error_name(error)


def _error_name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error))


def _sysctl(name: str) -> str:
    return f"/proc/sys/net/ipv4/{name}"


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()


def _write(path: str, text: str) -> str:
    """Write a text to a file and return WRITTEN, or the name of the error."""
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        return _error_name(error)
    return WRITTEN


if __name__ == "__main__":
    main(sys.argv[1])
