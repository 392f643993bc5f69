"""Reads back from the kernel every setting that the results of a run depend on."""

from __future__ import annotations

import os
import subprocess

from orchestrator.protocol import engines
from orchestrator.protocol.kernel_modules import LINKS, OBSERVERS
from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    LINK_HANDLE,
    NETEM_HANDLE,
    QUEUE_HANDLE,
)
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import snmp, system
from orchestrator.testbed.kernel.file_batch import MOST_BYTES, read_all
from orchestrator.testbed.kernel.sysctl import open_sysctl, read_sysctl, sysctl_text
from orchestrator.testbed.network import redirect, rtnl
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.network.switch import ovs

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from orchestrator.protocol.specification import (
        ChannelSpec,
        FlowSpec,
        PolicerSpec,
        QueueSpec,
        TestbedSpec,
    )
    from orchestrator.testbed.bed import Bed as AnyBed
    from orchestrator.testbed.bed import ShapedNetwork
    from orchestrator.testbed.network.build import Bed
    from orchestrator.testbed.network.ethtool import Ethtool

    Value = int | str | None
    Settings = Mapping[str, Value]
    Channels = dict[str, dict[str, dict[str, Value]]]
    Compared = tuple[str, Value, Value]


SYSCTLS_THAT_MATTER = (
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_comp_sack_nr",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_pacing_ca_ratio",
)
_SYSFS = "/run/sys"
CHECKSUM_ERRORS = ("Ip:InHdrErrors", "Icmp:InCsumErrors", "Udp:InCsumErrors", "Tcp:InErrs")
_CHECKED = {name.partition(":")[0] for name in CHECKSUM_ERRORS}
GLOBAL_SYSCTLS = ("net.ipv4.tcp_mem", "net.core.netdev_max_backlog", "net.core.default_qdisc")


def channels(bed: ShapedNetwork) -> Channels:
    """Return what the kernel reports of every channel; see Channel of protocol/facts.py."""
    present = qdisc.read(bed.wires)
    settings: Channels = {}
    for name, link in bed.links.items():
        for direction, (source_end, sink_end) in CHANNEL_ENDS.items():
            spec, index = link.spec[direction], link.device(sink_end)[1]
            settings[f"{name}:{direction}"] = {
                "link": _settings(present, index, LINK_HANDLE, spec["link"]),
                "queue": _settings(present, index, QUEUE_HANDLE, spec["queue"]),
                "netem": _settings(present, index, NETEM_HANDLE, spec["netem"]),
            }
            if spec["policer"] is not None:
                settings[f"{name}:{direction}"]["policer"] = redirect.read_policer(
                    bed.wires, link.device(source_end)[1], spec["policer"]["settings"]
                )
    return settings


def _settings(
    present: Mapping[tuple[int, int], tuple[str, bytes]],
    index: int,
    handle: int,
    requested: QueueSpec | None,
) -> dict[str, Value]:
    kind, options = present.get((index, handle), ("", b""))
    return {"kind": kind, **qdisc.unpack(requested["settings"] if requested else [], options)}


def verify_channels(bed: ShapedNetwork) -> Channels:
    """Compare every channel's settings with the specification.

    Raises:
        BuildError: naming the channel, the setting, the requested and the actual value.
    """
    applied = channels(bed)
    for channel, setting, requested, has in differences(bed, applied):
        if has is None:
            release = os.uname().release
            raise BuildError(f"{channel}: Linux {release} does not know {setting}: use a newer one")
        raise BuildError(f"{channel}: {setting} is {has}, requested was {requested}")
    return applied


def differences(bed: ShapedNetwork, applied: Channels) -> list[list[Value]]:
    """Return [[channel, setting, requested, applied]] of all settings that differ from the request.

    The request is the bed's specification, which planned steps change.
    """
    return [
        [channel, setting, requested, has]
        for name, link in bed.links.items()
        for direction in CHANNEL_ENDS
        for channel in [f"{name}:{direction}"]
        for setting, requested, has in _compared(link.spec[direction], applied[channel])
        if requested != has
    ]


