"""Versions: of the protocol between controller and test bed, of links and of digests."""

from __future__ import annotations

SPECIFICATION_VERSION = 14
"""Version of this package's contract. Raise it when any form or meaning changes."""

LINK_MODEL = 3
"""Version of how links carry packets: TC_LINK_MODEL of kmods/uapi/pkt_sch_link.h, stored with runs.

1: a token bucket and its queue on an ifb device, and a netem. 2: sch_link, which serialises each
frame. 3: a packet in transmission keeps its delay when delay and rate change, and a trace counts
packets as mahimahi does. Raise it when equal scenarios and seeds may give other packets.
"""

DIGEST_VERSION = 2
"""Version of what a run's digest covers; see orchestrator/decode/digest.py. Each run stores it.

1: cwnd every 100 ms, final counters of flows and queues, and transfers. 2: also RTTs, the delays of
UDP packets, marks and other statistics of queues, and counters of flows every 100 ms."""


class VersionError(ValueError):
    """The controller and the test bed have different versions."""


def check_version(document: object) -> None:
    """Check that a document from the controller has this test bed's version.

    Raises:
        VersionError: it has another version, or none.
    """
    found = document.get("version") if isinstance(document, dict) else None
    if type(found) is not int or found != SPECIFICATION_VERSION:
        version = "no version" if found is None else f"version {found!r}"
        raise VersionError(
            f"the specification has {version}, and this test bed knows version "
            f"{SPECIFICATION_VERSION}; use the controller and the test bed of one version"
        )
