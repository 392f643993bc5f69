"""Multipath TCP (RFC 8684) in a scenario: the paths of a flow's subflows, and Linux's settings.

Settings have the names of Linux's Documentation/networking/mptcp-sysctl.rst. The path manager is
the kernel's own.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from orchestrator.kinds.fields import Path, Strict, Time, located
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

MOST_PATHS = 8
"""MPTCP_PM_ADDR_MAX of net/mptcp/pm_kernel.c."""
_MOST_NAME = 15


def _whole_seconds(time_s: float) -> float:
    if time_s != int(time_s):
        raise ValueError("must be whole seconds, as the kernel's setting has them")
    return time_s


class Mptcp(Strict):
    """A connection of several subflows, each over its own path."""

    paths: Annotated[list[str], Field(min_length=1, max_length=MOST_PATHS)] = Field(
        description="groups of the topology that share their machines, at most 8. The first "
        "subflow is of the first one; the others join it"
    )
    backup: list[str] = Field(
        default_factory=list,
        description="those of `paths` that carry data only while no other path can",
    )
    scheduler: str | None = Field(
        default=None,
        pattern=r"^[\x21-\x7e]+$",
        max_length=_MOST_NAME,
        description="which subflow sends next; Linux: `default`, and there is no other one",
    )
    checksum_enabled: bool | None = Field(
        default=None, description="checksums of data over all paths; Linux: false"
    )
    stale_loss_cnt: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="timeouts without an ACK in between after which a subflow sends no more if "
        "another one can; 0 never; Linux: 4",
    )
    add_addr_timeout: Annotated[Time, AfterValidator(_whole_seconds)] | None = Field(
        default=None,
        description="after which an address is announced again, whole seconds; Linux: 120s",
    )

    @model_validator(mode="after")
    def _sound(self) -> Mptcp:
        problems: list[tuple[Path, str]] = [
            ((key, number), f"{shown(name)} is given twice")
            for key, names in (("paths", self.paths), ("backup", self.backup))
            for number, name in enumerate(names)
            if name in names[:number]
        ]
        problems += [
            (("backup", number), f"{shown(name)} is none of the paths{suggest(name, self.paths)}; "
             f"paths: {listed(self.paths)}")
            for number, name in enumerate(self.backup)
            if name not in self.paths
        ]  # fmt: skip
        if problems:
            raise located(problems)
        return self

    def sysctls(self) -> dict[str, str | int]:
        """Return {sysctl: value} of what is given, for the namespaces of both machines."""
        values = {
            "scheduler": self.scheduler,
            "checksum_enabled": self.checksum_enabled,
            "stale_loss_cnt": self.stale_loss_cnt,
            "add_addr_timeout": self.add_addr_timeout,
        }
        return {
            f"net.mptcp.{name}": value if isinstance(value, str) else int(value)
            for name, value in values.items()
            if value is not None
        }
