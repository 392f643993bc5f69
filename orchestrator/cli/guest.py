"""``orchestrator guest``: build, describe or boot the guest kernel."""

from __future__ import annotations

import click

from guest import build as guest_build
from orchestrator.backends.guest.shell import open_shell
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.guest_build import ensure_kernel
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import MachineError


@click.group()
def command() -> None:
    """Build, describe or boot the guest kernel.

    The guest is a real Linux kernel that runs as a program, in virtual time.

    \b
    orchestrator guest build     build it from Debian's kernel source, unless it is cached
    orchestrator guest info      show what it was built from
    orchestrator guest shell     boot it with a shell
    """


@command.command()
@click.option("--quiet", is_flag=True, help="Print nothing when the kernel is cached.")
def build(quiet: bool) -> None:
    """Build the guest kernel unless it is cached (some minutes).

    \b
    ORCHESTRATOR_KERNEL_SOURCE   a Linux 6.12 tree or tarball to build instead of Debian's
    ORCHESTRATOR_CACHE           where built kernels are kept
    """
    with StatusLine() as line:
        kernel = ensure_kernel(line)
    if not quiet:
        terminal.line(f"Linux {kernel.release} ({kernel.key}): {kernel.linux}")


@command.command()
@shared.as_json
def info(as_json: bool) -> None:
    """Show the cached guest kernel and what it was built from."""
    kernel = guest_build.find()
    if kernel is None:
        raise MachineError("the guest kernel is not built yet", "orchestrator guest build")
    if as_json:
        terminal.print_json({"key": kernel.key, "linux": str(kernel.linux), **kernel.manifest})
        return
    manifest = kernel.manifest
    for name, value in {
        "release": kernel.release,
        "kernel": str(kernel.linux),
        "sha256": manifest["linux_sha256"],
        "source": manifest["source"],
        "compiler": manifest["compiler"],
        "built in": f"{manifest['build_s']:.0f} s",
        "modules": " ".join(sorted(manifest["modules_sha256"])),
    }.items():
        terminal.line(f"{name:9} {value}")


@command.command()
def shell() -> int:
    """Boot the guest kernel with a shell on this terminal; leave with Ctrl-D or ``exit``.

    With commands on standard input, run them and exit with their status:

    \b
    echo 'cat /proc/sys/net/ipv4/tcp_available_congestion_control' | orchestrator guest shell
    """
    with StatusLine() as line:
        kernel = ensure_kernel(line)
    return open_shell(kernel)
