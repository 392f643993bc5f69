"""``orchestrator guest``: build, describe or boot the guest kernel."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from guest import build as guest_build
from guest import debian_source, kept_checks
from guest.choice import DEFAULT, KernelChoice, of_text
from guest.patch_series import series_of
from orchestrator.backends import kernels
from orchestrator.backends.guest import stubs
from orchestrator.backends.guest.shell import open_shell
from orchestrator.cli.options import shared
from orchestrator.cli.render import junit, terminal
from orchestrator.cli.render.kernels import own_tests
from orchestrator.cli.render.kernels.building import ensure_kernel, progress_on
from orchestrator.cli.render.run_progress import LiveProgress
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.errors import MachineError, RunError, UsageError
from orchestrator.execution import kernel_check, kernel_document
from orchestrator.execution.kernel_check import KernelCheck
from orchestrator.execution.kernel_tests import formats
from orchestrator.execution.kernel_tests.running import TIMEOUT_S, Selection, run_tests
from results.wording import kernels as wording


@click.group()
def command() -> None:
    """Build, describe or boot the guest kernel.

    The guest is a real Linux kernel that runs as a program, in virtual time.

    \b
    orchestrator guest build     build it from Debian's kernel source, unless it is cached
    orchestrator guest info      show what it was built from
    orchestrator guest check     check what it is good for
    orchestrator guest test      run the tests that its source has
    orchestrator guest shell     boot it with a shell
    orchestrator guest list      list the kernels that are built
    orchestrator guest fetch     fetch Debian's source of another series

    KERNEL is another one than the default: a series, such as 7.3, whose package linux-source-7.3 is
    installed or was fetched, or the path of a tree or a tarball. After a path, @REVISION names a
    revision of a git repository. Each +FILE.patch is applied: ~/linux@v6.15+fix.patch
    """


class _Kernel(click.ParamType[KernelChoice]):
    """The name of a kernel, read to a :class:`KernelChoice`."""

    name = "kernel"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> KernelChoice:
        """Return the choice; usage errors have the reason."""
        if isinstance(value, KernelChoice):
            return value
        try:
            return of_text(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_FILE = click.Path(dir_okay=False, path_type=Path)
_kernel = click.argument("kernel", required=False, type=_Kernel(), default=DEFAULT)


@command.command()
@_kernel
@click.option("--quiet", is_flag=True, help="Print nothing when the kernel is cached.")
@click.option(
    "--unconfined", is_flag=True, help="Run what the source has with your rights, in no sandbox."
)
def build(kernel: KernelChoice, quiet: bool, unconfined: bool) -> None:
    """Build the guest kernel unless it is cached (some minutes).

    What the source has, such as its Makefiles, runs in a sandbox. It sees no file of yours.

    \b
    ORCHESTRATOR_KERNEL_SOURCE   a Linux 6.12 tree or tarball to build instead of Debian's
    ORCHESTRATOR_CACHE           where built kernels are kept
    """
    with StatusLine() as line:
        built = ensure_kernel(line, kernel, unconfined)
    if not quiet:
        terminal.line(f"Linux {built.release} ({built.key}): {built.linux}")


@command.command()
@_kernel
@shared.as_json
def info(kernel: KernelChoice, as_json: bool) -> None:
    """Show the cached guest kernel and what it was built from."""
    built = guest_build.find(kernel)
    if built is None:
        words = ["orchestrator", "guest", "build", *([] if kernel == DEFAULT else [kernel.text])]
        raise MachineError("the guest kernel is not built yet", shlex.join(words))
    if as_json:
        terminal.print_json(kernel_document.document(built))
        return
    manifest = built.manifest
    for name, value in {
        "release": built.release,
        "kernel": str(built.linux),
        "sha256": manifest["linux_sha256"],
        "source": manifest["source"],
        "patches": wording.patches(manifest.get("patches", {})),
        "changes": wording.changes(manifest),
        "compiler": manifest["compiler"],
        "built in": f"{manifest['build_s']:.0f} s",
        "modules": " ".join(sorted(manifest["modules_sha256"])),
        "check": kept_checks.verdict(built.key),
        "processes": f"held by {stubs.best(built.linux)}",
    }.items():
        if value:
            terminal.line(f"{name:9} {value}")


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


@command.command()
@_kernel
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at a time."
)
@shared.as_json
def check(kernel: KernelChoice, jobs: int, as_json: bool) -> int:
    """Build a guest kernel and check what it is good for, by short runs.

    Equal runs must have equal digests. Runs with each impairment, each kind of queue and each
    congestion control must be faithful. What the kernel does not have is listed. The result is kept
    with the kernel: `guest list` and the provenance of runs show it. The exit status is 1 when
    something that the kernel has does not work.
    """
    with StatusLine() as line:
        built = ensure_kernel(line, kernel)
        checked = kernel_check.check(built, jobs, lambda planned: LiveProgress(planned, line))
    kept_checks.keep(built.key, checked.document())
    if as_json:
        terminal.print_json(checked.document())
    else:
        _print_check(checked)
    return 0 if checked.ok else RunError.exit_status


def _print_check(checked: KernelCheck) -> None:
    """Print what was tried, by its kind, and what is wrong or absent."""
    rows = []
    for about in dict.fromkeys(each.about for each in checked.tried):
        tried = [each for each in checked.tried if each.about == about]
        good = [each.name for each in tried if not each.problem]
        rows.append([about, f"{len(good)} of {len(tried)}", " ".join(good)])
    terminal.line(f"Linux {checked.release} ({checked.key})")
    terminal.console().print(terminal.table(["", "good", ""], rows))
    terminal.line(f"its processes were held by {checked.stubs}")
    for text in checked.absent:
        terminal.line(f"not there: {text}")
    for text in checked.problems:
        terminal.line(f"problem: {text}", err=True)


@command.command("test")
@_kernel
@click.option(
    "--only",
    metavar="PATTERN",
    multiple=True,
    help="Only tests whose name fits, such as 'net/udp*' or '*.pkt'. Repeatable.",
)
@click.option(
    "--scripts",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also all packetdrill scripts in that folder and below.",
)
@click.option(
    "--timeout", metavar="DURATION", help="Wall time that a test may take.  [default: 2min]"
)
@click.option("--tap", "tap_file", type=_FILE, help="Also write TAP there.")
@click.option("--junit", "junit_file", type=_FILE, help="Also write JUnit XML there.")
@shared.as_json
def run_own_tests(
    kernel: KernelChoice,
    only: tuple[str, ...],
    scripts: Path | None,
    timeout: str | None,
    tap_file: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> int:
    """Run the network tests of a kernel's own source in guests of that kernel.

    These are its selftests (tools/testing/selftests/net), and its packetdrill scripts if a program
    packetdrill is on the PATH. Each has a guest of its own, in virtual time. TAP is printed.

    A test that lacks a program or an option of the kernel is listed with what it lacks. The exit
    status is 1 if a test fails without a known reason, and 4 if no test could be tried.

    \b
    orchestrator guest test 6.12 --only 'net/packetdrill/*'
    orchestrator guest test --scripts packetdrill/gtests/net --only 'scripts/tcp/*'
    """
    limit_s = shared.wall_time(timeout)
    files = (("--tap", tap_file, formats.tap), ("--junit", junit_file, formats.junit))
    for option, file, _written in files:
        if file is not None:
            junit.require_writable(file, option)
    request = Selection(only, scripts, TIMEOUT_S if limit_s is None else limit_s)
    with StatusLine() as line:
        built = ensure_kernel(line, kernel)
        tests = kernels.ensure_selftests(built, kernel, progress_on(line))
        tested = run_tests(built, tests, request, own_tests.shown_on(line))
    for option, file, written in files:
        if file is not None:
            own_tests.write(option, file, written(tested))
    if as_json:
        terminal.print_json(tested.document())
    else:
        terminal.say(formats.tap(tested), nl=False)
    own_tests.tell(tested)
    return RunError.exit_status if tested.unexpected else 0


@command.command("list")
@shared.as_json
def list_kernels(as_json: bool) -> None:
    """List the guest kernels that are built, the newest first."""
    built = guest_build.built()
    if as_json:
        terminal.print_json(kernel_document.list_document(built))
        return
    default = guest_build.find()
    rows = [
        [kernel.release, kernel.key, "default" if kernel == default else "",
         kept_checks.verdict(kernel.key), wording.patches(kernel.manifest.get("patches", {})),
         " ".join([kernel.manifest["source"], wording.changes(kernel.manifest)]).strip()]
        for kernel in built
    ]  # fmt: skip
    headings = ["release", "key", "", "check", "patches", "source"]
    terminal.console().print(terminal.table(headings, rows))


@command.command()
@_kernel
def shell(kernel: KernelChoice) -> int:
    """Boot the guest kernel with a shell on this terminal; leave with Ctrl-D or ``exit``.

    With commands on standard input, run them and exit with their status:

    \b
    echo 'cat /proc/sys/net/ipv4/tcp_available_congestion_control' | orchestrator guest shell
    """
    with StatusLine() as line:
        built = ensure_kernel(line, kernel)
    return open_shell(built)
