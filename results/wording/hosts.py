"""What a scenario asks of its hosts, in words."""

from __future__ import annotations

from results.store.stored import StoredRun


def of_run(run: StoredRun) -> list[str]:
    """Return lines about the network cards of a run's hosts; none where the scenario asks nothing.

    The scenario may come from another machine's store, so its form is looked at.
    """
    host = run.head.resolved.get("host")
    if not isinstance(host, dict):
        return []
    lines = []
    offloads = host.get("offloads")
    if isinstance(offloads, list) and offloads:
        lines.append(f"offloads of hosts: {', '.join(map(str, offloads))}")
    if host.get("small_queues") is True:
        lines.append("hosts have small queues")
    return lines
