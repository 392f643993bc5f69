"""Lab hosts: the real machines that send, receive, and emulate the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic import model_validator as validated

from orchestrator.files.scenario_files import ScenarioFiles
from orchestrator.kinds.fields import Strict, ValidationContext, located
from orchestrator.scenario.inventory import InventoryHost, read_inventory
from orchestrator.suggestions import suggest
from orchestrator.units import shown

_LONGEST_INTERFACE = 15


def _interface(name: str) -> str:
    valid = 0 < len(name) <= _LONGEST_INTERFACE and name not in (".", "..", "lo")
    if not valid or any(c in "/: " or not c.isprintable() for c in name):
        raise ValueError(
            f"{shown(name)} is not the name of a network interface: use 1 to "
            f"{_LONGEST_INTERFACE} characters, without blanks, `/` and `:`, and not lo"
        )
    return name


Interface = Annotated[
    str,
    AfterValidator(_interface),
    WithJsonSchema({"type": "string", "pattern": "^[^/: ]{1,15}$"}),
]


class LabEnd(Strict):
    """A host that sends or receives."""

    host: str = Field(description="its name in the inventory")
    interface: Interface = Field(
        description="the interface that the traffic uses; its first IPv4 address is the host's"
    )


class LabRouter(Strict):
    """A host between senders and receivers, which forwards and emulates the bottleneck."""

    host: str = Field(description="its name in the inventory")
    left: Interface = Field(description="its interface to the senders")
    right: Interface = Field(description="its interface to the receivers")

    @validated(mode="after")
    def _two(self) -> LabRouter:
        if self.left == self.right:
            text = "must differ from `left`: each direction is emulated at an interface of its own"
            raise located([(("right",), text)])
        return self


class Lab(Strict):
    """Where ``--backend lab`` runs the scenario; other back ends ignore it.

    The senders play the topology's sources in order. When there are fewer senders, the first one
    follows the last one. Receivers play the sinks in the same way. Interfaces that are not named
    here are never touched. What is set on the named ones is undone at the end of each run.
    """

    _path: Path = PrivateAttr(default=Path())

    inventory: str = Field(
        description="Ansible inventory, YAML or INI, relative to the scenario's folder. It says "
        "how hosts are reached (`ansible_host`, `_port`, `_user`, `_ssh_private_key_file`, "
        "`_become`)"
    )
    senders: list[LabEnd] = Field(min_length=1, description="hosts of the topology's sources")
    receivers: list[LabEnd] = Field(min_length=1, description="hosts of the topology's sinks")
    router: LabRouter | None = Field(
        default=None,
        description="host that emulates the topology's one bottleneck; none over a live path",
    )
    offloads: Literal["off", "leave"] = Field(
        default="off",
        description="off: TSO, GSO and GRO of the named interfaces are switched off during a run; "
        "leave: they stay as they are (live path only)",
    )

    @field_validator("inventory")
    @classmethod
    def _place(cls, inventory: str, info: ValidationInfo) -> str:
        path = _files(info).path(inventory)
        read_inventory(path)
        if not isinstance(info.context, ValidationContext):
            return str(path)
        return info.context.modules.files.remember(inventory, path)

    @validated(mode="after")
    def _sound(self, info: ValidationInfo) -> Lab:
        self._path = _files(info).path(self.inventory)
        if problems := [*self._unknown(), *self._doubled()]:
            raise located(problems)
        return self

    def hosts(self) -> dict[str, InventoryHost]:
        """Return all hosts of the section by their names, in its order."""
        known = read_inventory(self._path)
        return {host: known[host] for _place, host in self._named()}

    @property
    def path(self) -> Path:
        """The absolute path of the inventory."""
        return self._path

    def _named(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield (path, name) of every host in the section."""
        for key in ("senders", "receivers"):
            for number, end in enumerate(getattr(self, key)):
                yield (key, number, "host"), end.host
        if self.router is not None:
            yield ("router", "host"), self.router.host

    def _unknown(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        known = read_inventory(self._path)
        for field_path, host in self._named():
            if host not in known:
                yield (
                    field_path,
                    # The hosts are not listed, because the file may be a secret, such as a key.
                    f"no host {shown(host)} in `{self._path}`{suggest(host, known)}, "
                    f"which has {len(known)} hosts",
                )

    def _doubled(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield hosts with several roles; traffic from a host to itself crosses no network."""
        seen: dict[str, tuple[str | int, ...]] = {}
        for field_path, host in self._named():
            if host in seen:
                first = seen[host]
                yield field_path, f"host {shown(host)} is named already, as {first[0]}"
            seen.setdefault(host, field_path)


def _files(info: ValidationInfo) -> ScenarioFiles:
    return (
        info.context.modules.files
        if isinstance(info.context, ValidationContext)
        else ScenarioFiles(Path())
    )
