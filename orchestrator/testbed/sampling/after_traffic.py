"""Makes the network idle after traffic, so that its base RTTs can be measured again.

All switches drop TCP and UDP from then on. Sockets stay open, and programs notice nothing. What is
on its way ends at the next switch, and senders stall. A retransmission may still cross the link to
the first switch. So of several echoes the shortest counts.
"""

from __future__ import annotations

from orchestrator.testbed.kernel import system
from orchestrator.testbed.network import channels
from orchestrator.testbed.network.switch import openflow, ovs
from orchestrator.testbed.sampling.idle import wait_until_idle

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.network.build import Bed


def stop_and_drain(bed: Bed, settle_ns: int) -> bool:
    """Let all switches drop TCP and UDP, and wait; tell whether the network became idle.

    ``settle_ns`` is the longest RTT. Until then ACKs arrive that are on their way behind the last
    switch, and senders answer them. An AQM would still drop packets because of the traffic before,
    so all of them are made anew.
    """
    connections = [
        openflow.Connection(ovs.control_socket(switch["device"])) for switch in bed.spec["switches"]
    ]
    for connection in connections:
        connection.send(openflow.drop_rules())
    for connection in connections:
        connection.wait()
        connection.close()
    system.Timer().sleep_until(system.monotonic_ns() + settle_ns)
    if not wait_until_idle(bed):
        return False
    channels.reset_queues(bed)
    return True
