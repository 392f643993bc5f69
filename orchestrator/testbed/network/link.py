"""Changes a link's rate or delay, and grants it bytes, while traffic runs.

A link that follows a trace transmits by grants only: each lets a number of bytes leave at once.
What remains of a grant when no packet waits is lost. See kmods/link_qdisc.c.
"""

from __future__ import annotations

from orchestrator.protocol.links.frames import OPPORTUNITY_BYTES
from orchestrator.protocol.links.link import GRANT_BYTES_ATTRIBUTE, granted_setting
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.network.queues import qdisc

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

    from orchestrator.protocol.specification import SettingSpec


def change(route: nl.Netlink, index: int, settings: Sequence[SettingSpec], what: str) -> None:
    """Change settings of the link at interface ``index``; the others stay."""
    qdisc.change_root(route, index, "link", qdisc.pack(settings), f"{what} link")
    route.flush()


class GrantedLink:
    """A direction of a link that follows a trace.

    Args:
        route: a netlink socket in the namespace of the wires.
        index: the interface where packets leave the link.
        name: the interface's name.
        settings: the settings of the link's specification, which ``begin`` changes.
    """

    def __init__(
        self, route: nl.Netlink, index: int, name: str, settings: list[SettingSpec]
    ) -> None:
        self._route, self._index, self._name = route, index, name
        self._settings = settings
        self.granted_frames = 0

    def begin(self) -> None:
        """Stop transmitting by the rate: from now on only ``grant`` lets packets leave."""
        new = granted_setting().document()
        index = next(
            n for n, setting in enumerate(self._settings) if setting["name"] == new["name"]
        )
        self._settings[index] = new
        change(self._route, self._index, [new], self._name)

    def grant(self, frames: int) -> None:
        """Let that many full-size packets leave at once, as far as packets wait."""
        options = nl.u32(GRANT_BYTES_ATTRIBUTE, frames * OPPORTUNITY_BYTES)
        qdisc.change_root(self._route, self._index, "link", options, f"{self._name} grant")
        self._route.flush()
        self.granted_frames += frames
