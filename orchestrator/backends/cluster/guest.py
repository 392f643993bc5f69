"""The back end ``guest`` on the workers of a Dask cluster.

Input is written here, and recordings are assembled here, by the code that does so for guests of
this machine. A worker only boots the guest. So a run has the same digest wherever it is made.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from guest.build import GuestKernel
from orchestrator.backends.cluster import wire
from orchestrator.backends.cluster.wire import Order, OrderResult
from orchestrator.backends.contract import Report, RunContext, Slot, Traits
from orchestrator.backends.guest import TRAITS, Guest
from orchestrator.backends.remote import archive
from orchestrator.decode.assemble import assemble, decoder
from orchestrator.errors import BedError, RunError
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording

if TYPE_CHECKING:
    from orchestrator.backends.cluster.connection import Cluster

MOST_LANES = 512
"""Most runs that are under way at a time, waiting ones included."""

MOST_COLLECTED = 2
"""Answers that this process has in memory at a time; the others wait at their workers."""

ATTEMPTS = 5


@dataclass
class ClusterGuest:
    """Guests on workers; it is also the ``Slots`` of the runner.

    ``guest`` writes their input. ``jobs`` limits the runs under way; None follows the number of
    workers. ``say`` is called with the dashboard's address.
    """

    guest: Guest
    cluster: Cluster
    jobs: int | None = None
    say: Callable[[str], None] = lambda _text: None
    name: str = field(default="guest", init=False)
    traits: Traits = field(default=TRAITS, init=False)
    unconfined: bool = field(init=False)
    _identities: dict[str, str] = field(default_factory=dict, init=False)
    _taken: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _sending: threading.Lock = field(default_factory=threading.Lock, init=False)
    _collecting: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(MOST_COLLECTED), init=False
    )

    def __post_init__(self) -> None:
        self.unconfined = self.guest.unconfined

    @property
    def lanes(self) -> int:
        """The largest number of runs under way at a time."""
        return self.jobs or MOST_LANES

    def prepare(self, plan: Plan) -> None:
        """Build the plan's modules here, connect to the workers and examine them."""
        self.guest.prepare(plan)
        for spec in plan.runs:
            self._identity(self.guest.kernel_of(spec))
        dashboard = self.cluster.open()
        if dashboard:
            self.say(f"Dask's dashboard: {dashboard}")
        self.cluster.examine(self.unconfined)

    @contextlib.contextmanager
    def slot(self, stopping: threading.Event) -> Iterator[Slot | None]:
        """Wait until the workers have room for another run. The yielded CPU means nothing here.

        A few more runs than the workers have threads are under way, so that none waits for an
        order. This bounds what workers keep for this process.
        """
        while not self._take():
            if stopping.wait(0.1):
                yield None
                return
        try:
            yield Slot(0)
        finally:
            with self._lock:
                self._taken -= 1

    def _take(self) -> bool:
        threads = self.cluster.threads()
        with self._lock:
            free = self._taken < min(self.lanes, threads + 1 + threads // 8)
            self._taken += free
            return free

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Let a worker boot the guest of a run, and return the recording of what it sends.

        Raises:
            GuestError, BedError: the guest failed, or the answer is malformed.
            RunError: no worker could run it.
            MachineError: the cluster was lost.
        """
        kernel = self.guest.kernel_of(spec)
        _paths, provided = self.guest.write_input(spec, context.folder)
        order = Order(
            wire.code_identity(),
            self._identity(kernel),
            self.guest.boot(spec),
            context.bounds,
            archive.pack(archive.files_of(context.folder / "in")),
        )
        answer = self._answered(order, kernel, context, report)
        if answer.console:
            context.console.write_bytes(answer.console)
        most = context.bounds.total_bytes + archive.SPARE_BYTES
        if answer.files:
            archive.unpack(answer.files, context.output.folder, "a worker", most)
        if answer.status != "ok":
            raise BedError(f"worker {answer.worker}: {answer.error or answer.status}")
        context.output.written()
        tcp = decoder(spec, context.output)
        machine = self.guest.machine(spec, answer.worker)
        return assemble(spec, context.output, context.console, tcp, provided, machine)

    def _identity(self, kernel: GuestKernel) -> str:
        """Return the hash of a kernel's files, by which workers know it."""
        with self._lock:
            if kernel.key not in self._identities:
                self._identities[kernel.key] = wire.kernel_identity(kernel)
            return self._identities[kernel.key]

    def _answered(
        self, order: Order, kernel: GuestKernel, context: RunContext, report: Report
    ) -> OrderResult:
        """Return the answer to an order, once a worker with the guest kernel has done it.

        It stays the only large thing in memory, with a few others, until the run is stored.
        """
        message = order.to_bytes()
        most = context.bounds.total_bytes + archive.SPARE_BYTES
        for _attempt in range(ATTEMPTS):
            with (
                self.cluster.computed(message, context, report) as future,
                contextlib.ExitStack() as collecting,
            ):
                collecting.enter_context(self._collecting)
                answer = OrderResult.from_bytes(
                    self.cluster.answer(future), most, context.bounds.console_bytes
                )
                if answer.status == "kernel":
                    with self._sending:
                        self.cluster.send_kernel(future, _packed(kernel), order.kernel)
                elif answer.status != "cancelled":
                    context.held.push(collecting.pop_all())
                    return answer
        raise RunError(f"no worker could run it in {ATTEMPTS} attempts")

    def close(self) -> None:
        """Disconnect, and end a cluster of this machine."""
        self.cluster.close()


def _packed(kernel: GuestKernel) -> bytes:
    """Return a kernel and its modules as a tar archive."""
    modules = sorted(kernel.modules_dir.glob("*.ko"))
    files = [(kernel.linux, "linux"), *((path, f"modules/{path.name}") for path in modules)]
    return archive.pack(files)
