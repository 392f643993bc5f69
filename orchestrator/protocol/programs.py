"""How a user's program ends in a test bed, and which programs a flow has."""

from __future__ import annotations

PROGRAM = "program"
"""Name of the engine, and of the kind of traffic."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a program's name is looked for, and its PATH."""

SERVER, CLIENT = ROLES = ("server", "client")
"""The programs of a flow. Each finds the other's host by these names, too."""

ENDED, KILLED, NOT_READY, OUT_OF_TIME, OUTPUT, STOPPED = ENDINGS = (
    "ended",
    "killed",
    "not_ready",
    "out_of_time",
    "output",
    "stopped",
)
"""What ended a program.

- ended: it ended by itself, with an exit status or by a signal.
- killed: the kernel ended it with its first process, as a machine without memory does.
- not_ready: a server that had no socket at its port when its time was over.
- out_of_time: a client that ran longer than it may.
- output: it printed more than it may.
- stopped: it ran until the flow's stop time, or the end of the run. A server ends so, too, when
  its client has ended.
"""

READY, OVER = SIGNALS = ("ready", "over")
"""What the two ends of a flow tell each other where they are on two machines of a lab.

- ready: the server has its socket, so the client starts.
- over: nothing more runs at this end, so the other one ends its program.
"""

KEPT_OUTPUT_BYTES = 1 << 14
"""Of what a program prints on a stream, the begin and the end are kept, half of this each."""

MOST_PRINTED = 4 * KEPT_OUTPUT_BYTES + 100
"""Characters of that: a byte that is no text becomes an escape, and a line says what is missing."""
