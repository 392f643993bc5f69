"""Reads the kernel's SNMP counters of hosts, as nstat does."""

from __future__ import annotations

import os

from orchestrator.protocol.reports.counter_facts import FILES, OWN_FILE, VARYING
from orchestrator.testbed.kernel import snmp
from orchestrator.testbed.programs import datagrams

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.sampling.records import Records

_VARYING = VARYING.encode()


class HostCounters:
    """Reads the counters of every host here that has an end of a flow.

    They are the kernel's, and those of our module run_counts where that is loaded. Behind them are
    the datagrams of each flow of programs at the host, so hosts have different numbers of counters.

    Args:
        bed: the built network.
        records: where the rows go.
    """

    def __init__(self, bed: Bed, records: Records) -> None:
        self._records = records
        places: dict[str, list[str]] = {}
        for flow in bed.spec["flows"]:
            for host in (flow["source"], flow["sink"]):
                if bed.holds(host):
                    places.setdefault(bed.place(host), []).append(host)
        self._hosts = [list(dict.fromkeys(hosts)) for hosts in places.values()]
        self._files: list[list[int]] = []
        self._programs: list[list[int]] = []
        names = _names_of_files()
        for hosts in self._hosts:
            with bed.enter(hosts[0]):
                self._files.append([snmp.opened(name) for name in names])
                self._programs.append(datagrams.opened(bed, hosts))
        self._texts: list[bytes] = []
        self._first: list[list[int]] = []
        self._last: list[list[int]] = []

    def begin(self) -> dict[str, object]:
        """Read what the counters have before traffic; return the values of the fact "counters"."""
        self._texts = [self._text(host) for host in range(len(self._hosts))]
        self._first = [_values(text) for text in self._texts]
        self._last = list(self._first)
        listed = [_names(text) for text in dict.fromkeys(map(_heads, self._texts))]
        names = max(listed, key=len, default=[])
        if any(names[: len(each)] != each for each in listed):
            raise RuntimeError("the namespaces of one kernel have different SNMP counters")
        return {"hosts": self._hosts, "names": names}

    def take(self, time_ns: int) -> None:
        """Write the counters that have changed since the reading before."""
        for host in range(len(self._hosts)):
            text = self._text(host)
            if text == self._texts[host]:
                continue
            values = _values(text)
            first, last = self._first[host], self._last[host]
            self._records.counters(
                time_ns,
                host,
                [
                    (counter, value - first[counter])
                    for counter, value in enumerate(values)
                    if value != last[counter]
                ],
            )
            self._texts[host], self._last[host] = text, values

    def _text(self, host: int) -> bytes:
        return _text(self._files[host]) + datagrams.text(self._programs[host])


def _names_of_files() -> list[str]:
    own = [OWN_FILE] if os.path.exists(f"/proc/thread-self/net/{OWN_FILE}") else []
    return [*FILES, *own]


def _text(files: list[int]) -> bytes:
    """Return the files as they are now, one after the other."""
    return b"".join([snmp.text(file) for file in files])


def _lines(text: bytes, first: int) -> list[list[bytes]]:
    lines = text.splitlines()[first::2]
    return [line.split() for line in lines if not line.startswith(_VARYING)]


def _heads(text: bytes) -> bytes:
    """Return the lines of names, each twice, because those of most hosts are equal."""
    return b"\n".join([line for line in text.splitlines()[::2] for _ in range(2)])


def _names(text: bytes) -> list[str]:
    return [(protocol + name).decode() for protocol, *names in _lines(text, 0) for name in names]


def _values(text: bytes) -> list[int]:
    return [int(value) for _protocol, *values in _lines(text, 1) for value in values]
