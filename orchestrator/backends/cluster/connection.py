"""A connection to a Dask cluster, which sends orders and returns the bytes of answers."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future, LocalCluster, Security
from distributed.scheduler import KilledWorker

from orchestrator import plaintext
from orchestrator.backends.cluster import wire, worker
from orchestrator.backends.cluster.address import Certificates, ClusterAddress
from orchestrator.backends.contract import Report, RunContext
from orchestrator.errors import MachineError, RunError
from orchestrator.files.temporary import RUN_FOLDER, VARIABLE, TemporaryFolder

Task = Callable[[bytes, str, int], bytes]

CONNECT_S = 20.0
WAIT_FOR_WORKERS_S = 60.0
ANSWER_S = 60.0
"""Time in which each worker must answer questions."""
LATE_S = 120.0
"""A run that takes this much longer than its limit of wall time on a worker is given up."""
_POLL_S = 0.25
_COUNT_PERIOD_S = 1.0
_RESUME = "start the scheduler and workers again, and the same command with --resume"


@dataclass
class Cluster:
    """A Dask cluster, connected between ``open`` and ``close``.

    ``workers`` is the number of worker processes of a cluster on this machine, and ``environment``
    has variables for them. ``task`` is what a worker calls, which only tests replace.
    """

    address: ClusterAddress
    workers: int = 1
    task: Task = worker.execute
    environment: Mapping[str, str] = field(default_factory=dict)
    _client: Client | None = field(default=None, init=False)
    _local: LocalCluster | None = field(default=None, init=False)
    _scratch: TemporaryFolder | None = field(default=None, init=False)
    _topic: str = field(default_factory=lambda: f"orchestrator-{secrets.token_hex(8)}", init=False)
    _numbers: Iterator[int] = field(default_factory=itertools.count, init=False)
    _reports: dict[int, Report] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, init=False)
    _counted_s: float = field(default=float("-inf"), init=False)
    _threads: int = field(default=0, init=False)

    def open(self) -> str:
        """Connect, or start the local cluster; return the dashboard's address, or an empty text.

        Raises:
            MachineError: the scheduler cannot be reached or has no workers.
        """
        for name in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of differing versions, which are examined below
            if self.address.url is None:
                self._start_local()
            else:
                self._connect(self.address.url, self.address.certificates)
        try:
            self.client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS_S)
        except TimeoutError:
            raise MachineError(
                f"{self._name} has had no worker for {WAIT_FOR_WORKERS_S:g} s",
                "start workers: docs/machines.md#workers",
            ) from None
        self.client.subscribe_topic(self._topic, self._heard)
        return str(self.client.dashboard_link) if self._local is not None else ""

    @property
    def client(self) -> Client:
        """The connected client."""
        assert self._client is not None, "open() comes first"
        return self._client

    @property
    def _name(self) -> str:
        return self.address.url or "the cluster on this machine"

    def _start_local(self) -> None:
        """Start scheduler and workers, all on loopback, with certificates of this process alone."""
        self._scratch = TemporaryFolder(RUN_FOLDER)
        security = Security.temporary()
        self._local = LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            local_directory=str(self._scratch.path),
            env={**self.environment, VARIABLE: str(self._scratch.path)},
            silence_logs=logging.CRITICAL,
        )
        self._client = Client(self._local, security=security, set_as_default=False)

    def _connect(self, url: str, certificates: Certificates | None) -> None:
        assert certificates is not None, "an address is refused without certificates"
        files = {
            "tls_ca_file": str(certificates.authority),
            "tls_client_cert": str(certificates.certificate),
            "tls_client_key": str(certificates.key),
        }
        try:
            security = Security(require_encryption=True, **files)
            self._client = Client(url, security=security, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise MachineError(
                f"cannot connect to the Dask scheduler at {url}: {error}",
                "start it, and check address and certificates: docs/machines.md#workers",
            ) from error
        try:
            self.client.get_versions(check=True)
        except ValueError as error:
            raise MachineError(
                f"scheduler, workers and this program have different packages: {error}",
                "install the packages of requirements.lock on all of them",
            ) from error

    def examine(self, unconfined: bool) -> None:
        """Raise MachineError, with every problem, unless each present worker can run guests."""
        answers = self._asked(worker.examine, wire.code_identity(), unconfined)
        problems = []
        for address, answer in answers.items():
            try:
                report = json.loads(answer)
                problem = report["problem"]
                name = f"{report['worker']} ({address})"
            except (ValueError, LookupError, TypeError, RecursionError):
                name, problem = str(address), f"answered {answer!r:.200}"
            if problem != "":
                text = plaintext.shortened(plaintext.visible(f"{name}: {problem}"), 2000)
                problems.append(f"worker {text}")
        if problems:
            raise MachineError("\n".join(problems), "see above; or end these workers")

    def _asked(self, question: Callable[..., bytes], *arguments: object) -> dict[str, Any]:
        try:
            answers: dict[str, Any] = self.client.run(question, *arguments, on_error="return")
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from error
        return answers

    def threads(self) -> int:
        """Return how many runs the workers can do at a time, as known a second ago.

        Raises:
            MachineError: the scheduler has gone.
        """
        with self._counting:  # Dask's own thread, which answers, may wait for the other lock
            now_s = time.monotonic()
            if now_s - self._counted_s >= _COUNT_PERIOD_S:
                try:
                    self._threads = sum(self.client.nthreads().values())
                except Exception as error:  # Dask raises several kinds
                    raise self._lost(error) from error
                self._counted_s = now_s
            return self._threads

    @contextlib.contextmanager
    def computed(
        self, order: bytes, context: RunContext, report: Report
    ) -> Iterator[Future[bytes]]:
        """Let a worker do an order; yield the future when it has been done.

        Dask repeats it elsewhere when its worker is lost.

        Raises:
            RunError: it was stopped, takes too long, or no worker could do it.
            MachineError: the scheduler has gone.
        """
        number = next(self._numbers)
        done = threading.Event()
        heard: list[float] = []

        def noting(phase: str, simulated_s: float) -> None:
            if not heard:
                heard.append(time.monotonic())
                context.restart_clock()
            report(phase, simulated_s)

        with self._lock:
            self._reports[number] = noting
        future = self.client.submit(
            self.task, order, self._topic, number, key=f"{self._topic}-{number}", pure=False
        )
        try:
            future.add_done_callback(lambda _future: done.set())
            while not done.wait(_POLL_S):
                if context.stopping.is_set():
                    raise RunError("interrupted")
                if heard and time.monotonic() - heard[0] > context.bounds.wall_s + LATE_S:
                    raise RunError(f"a worker did not end it {LATE_S:g} s after its limit")
            self._require_finished(future)
            yield future
        finally:
            with self._lock:
                del self._reports[number]
            with contextlib.suppress(Exception):
                if not done.is_set():
                    future.cancel()
                future.release()

    def answer(self, future: Future[bytes]) -> object:
        """Return what the worker of a finished future returned."""
        try:
            return future.result(timeout=ANSWER_S)
        except Exception as error:  # whatever a worker, or Dask, raises
            raise RunError(f"a worker's answer was lost: {_said(error)}") from error

    def send_kernel(self, future: Future[bytes], content: bytes, identity: str) -> None:
        """Send the guest kernel to the worker that has a future's result.

        Raises:
            RunError: it did not take it.
        """
        holders = [name for names in self.client.who_has([future]).values() for name in names]
        try:
            self.client.run(worker.install_kernel, content, identity, workers=holders)
        except Exception as error:  # whatever a worker, or Dask, raises
            raise RunError(f"a worker did not take the guest kernel: {_said(error)}") from error

    def close(self) -> None:
        """Disconnect; end a local cluster with its workers and their guests."""
        for resource in (self._client, self._local):
            if resource is not None:
                with contextlib.suppress(Exception):  # it may have ended already
                    resource.close(timeout=10)
        if self._scratch is not None:
            self._scratch.remove()
        self._client = self._local = self._scratch = None

    def _require_finished(self, future: Future[bytes]) -> None:
        if future.status == "finished":
            return
        if future.status != "error":
            raise self._lost("it forgot a run")
        error = future.exception(timeout=ANSWER_S)
        if isinstance(error, KilledWorker):
            raise RunError(
                f"{error.allowed_failures + 1} workers ended while they ran it; its guest may need "
                "more memory than they have"
            )
        raise RunError(f"a worker failed: {_said(error)}")

    def _lost(self, error: object) -> MachineError:
        return MachineError(
            f"the connection to {self._name} was lost: {error!r:.300}",
            _RESUME,
        )

    def _heard(self, event: tuple[float, object]) -> None:
        progress = wire.progress_of(event[1])
        if progress is None:
            return
        number, phase, simulated_s = progress
        with self._lock:
            report = self._reports.get(number)
        if report is not None:
            report(phase, simulated_s)


def _said(error: object) -> str:
    return plaintext.shortened(plaintext.visible(f"{type(error).__name__}: {error}"), 1000)
