"""The guest's first process: mounts, loads modules, runs the bed, and powers off.

The kernel starts it as ``python3 -S -B -m orchestrator.testbed.init``. The boot line sets an
environment that names host folders: BED_CODE (on the Python path), BED_INPUT (spec.json, modules/)
and BED_OUTPUT, the only one that is written. The root stays read-only; all else is tmpfs.
"""

import json
import os
import sys
import traceback

CODE, INPUT, OUTPUT = "/run/bed/code", "/run/bed/in", "/run/bed/out"
HOST_FOLDERS = {"BED_CODE": CODE, "BED_INPUT": INPUT, "BED_OUTPUT": OUTPUT}


def main():
    """Run as process 1 and never return."""
    from orchestrator.testbed.kernel import system

    status = "failed"
    try:
        _mount_everything(system)
        _redirect_output()
        sys.path.append("/usr/lib/python3/dist-packages")
        _load_modules(system)
        _run_bed()
        status = "done"
    except BaseException as error:  # noqa: BLE001 - process 1 must power off whatever happened
        traceback.print_exc()
        _tell_failure(error)
    finally:
        print(f"bed {status}", flush=True)
        sys.stderr.flush()
        system.power_off()


def _tell_failure(error):
    """Hand out what went wrong in one line; the traceback is in the log."""
    with open(f"{OUTPUT}/failure", "w") as file:
        file.write(f"{type(error).__name__}: {error}")


def _mount_everything(system):
    # Inside a user namespace root's files show as nobody's: a setuid program would lose root.
    system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
    system.mount("proc", "/proc", "proc")
    system.mount("tmpfs", "/run", "tmpfs")
    for folder in ("/run/home", "/dev/pts"):
        os.makedirs(folder)
    system.mount("devpts", "/dev/pts", "devpts")
    # By ways of their own, because a folder of the host may lie below /tmp, which is covered now.
    for folder, place in HOST_FOLDERS.items():
        os.makedirs(place)
        system.mount("none", place, "hostfs", 0, os.environ[folder])
    system.mount("tmpfs", "/tmp", "tmpfs")
    sys.path.insert(0, CODE)
    for package in [name for name in sys.modules if name.split(".")[0] == "orchestrator"]:
        if hasattr(sys.modules[package], "__path__"):
            sys.modules[package].__path__ = [f"{CODE}/{package.replace('.', '/')}"]
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ["HOME"] = os.environ["TMPDIR"] = "/run/home"


def _redirect_output():
    """What the bed and its programs say goes to a file; the console keeps the kernel's words."""
    descriptor = os.open(f"{OUTPUT}/bed.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)


def _load_modules(system):
    for module in _spec()["modules"]:
        system.load_module(f"{INPUT}/modules/{module['name']}.ko", module["parameters"])


def _spec():
    from orchestrator.protocol.version import check_version

    with open(f"{INPUT}/spec.json") as text:
        spec = json.load(text)
    check_version(spec)
    return spec


def _run_bed():
    from orchestrator.testbed.machines import Guest
    from orchestrator.testbed.run import run
    from orchestrator.testbed.sampling.records import Records

    run({**_spec(), "folder": INPUT}, Records(OUTPUT), Guest())


if __name__ == "__main__":
    main()