def _compared(requested: ChannelSpec, applied: Mapping[str, Settings]) -> Iterator[Compared]:
    """Yield (setting, requested, applied) of one channel."""
    for part, spec, has in (
        ("link", requested["link"], applied["link"]),
        ("queue", requested["queue"], applied["queue"]),
        ("netem", requested["netem"], applied["netem"]),
    ):
        yield f"{part} kind", spec["kind"] if spec else "", has["kind"]
        yield from _compared_settings(part, spec, has)
    yield from _compared_settings("policer", requested["policer"], applied.get("policer", {}))


def _compared_settings(
    part: str, requested: QueueSpec | PolicerSpec | None, has: Settings
) -> Iterator[Compared]:
    for setting in requested["settings"] if requested else ():
        if setting["expected"] is not None:
            yield f"{part} {setting['name']}", setting["expected"], has[setting["name"]]


def interfaces(bed: Bed) -> dict[str, dict[str, Any]]:
    """Return the recorded facts of all veth devices by "node/interface".

    The node of a host's interface is the host, also where several of them share a machine.
    """
    facts = {}
    hosts = {(one.node.name, one.name): name for name, one in bed.interfaces.items()}
    wires = {link.device(end)[0] for link in bed.links.values() for end in "ab"}
    places = [
        ("wires", bed.wires, bed.wires_tool, wires),
        ("switches", bed.route, bed.tool, _interface_names(bed.net.switches)),
        *((host.name, host.route, host.tool, _interface_names([host])) for host in bed.net.hosts),
    ]
    for node, route, tool, names in places:
        for name, (_index, counters) in rtnl.interfaces(route).items():
            if name in names:
                facts[f"{hosts.get((node, name), node)}/{name}"] = interface(tool, name, counters)
    return facts


def interface(tool: Ethtool, name: str, counters: tuple[int, ...]) -> dict[str, Any]:
    """Return the recorded facts of an interface, from rtnl's counters of it."""
    return {
        "offloads": tool.offloads(name),
        "rx_packets": counters[0],
        "rx_dropped": counters[6],
        "tx_dropped": counters[7],
    }


def checksum_errors(bed: Bed) -> dict[str, int]:
    """Return how many packets each host received with a wrong checksum of IP, ICMP, UDP or TCP."""
    errors = {}
    for host in bed.net.hosts:
        with bed.enter(host.name):
            table = snmp.opened("snmp")
        counters = snmp.values(table, _CHECKED)
        os.close(table)
        errors[host.name] = sum(counters[name] for name in CHECKSUM_ERRORS)
    return errors


def _interface_names(nodes: Iterable[Any]) -> set[str]:
    return {interface.name for node in nodes for interface in node.intfList()}


def verify_modules(spec: TestbedSpec) -> None:
    """Check that the modules provide the flows' congestion controls and took their parameters.

    Raises:
        BuildError: naming the congestion control or parameter, the requested and the actual value.
    """
    present = required_sysctl("net.ipv4.tcp_available_congestion_control").split()
    modules = spec.get("modules", [])
    others = (LINKS, *OBSERVERS)
    loaded = [module["name"] for module in modules if module["name"] not in others]
    for flow in spec["flows"]:
        if flow["congestion"] not in (None, *present):
            raise BuildError(
                f"no congestion control {flow['congestion']} after loading {', '.join(loaded)}; "
                f"the kernel has: {', '.join(present)}"
            )
    given = [(module["name"], module["parameters"].split()) for module in modules]
    if any(parameters for _name, parameters in given):
        os.makedirs(_SYSFS)
        system.mount("sysfs", _SYSFS, "sysfs")
    for module, parameters in given:
        for name, _equals, requested in (text.partition("=") for text in parameters):
            _verify_parameter(module, name, requested)


