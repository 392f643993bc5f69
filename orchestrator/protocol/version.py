"""The version of the protocol between controller and test bed."""

from __future__ import annotations

SPECIFICATION_VERSION = 5
"""Version of this package's contract. Raise it when any form or meaning changes."""

LINK_MODEL = 2
"""Version of how links carry packets: LINK_MODEL of kmods/sch_link.c.

1 was a token bucket and a netem. Runs of different models have different digests.
"""


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
