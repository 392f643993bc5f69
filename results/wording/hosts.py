"""What a scenario asks of its hosts, in words."""

from __future__ import annotations

from collections.abc import Iterator

from results.store.stored import StoredRun


def of_run(run: StoredRun) -> list[str]:
    """Return lines about the network cards of a run's hosts; none where the scenario asks nothing.

    The scenario may come from another machine's store, so its form is looked at.
    """
    host = run.head.resolved.get("host")
    if not isinstance(host, dict):
        return []
    lines = list(_lines(host, "hosts", False))
    for key, of in (("groups", "hosts of group"), ("hosts", "host")):
        single = host.get(key)
        for name, options in single.items() if isinstance(single, dict) else ():
            if isinstance(options, dict):
                lines += _lines(options, f"{of} {name}", True)
    return lines


def _lines(options: dict[str, object], of: str, single: bool) -> Iterator[str]:
    """Yield what is asked of some hosts; of ``single`` ones also that they have nothing."""
    offloads, small = options.get("offloads"), options.get("small_queues")
    if isinstance(offloads, list) and (offloads or single):
        yield f"offloads of {of}: {', '.join(map(str, offloads)) or 'none'}"
    moderation, ring = options.get("coalesce"), options.get("ring")
    if isinstance(moderation, dict):
        frames = moderation.get("frames")
        text = f"{moderation.get('time')}{'' if frames is None else f', or {frames} frames'}"
        yield f"receive interrupts of {of}: after {text}"
    if isinstance(ring, str):
        yield f"receive rings of {of}: {ring}"
    qdisc = options.get("qdisc")
    if isinstance(qdisc, str) and (qdisc != "none" or single):
        yield f"queueing discipline of {of}: {qdisc}"
    if small is True or (small is False and single):
        yield f"small queues of {of}: {'yes' if small else 'no'}"
