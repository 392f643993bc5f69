"""What some kernels lack that a run may want."""

from __future__ import annotations

import re

from guest.patch_series import Series
from orchestrator.errors import UsageError
from orchestrator.planning.runspec import RunSpec

RACK = 1
"""The bit of net.ipv4.tcp_recovery by which Linux finds losses by time."""

ONLY_RACK_SINCE: Series = (6, 17)
"""Since then this bit has no effect, as ip-sysctl.rst of Linux 7.3 says: RFC 6675's loss recovery
by duplicate ACKs is gone."""


def require_features(spec: RunSpec, release: str) -> None:
    """Raise UsageError where a kernel lacks what a run wants, with the kernels that have it."""
    match = re.match(r"(\d+)\.(\d+)", release)
    if match is None:
        return
    series = int(match[1]), int(match[2])
    by_time = (
        settings.sysctls.get("net.ipv4.tcp_recovery", str(RACK)) for settings in spec.hosts.values()
    )
    if series >= ONLY_RACK_SINCE and any(not int(value) & RACK for value in by_time):
        raise UsageError(
            f"Linux {release} has no recovery by duplicate ACKs (`tcp.recovery: dupack`, which the "
            "profiles newreno, reno and sack have): it left Linux in 6.17\n"
            "  fix: use a kernel before 6.17, such as `kernel: 6.12`, or `tcp.recovery: rack`"
        )
