"""The guest's first process: mounts, loads modules, runs the bed, and powers off.

The kernel starts it as ``python3 -S -B -m orchestrator.testbed.init``. The boot line sets
environment variables that name host folders: BED_CODE (on the Python path), BED_INPUT (spec.json,
modules/) and BED_OUTPUT. Only BED_OUTPUT is written. The root stays read-only; all else is tmpfs.
"""

from __future__ import annotations

import gc
import os
import sys

from orchestrator.protocol import BUNDLE
from orchestrator.testbed import bundle

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""New objects between two searches for garbage: imports make many objects, and little garbage."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.specification import TestbedSpec

CODE, INPUT, OUTPUT = "/run/bed/code", "/run/bed/in", "/run/bed/out"
STREAMS = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
"""Links in /dev that devtmpfs lacks, and where below /proc/self/fd they lead."""
HOST_FOLDERS = {"BED_CODE": CODE, "BED_INPUT": INPUT, "BED_OUTPUT": OUTPUT}


def main() -> None:
    """Run as process 1 and never return."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    bundle.install(f"{os.environ['BED_INPUT']}/{BUNDLE}", CODE)
    # What is imported from here on comes from the bundle.
    with bundle.without_locks():
        import traceback

        from orchestrator.testbed.errors import write_failure
        from orchestrator.testbed.kernel import system

    status = "failed"
    try:
        _mount_everything()
        _redirect_output()
        sys.path.append("/usr/lib/python3/dist-packages")
        spec = _spec()
        _load_modules(spec)
        _run_bed(spec)
        status = "done"
    except BaseException as error:  # noqa: BLE001 - process 1 must power off whatever happened
        traceback.print_exc()
        write_failure(OUTPUT, error)
    finally:
        print(f"bed {status}", flush=True)
        sys.stderr.flush()
        system.power_off()


def _mount_everything() -> None:
    from orchestrator.testbed.kernel import system

    # Inside a user namespace the files of root have the owner nobody. A setuid program would
    # therefore run as nobody.
    system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
    system.mount("proc", "/proc", "proc")
    system.mount("tmpfs", "/run", "tmpfs")
    for folder in ("/run/home", "/dev/pts"):
        os.makedirs(folder)
    system.mount("devpts", "/dev/pts", "devpts")
    for name, place in STREAMS.items():
        os.symlink(f"/proc/self/fd{place}", f"/dev/{name}")
    # Each folder has a mount of its own. It may lie below /tmp of the host, which is hidden then.
    for folder, mount_point in HOST_FOLDERS.items():
        os.makedirs(mount_point)
        system.mount("none", mount_point, "hostfs", 0, os.environ[folder])
    system.mount("tmpfs", "/tmp", "tmpfs")
    sys.path.insert(0, CODE)
    for package in [name for name in sys.modules if name.split(".")[0] == "orchestrator"]:
        if hasattr(sys.modules[package], "__path__"):
            sys.modules[package].__path__ = [f"{CODE}/{package.replace('.', '/')}"]
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ["HOME"] = os.environ["TMPDIR"] = "/run/home"


def _redirect_output() -> None:
    """Send the output of the bed and its programs to a file; the console has the kernel's.

    Raises:
        BootError: an earlier boot has made the file.
    """
    from orchestrator.testbed.errors import BootError

    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        descriptor = os.open(f"{OUTPUT}/bed.log", flags, 0o644)
    except FileExistsError:
        raise BootError("the guest booted twice: something in it restarted its kernel") from None
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)


def _load_modules(spec: TestbedSpec) -> None:
    from orchestrator.testbed.kernel import system

    for module in spec["modules"]:
        path = f"{INPUT}/modules/{module['name']}.ko"
        if os.path.exists(path):  # a built-in module got its parameters by the command line
            system.load_module(path, module["parameters"])


def _spec() -> TestbedSpec:
    with bundle.without_locks():
        import json

        from orchestrator.protocol.version import check_version

    with open(f"{INPUT}/spec.json") as text:
        spec: TestbedSpec = json.load(text)
    check_version(spec)
    return spec


def _run_bed(spec: TestbedSpec) -> None:
    with bundle.without_locks():
        from orchestrator.testbed.machines import GuestMachine
        from orchestrator.testbed.run import run
        from orchestrator.testbed.sampling.records import Records

    spec["folder"] = INPUT
    if spec.get("interactive"):
        from orchestrator.testbed import shell

        shell.serve(spec, Records(OUTPUT), GuestMachine(), OUTPUT)
    run(spec, Records(OUTPUT), GuestMachine())


if __name__ == "__main__":
    main()
