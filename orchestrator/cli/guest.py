"""``orchestrator guest``: build, describe or boot the guest kernel."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click

from guest import build as guest_build
from guest import debian_source
from guest.patch_series import series_of
from orchestrator.backends.guest.shell import open_shell
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.guest_build import ensure_kernel, progress_on
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import MachineError, UsageError
from results.contract.base import SCHEMA


@click.group()
def command() -> None:
    """Build, describe or boot the guest kernel.

    The guest is a real Linux kernel that runs as a program, in virtual time.

    \b
    orchestrator guest build     build it from Debian's kernel source, unless it is cached
    orchestrator guest info      show what it was built from
    orchestrator guest shell     boot it with a shell
    orchestrator guest list      list the kernels that are built
    orchestrator guest fetch     fetch Debian's source of another series

    KERNEL is another one than the default: a series, such as 7.3, whose package linux-source-7.3 is
    installed or was fetched, or the path of a tree or a tarball.
    """


_kernel = click.argument("kernel", required=False)


@command.command()
@_kernel
@click.option("--quiet", is_flag=True, help="Print nothing when the kernel is cached.")
def build(kernel: str | None, quiet: bool) -> None:
    """Build the guest kernel unless it is cached (some minutes).

    \b
    ORCHESTRATOR_KERNEL_SOURCE   a Linux 6.12 tree or tarball to build instead of Debian's
    ORCHESTRATOR_CACHE           where built kernels are kept
    """
    with StatusLine() as line:
        built = ensure_kernel(line, kernel)
    if not quiet:
        terminal.line(f"Linux {built.release} ({built.key}): {built.linux}")


@command.command()
@_kernel
@shared.as_json
def info(kernel: str | None, as_json: bool) -> None:
    """Show the cached guest kernel and what it was built from."""
    built = guest_build.find(kernel)
    if built is None:
        words = ["orchestrator", "guest", "build", *([] if kernel is None else [kernel])]
        raise MachineError("the guest kernel is not built yet", shlex.join(words))
    if as_json:
        terminal.print_json({"key": built.key, "linux": str(built.linux), **built.manifest})
        return
    manifest = built.manifest
    for name, value in {
        "release": built.release,
        "kernel": str(built.linux),
        "sha256": manifest["linux_sha256"],
        "source": manifest["source"],
        "patches": _patches(manifest.get("patches", {})),
        "compiler": manifest["compiler"],
        "built in": f"{manifest['build_s']:.0f} s",
        "modules": " ".join(sorted(manifest["modules_sha256"])),
    }.items():
        if value:
            terminal.line(f"{name:9} {value}")


def _patches(applied: Mapping[str, str | None]) -> str:
    """Return the numbers of patches by the series that they were made for, and those left out."""
    by_series: dict[str | None, list[str]] = {}
    for name, series in applied.items():
        by_series.setdefault(series, []).append(name.partition("-")[0])
    return ", ".join(
        f"{' '.join(numbers)} {'left out' if series is None else f'of {series}'}"
        for series, numbers in by_series.items()
    )


@command.command()
@click.argument("series")
def fetch(series: str) -> None:
    """Fetch Debian's source of a series, such as 7.3, from the mirror that this machine uses.

    This machine's packages and their sources stay as they are.
    """
    if series_of(series) is None:
        raise UsageError(f"{series} is no series: write a number such as 6.12")
    with StatusLine() as line:
        path = debian_source.fetch(series, progress_on(line))
    terminal.line(str(path))
    terminal.line(f"build it: orchestrator guest build {series}")


@command.command("list")
@shared.as_json
def list_kernels(as_json: bool) -> None:
    """List the guest kernels that are built, the newest first."""
    built = guest_build.built()
    if as_json:
        kernels = [
            {"key": kernel.key, "linux": str(kernel.linux), **kernel.manifest} for kernel in built
        ]
        terminal.print_json({"schema": SCHEMA, "kernels": kernels})
        return
    default = guest_build.find()
    rows = [
        [kernel.release, kernel.key, "default" if kernel == default else "",
         _patches(kernel.manifest.get("patches", {})), kernel.manifest["source"]]
        for kernel in built
    ]  # fmt: skip
    headings = ["release", "key", "", "patches", "source"]
    terminal.console().print(terminal.table(headings, rows))


@command.command()
@_kernel
def shell(kernel: str | None) -> int:
    """Boot the guest kernel with a shell on this terminal; leave with Ctrl-D or ``exit``.

    With commands on standard input, run them and exit with their status:

    \b
    echo 'cat /proc/sys/net/ipv4/tcp_available_congestion_control' | orchestrator guest shell
    """
    with StatusLine() as line:
        built = ensure_kernel(line, kernel)
    return open_shell(built)