def _verify_parameter(module: str, name: str, requested: str) -> None:
    path = f"{_SYSFS}/module/{module.replace('-', '_')}/parameters/{name}"
    try:
        with open(path) as file:
            applied = file.read().strip()
    except FileNotFoundError:
        return  # a parameter with mode 0 is not in sysfs
    if int({"Y": "1", "N": "0"}.get(applied, applied), 0) != int(requested):
        raise BuildError(f"{module}: {name} is {applied}, requested was {requested}")


def required_sysctl(name: str) -> str:
    """Return a sysctl's value as text.

    Raises:
        BuildError: the running kernel has no such sysctl.
    """
    value = read_sysctl(name)
    if value is None:
        raise BuildError(f"Linux {os.uname().release} has no sysctl {name}")
    return value


def namespaces(bed: AnyBed) -> dict[str, dict[str, str]]:
    """Return {host: {sysctl: text}} of what was set for single hosts, as the kernel has it."""
    texts = {}
    for host, names in bed.namespaces.items():
        with bed.enter(host):
            texts[host] = {name: required_sysctl(name) for name in sorted(names)}
    return texts


def softnet_drops() -> int:
    """Return packets dropped at full per-CPU backlogs (/proc/net/softnet_stat, second column)."""
    with open("/proc/net/softnet_stat") as table:
        return sum(int(line.split()[1], 16) for line in table)


class HostSysctls:
    """Reads the sysctls that matter of every host; their files stay open.

    In a guest one system call reads all of them. A real machine may not permit an io_uring.

    Raises:
        BuildError: the running kernel lacks a sysctl of hosts.
    """

    def __init__(self, bed: Bed) -> None:
        self._read_all = _one_by_one if bed.spec.get("real_time", False) else read_all
        self._hosts = [host.name for host in bed.net.hosts]
        self._files: list[int] = []
        for name in self._hosts:
            with bed.enter(name):
                try:
                    self._files += [open_sysctl(sysctl) for sysctl in SYSCTLS_THAT_MATTER]
                except FileNotFoundError as error:
                    raise BuildError(error.strerror) from None

    def read(self) -> dict[str, dict[str, str]]:
        """Return {host: {sysctl: value}} now."""
        texts = map(sysctl_text, self._read_all(self._files))
        return {
            host: {sysctl: next(texts) for sysctl in SYSCTLS_THAT_MATTER} for host in self._hosts
        }


def _one_by_one(files: Iterable[int]) -> list[bytes]:
    return [os.pread(file, MOST_BYTES, 0) for file in files]


def sysctls(of_hosts: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    """Return the recorded sysctls: global ones, the hosts' common ones, and deviations of hosts."""
    # Only in the machine's first network namespace does the kernel show global sysctls.
    common = next(iter(of_hosts.values()), None)
    return {
        "global": {name: read_sysctl(name) for name in GLOBAL_SYSCTLS},
        "hosts": {host: values for host, values in of_hosts.items() if values != common},
        "every_host": common,
    }


def versions(flows: Iterable[FlowSpec], openvswitch: str | None) -> dict[str, str]:
    """Return the versions of the kernel, Mininet, Open vSwitch and the programs of the flows.

    ``openvswitch`` is that of the running switches; None asks the program.
    """
    from mininet.net import VERSION

    kernel = os.uname()
    texts = {"kernel": kernel.release, "kernel_build": kernel.version, "machine": kernel.machine}
    with open("/proc/version") as text:
        texts["kernel_compiler"] = text.read().strip()
    texts["mininet"], texts["openvswitch"] = VERSION, openvswitch or ovs.version()
    return {**texts, **program_versions(flows)}


def program_versions(flows: Iterable[FlowSpec]) -> dict[str, str]:
    """Return the version line of each program that the flows' engines start, by its name."""
    version_lines = {}
    for name in engines.programs(flow["engine"] for flow in flows):
        process = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
        version_lines[name] = process.stdout.splitlines()[0]
    return version_lines
