"""What ``orchestrator shell`` and the network in its guest say to each other.

The controller writes ``command-1.json``, ``command-2.json`` and so on into the guest's input
folder. The guest appends what programs print to ``said``. When a command has ended, it writes the
command's number and exit status to ``prompt``. The first prompt, of number 0, says that the
network is built. ``interrupt-1`` in the input folder asks to end command 1.
"""

from __future__ import annotations

SAID, PROMPT = "said", "prompt"
PROMPT_BYTES = 24

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from typing import Literal, TypedDict

    class RunCommand(TypedDict):
        """A line for a shell in a host's namespace; in that of the links without a host."""

        kind: Literal["run"]
        host: str | None
        line: str

    class PingCommand(TypedDict):
        """Echoes of ICMP between two hosts, one after the other."""

        kind: Literal["ping"]
        source: str
        sink: str
        echoes: int

    Command = RunCommand | PingCommand


def command_file(number: int) -> str:
    """Return the name of the file with the command of that number, from 1."""
    return f"command-{number}.json"


def interrupt_file(number: int) -> str:
    """Return the name of the file that asks to end the command of that number."""
    return f"interrupt-{number}"
