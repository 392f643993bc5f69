"""The version of the protocol between controller and test bed."""

from __future__ import annotations

SPECIFICATION_VERSION = 2
"""Of everything in this package. Raise it whenever the form or the meaning of anything changes."""


class VersionError(ValueError):
    """The controller and the test bed are of different versions."""


def check_version(document: object) -> None:
    """See that a document from the controller is of the version that this test bed knows.

    Raises:
        VersionError: it is of another version, or of none.
    """
    found = document.get("version") if isinstance(document, dict) else None
    if type(found) is not int or found != SPECIFICATION_VERSION:
        version = "no version" if found is None else f"version {found!r}"
        raise VersionError(
            f"the specification has {version}, and this test bed knows version "
            f"{SPECIFICATION_VERSION}; use the controller and the test bed of one version"
        )
