"""How a connection can end, and which errors of the kernel stand for each way.

These errors are results of an experiment: a network that loses everything for long, or a peer that
resets. All other errors are faults of the test bed.
"""

from __future__ import annotations

import errno

ENDED, TIMED_OUT, RESET, UNREACHABLE, NEVER_CONNECTED = OF_CONNECTIONS = (
    "ended",
    "timed_out",
    "reset",
    "unreachable",
    "never_connected",
)
"""Of a flow by its connections. It has "ended", too, if it went on until the end of the run."""

EXIT_STATUS, SIGNAL, NOT_READY, OUT_OF_TIME, OUTPUT, STOPPED = OF_PROGRAMS = (
    "exit_status",
    "signal",
    "not_ready",
    "out_of_time",
    "output",
    "stopped",
)
"""Of a flow by its client program, which has "ended", too, with the exit status 0.

- exit_status: it ended with another exit status.
- signal: a signal ended it.
- not_ready: its server was not ready in time, or ended before.
- out_of_time: it ran longer than it may.
- output: it or its server printed more than it may.
- stopped: it ran until the flow's stop time, or the end of the run.
"""

OUTCOMES = (*OF_CONNECTIONS, *OF_PROGRAMS)
"""Of a flow."""

_OUTCOME_OF = {
    errno.ETIMEDOUT: TIMED_OUT,
    errno.ECONNRESET: RESET,
    errno.ECONNREFUSED: RESET,
    errno.ECONNABORTED: RESET,
    errno.EPIPE: RESET,
    errno.ENOTCONN: RESET,
    errno.ESHUTDOWN: RESET,
    errno.EHOSTUNREACH: UNREACHABLE,
    errno.ENETUNREACH: UNREACHABLE,
    errno.EHOSTDOWN: UNREACHABLE,
    errno.ENETDOWN: UNREACHABLE,
    errno.ENONET: UNREACHABLE,
    errno.ENOPROTOOPT: UNREACHABLE,  # an ICMP "protocol unreachable"
}

NETWORK_ERRORS = frozenset(_OUTCOME_OF)
"""The errors with which the kernel ends a connection because of its network or its peer."""


def outcome_of(code: int, connected: bool) -> str:
    """Return the outcome of a connection that failed with that errno.

    The code 0 is that of a connection to which nobody had answered when it was given up, or by the
    end of the run.
    """
    outcome = _OUTCOME_OF.get(code, NEVER_CONNECTED)
    return NEVER_CONNECTED if outcome == TIMED_OUT and not connected else outcome
