"""The guest's first process: does what plan.json in its output folder says, and powers off.

The answers go to answers.json there, or what went wrong to ``failure``. See plan.py for the plan.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import subprocess
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .connection import Connection
from .scripts import CASES, Case, in_use
from .wire import SENDER, Tap

system: Any = importlib.import_module("orchestrator.testbed.kernel.system")

OUT = Path("/run/out")
# Frames go by the one interface as the test bed's do, and by the other in large pieces. The routes'
# metrics let a connection begin in congestion avoidance at that window, one begins as usual.
INTERFACES = f"""
link set lo up
link add single type dummy
link set single gso_max_segs 1 up
link add pieces type dummy
link set pieces up
addr add {SENDER}/32 dev single
route add 10.0.1.1 dev single initcwnd 40 ssthresh lock 40
route add 10.0.1.2 dev single
route add 10.0.2.1 dev pieces initcwnd 518000 ssthresh lock 518000
"""
SETTINGS = {
    "ipv4/tcp_ecn": "1",  # asked for; each peer agrees or does not
    "ipv4/tcp_early_retrans": "0",  # no loss probe before a timeout
    "ipv4/tcp_no_ssthresh_metrics_save": "0",  # let the route's count
    "ipv4/tcp_mem": "1000000 1000000 1000000",
}


def main() -> None:
    """Run as process 1 and never return."""
    try:
        _mount_everything()
        plan = json.loads((OUT / "plan.json").read_text(encoding="utf-8"))
        (OUT / "answers.json").write_text(json.dumps(_answers(plan)), encoding="utf-8")
    except BaseException:  # noqa: BLE001 - process 1 must power off whatever happened
        (OUT / "failure").write_text(traceback.format_exc(), encoding="utf-8")
    finally:
        system.power_off()


def _mount_everything() -> None:
    # Inside a user namespace root's files show as nobody's: a setuid program would lose root.
    system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
        system.mount(kind, place, kind)
    OUT.mkdir()
    system.mount("none", str(OUT), "hostfs", 0, os.environ["BED_OUTPUT"])


def _answers(plan: Mapping[str, Any]) -> dict[str, Any]:
    refused = [[*asked, *_load(*asked)] for asked in plan["loads"]]
    for module in plan["modules"]:
        _load(module, "")
    wire = _Wire()
    return {
        "refused": refused,
        "written": [[*asked, *_write(*asked)] for asked in plan["writes"]],
        "records": {run["key"]: wire.run(run) for run in plan["runs"]},
        "in_use": {run["congestion"]: wire.unload(name, run) for name, run in plan["in_use"]},
    }


def _error(call: Callable[[], object]) -> str:
    """Return the name of the error that a call meets, nothing when it meets none."""
    try:
        call()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ""


def _load(module: str, parameters: str) -> tuple[str, bool]:
    """Return the error of loading a module, and whether it is there then."""
    path = f"{os.environ['BED_MODULES']}/{module}.ko"
    return _error(lambda: system.load_module(path, parameters)), _is_loaded(module)


def _is_loaded(module: str) -> bool:
    return Path("/sys/module", module).exists()


def _write(path: str, text: str) -> tuple[str, str]:
    """Return the error of writing to a file of the kernel, and what is read from it then."""
    file = Path(path)
    return _error(lambda: file.write_text(text, encoding="ascii")), file.read_text().strip()


class _Wire:
    """The two interfaces and what listens on them."""

    def __init__(self) -> None:
        words = ["/usr/sbin/ip", "-batch", "-"]
        subprocess.run(words, input=INTERFACES, text=True, check=True)
        for name, value in SETTINGS.items():
            Path("/proc/sys/net", name).write_text(value, encoding="ascii")
        system.set_exact_timers()
        self._tap = Tap(system.realtime_ns() - system.monotonic_ns())
        self._timer = system.Timer()
        # A first connection makes TCP note the route's metrics for the later ones.
        for interface, peer in {(case.interface, case.peer) for case in CASES.values()}:
            self._connect(Case(in_use, {"rtt_us": 1000}, interface, peer), "reno").close()
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1", encoding="ascii")

    def _connect(self, case: Case, congestion: str) -> Connection:
        self._tap.watch(case.interface)
        return Connection(self._tap, self._timer, case.peer, congestion, **case.options)

    def run(self, run: Mapping[str, Any]) -> list[list[Any]]:
        """Drive one connection and return its record; it ends where the script failed, if so."""
        before = {path: Path(path).read_text() for path in run["files"]}
        for path, text in run["files"].items():
            Path(path).write_text(text, encoding="ascii")
        case = CASES[run["case"]]
        connection = self._connect(case, run["congestion"])
        try:
            case.script(connection)
        except (OSError, ValueError, LookupError):
            connection.record.append(["failed", connection.now_us, traceback.format_exc()])
        finally:
            connection.abort()
            for path, text in before.items():
                Path(path).write_text(text, encoding="ascii")
        return connection.record

    def unload(self, module: str, run: Mapping[str, Any]) -> dict[str, Any]:
        """Try to unload a module that a connection uses, and again when that is closed."""
        for path, text in run["files"].items():
            Path(path).write_text(text, encoding="ascii")
        refusals: list[str] = []
        connection = self._connect(Case(in_use), run["congestion"])
        in_use(connection, lambda: refusals.append(_error(lambda: system.unload_module(module))))
        connection.abort()
        last = _error(lambda: system.unload_module(module))
        return {
            "record": connection.record,
            "refusals": refusals,
            "last": last,
            "loaded": _is_loaded(module),
        }


if __name__ == "__main__":
    main()
