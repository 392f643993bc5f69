"""Lets links lose packets by their numbers, and reads how many they counted and lost.

The lists of the specification begin right before traffic, when nothing is on its way. So packets of
set-up and probes do not count. A step of an event may replace a list; packets count anew then.
"""

from __future__ import annotations

from orchestrator.protocol.links import chosen
from orchestrator.protocol.numbering import CHANNEL_ENDS, LINK_HANDLE, link_and_direction
from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel import netlink, system
from orchestrator.testbed.network.queues import qdisc, qdisc_counters

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator

    from orchestrator.protocol.specification import QueueSpec, SettingSpec
    from orchestrator.testbed.bed import ShapedNetwork

    Total = tuple[str, int, int, int, int]


class ChosenLosses:
    """The packets that links lose by their numbers.

    Args:
        bed: the built network. Its specification has the lists ("chosen") of channels; ``begin``
            adds them to the settings of links.
    """

    def __init__(self, bed: ShapedNetwork) -> None:
        self._bed = bed
        with system.inside(bed.wires_fd, bed.home_fd):
            self._route = netlink.Netlink()
        self._lists: dict[str, list[Total]] = {}
        self._before: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """Set the lists of the specification; packets count from now on.

        Raises:
            BuildError: the kernel's sch_link has no such lists.
        """
        for name, settings in self._specified():
            _device, index, link = self._place(name)
            link["settings"] = [*link["settings"], *settings]
            self._set(name, settings)
            self._route.flush()
            _kind, options = qdisc.read(self._route)[index, LINK_HANDLE]
            applied = qdisc.unpack(settings, options)
            for setting in settings:
                has = applied[setting["name"]]
                if has is None:
                    raise BuildError(
                        f"{name}: this machine's sch_link cannot lose packets by their numbers: "
                        "install the project's modules again (make -C kmods dkms)"
                    )
                if has != setting["expected"]:
                    raise BuildError(
                        f"{name}: {setting['name']} is {has}, requested was {setting['expected']}"
                    )
            self.note(name, settings)

    def note(self, name: str, settings: Iterable[SettingSpec]) -> None:
        """Note that these settings of a channel's link have been set, which may have a new list."""
        values = {setting["name"]: setting["value"] for setting in settings}
        if chosen.PACKETS not in values:
            return
        _packets, _lost, *earlier = self._statistics(name)
        lists = self._lists.setdefault(name, [])
        packets_before, lost_before = self._before.get(name, (0, 0))
        if lists:
            lists[-1] = (*lists[-1][:3], earlier[0] - packets_before, earlier[1] - lost_before)
        self._before[name] = earlier[0], earlier[1]
        packed, port, data = (
            values[setting_name] for setting_name in (chosen.PACKETS, chosen.PORT, chosen.DATA)
        )
        lists.append((str(packed), int(port), int(data), 0, 0))

    def totals(self) -> dict[str, list[Total]]:
        """Return what each list of each channel did up to now, in the order of time.

        Returns:
            {channel: [(ranges in hexadecimal, port, data only, packets counted, lost), ...]}.
        """
        totals_by_channel = {}
        for name, lists in self._lists.items():
            packets, lost, _earlier_packets, _earlier_lost = self._statistics(name)
            totals_by_channel[name] = [*lists[:-1], (*lists[-1][:3], packets, lost)]
        return totals_by_channel

    def end(self) -> None:
        """Lose no more packets, because what follows is no part of the run."""
        nothing = [setting.document() for setting in chosen.settings(chosen.NOTHING, 0)]
        for name in self._lists:
            self._set(name, nothing)
        self._route.flush()

    def _specified(self) -> Iterator[tuple[str, list[SettingSpec]]]:
        for link_name, link in self._bed.links.items():
            for direction in CHANNEL_ENDS:
                settings = link.spec[direction].get("chosen")
                if settings:
                    yield f"{link_name}:{direction}", settings

    def _place(self, name: str) -> tuple[str, int, QueueSpec]:
        """Return (device, its index, the link's settings) of a channel."""
        link_name, direction = link_and_direction(name)
        link = self._bed.links[link_name]
        spec = link.spec[direction]["link"]
        if spec is None:
            raise BuildError(f"{name} loses packets, and has no link")
        return *link.device(CHANNEL_ENDS[direction][1]), spec

    def _set(self, name: str, settings: Iterable[SettingSpec]) -> None:
        device, index, _spec = self._place(name)
        qdisc.change_root(self._route, index, "link", qdisc.pack(settings), f"{device} losses")

    def _statistics(self, name: str) -> tuple[int, int, int, int]:
        """Return packets counted and lost by the present list, and by all lists before."""
        device, index, _spec = self._place(name)
        statistics = qdisc_counters.link_statistics(self._route, index)
        if statistics is None:
            raise BuildError(f"{device} does not count the packets that it is to lose")
        return (
            statistics["losses_packets"],
            statistics["losses_lost"],
            statistics["losses_earlier_packets"],
            statistics["losses_earlier_lost"],
        )
