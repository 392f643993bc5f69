"""Refuses plans that a back end cannot run, before anything is stored."""

from __future__ import annotations

from orchestrator import backends
from orchestrator.backends.contract import Backend, Traits
from orchestrator.errors import UsageError
from orchestrator.planning.network.network_cards import has_cards
from orchestrator.planning.plan import Plan
from orchestrator.protocol.reports.trace_records import WANTED
from orchestrator.units import listed


def require_able(plan: Plan, backend: Backend, jobs: int) -> None:
    """Raise UsageError where the back end cannot do what the plan requires, or so many jobs."""
    traits = backend.traits
    if traits.most_jobs is not None and jobs > traits.most_jobs:
        raise UsageError(
            f"--jobs {jobs}: {traits.most_jobs} at most with the back end "
            f"{backend.name}: {traits.jobs_reason}"
        )
    if not traits.follows_live_paths and any(run.network.live for run in plan.runs):
        able = [name for name in backends.MODULES if backends.traits(name).follows_live_paths]
        raise UsageError(
            f"--backend {backend.name}: the topology live-path is a real network between lab hosts,"
            f" and nothing to emulate: run it with --backend {' or '.join(able)}"
        )
    if not traits.emulates_network_cards and any(has_cards(run.network) for run in plan.runs):
        able = [name for name in backends.MODULES if backends.traits(name).emulates_network_cards]
        raise UsageError(
            f"--backend {backend.name}: it emulates no network cards of hosts (`host`)\n"
            f"  fix: give --backend {' or '.join(able)}, or leave out `host`"
        )
    _require_captures(backend.name, traits, plan)


def _require_captures(name: str, traits: Traits, plan: Plan) -> None:
    """Raise UsageError where the runs are to have traces that the back end cannot make."""
    asked = {kind for run in plan.runs if run.capture for kind in run.capture.kinds}
    missing = [kind for kind in WANTED if kind in asked - traits.captures]
    if not missing:
        return
    able = [each for each in backends.MODULES if backends.traits(each).captures >= asked]
    fixes = ["leave out `capture` (--set capture=null)", f"give --backend {' or '.join(able)}"]
    what = "capture is not possible with it"
    if traits.captures:
        what = f"it captures no {' and no '.join(missing)}, only {listed(sorted(traits.captures))}"
        fixes.insert(0, f"give `capture.trace: [{', '.join(sorted(traits.captures))}]`")
    raise UsageError(f"--backend {name}: {what}\n  fix: {', or '.join(fixes)}")
