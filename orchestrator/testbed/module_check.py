"""Asks the guest's kernel what it makes of congestion-control modules, apart from any traffic.

``python3 -m orchestrator.testbed.module_check FILE`` reads a JSON list of modules: name (of the
congestion control), file, and parameters and settings, each a list of name, default, low, high and
bad (values as text). It prints, for each module, the list of what was asked, what answer is wanted
and what the kernel said, as {about, parameter, asked, wanted, got}. Errors go by their names, such
as EINVAL.
"""

import errno
import json
import os
import socket
import sys

from orchestrator.testbed.kernel import system

LOADED, UNLOADED, WRITTEN = "loaded", "unloaded", "written"
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"


def main(path):
    """Print what the kernel answers about every module of that file."""
    with open(path) as text:
        modules = json.load(text)
    print(json.dumps([_Module(module).answers() for module in modules]))


class _Module:
    def __init__(self, spec):
        self._name, self._file = spec["name"], spec["file"]
        self._parameters, self._settings = spec["parameters"], spec["settings"]
        self._kernel_name = os.path.basename(self._file).removesuffix(".ko")
        self._answers = []

    def answers(self):
        """Load and unload the module in every way that is of interest; stop if it never loads."""
        loaded = self._load({})
        self._expect("loads", "with its defaults", LOADED, loaded)
        if loaded != LOADED:
            return self._answers
        self._expect("loads", "is offered to sockets", True, self._is_offered())
        self._read_all("by default", {each["name"]: each["default"] for each in self._parameters})
        for setting in self._settings:
            self._check_setting(setting)
        self._use_and_unload()
        if self._parameters:
            for end in ("low", "high"):
                values = {each["name"]: each[end] for each in self._parameters}
                self._check_values(f"all at their {end} ends", values)
        for parameter in self._parameters:
            for value in parameter["bad"]:
                self._refuse(parameter["name"], value)
        return self._answers

    def _expect(self, about, asked, wanted, got, parameter=None):
        answer = {"about": about, "parameter": parameter, "asked": asked}
        self._answers.append({**answer, "wanted": wanted, "got": got})

    def _use_and_unload(self):
        user = socket.socket()
        asked = (socket.IPPROTO_TCP, socket.TCP_CONGESTION)
        taken = _answer(lambda: user.setsockopt(*asked, self._name.encode()), self._name)
        if taken == self._name:
            taken = user.getsockopt(*asked, 16).rstrip(b"\0").decode()
        self._expect("loads", "a socket that asks for it gets", self._name, taken)
        self._expect("unloads", "while a socket uses it", "EAGAIN", self._unload())
        user.close()
        self._expect("unloads", "when nothing uses it", UNLOADED, self._unload())
        self._expect("unloads", "is still offered to sockets", False, self._is_offered())
        left = [each["name"] for each in self._settings if os.path.exists(_sysctl(each["name"]))]
        self._expect("unloads", "leaves settings", [], left)

    def _check_values(self, which, values):
        self._expect("parameters", f"load with {which}", LOADED, self._load(values))
        self._read_all(which, values)
        self._expect("unloads", f"after a load with {which}", UNLOADED, self._unload())

    def _read_all(self, when, values):
        folder = f"/sys/module/{self._kernel_name}/parameters"
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        self._expect("parameters", f"their names, {when}", sorted(values), names)
        for name, value in values.items():
            got = _answer(lambda path=f"{folder}/{name}": _read(path))
            self._expect("parameters", when, str(value), got, name)

    def _refuse(self, name, value):
        got = self._load({name: value})
        self._expect("refuses", value, "EINVAL", got, name)
        if got == LOADED:
            self._unload()

    def _check_setting(self, setting):
        """What one network namespace is told, another is not."""
        name, path = setting["name"], _sysctl(setting["name"])
        default, high = str(setting["default"]), str(setting["high"])
        home = system.current_network_namespace()
        other = system.new_network_namespace()
        self._expect("parameters", "in a new namespace", default, _told(path), name)
        written = _answer(lambda: _write(path, high), WRITTEN)
        self._expect("parameters", f"set to {high}", WRITTEN, written, name)
        self._expect("parameters", f"after it was set to {high}", high, _told(path), name)
        for value in setting["bad"]:
            refused = _answer(lambda value=value: _write(path, value), WRITTEN)
            self._expect("refuses", value, "EINVAL", refused, name)
            self._expect("parameters", f"after {value} was refused", high, _told(path), name)
        system.enter(home)
        self._expect("parameters", "in another namespace", default, _told(path), name)
        os.close(other)
        os.close(home)

    def _load(self, values):
        if os.path.exists(f"/sys/module/{self._kernel_name}"):
            return "loaded already"
        text = " ".join(f"{name}={value}" for name, value in values.items())
        return _answer(lambda: system.load_module(self._file, text), LOADED)

    def _unload(self):
        return _answer(lambda: system.unload_module(self._kernel_name), UNLOADED)

    def _is_offered(self):
        return self._name in _read(AVAILABLE).split()


def _answer(ask, done=None):
    """Return ``done`` (or, without it, what ``ask`` returns), or the name of the error."""
    try:
        result = ask()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return result if done is None else done


def _told(path):
    return _answer(lambda: _read(path))


def _sysctl(name):
    return f"/proc/sys/net/ipv4/{name}"


def _read(path):
    with open(path) as file:
        return file.read().strip()


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
