"""``orchestrator kmods``: build our congestion-control modules, and see that they work."""

from __future__ import annotations

import click

from orchestrator.cli import _options
from orchestrator.cli._guest_build import ensure_kernel
from orchestrator.cli._status import StatusLine
from orchestrator.errors import RunError

LEAST_UTILISATION = 0.93
"""A link without loss and with a queue of one BDP must be used at least so far."""

SCENARIO = """\
version: 1
name: modules
description: One flow of each module on a lossless link with a queue of one BDP.
seed: 1
duration: 60s
warmup: 20s
topology:
  kind: dumbbell
  bottleneck: {{rate: 10mbit, delay: 10ms, queue: {{kind: droptail, limit: 1bdp}}}}
  groups:
    - {{name: a, hosts: 1, access: {{rate: 100mbit, delay: 20ms}}}}
flows:
  - {{name: one, group: a, congestion: reno}}
matrix:
  flows.one.congestion: [{names}]
"""


@click.group()
def command() -> None:
    """Build our congestion-control modules, or see that each of them works."""


@command.command()
def build() -> None:
    """Build the modules for the guest kernel, unless they are cached."""
    import kmods.build

    with StatusLine() as line:
        built = kmods.build.ensure(ensure_kernel(line))
    for name, digest in built.sha256().items():
        click.echo(f"{name:20} {digest}")


@command.command()
@_options.as_json
def check(as_json: bool) -> int:
    """Build every module, load it in the guest, drive a link with it; exit 1 if one fails."""
    from orchestrator.cli import _text

    rows = _drive()
    if as_json:
        _text.print_json({"modules": rows})
    else:
        _print(rows)
    return 0 if all(row["ok"] for row in rows) else RunError.exit_status


def _drive() -> list[dict[str, object]]:
    """Run a flow of each module; return what came of it."""
    import tempfile
    from pathlib import Path

    from kmods import catalogue
    from orchestrator.cli._live import Live
    from orchestrator.plan import plan
    from orchestrator.runner import RunOptions, run_plan
    from orchestrator.scenario import load
    from results.store import Store

    names = sorted(catalogue.modules())
    with tempfile.TemporaryDirectory() as name, StatusLine() as line:
        scenario, db = Path(name) / "modules.yaml", Path(name) / "modules.db"
        scenario.write_text(SCENARIO.format(names=", ".join(names)), encoding="utf-8")
        planned = plan(load(scenario))
        ids = run_plan(planned, RunOptions(db, ensure_kernel(line)), Live(planned, line))
        with Store.open_read_only(db) as store:
            runs = store.document(ids)["runs"]
    return [_row(module, run) for module, run in zip(names, runs, strict=True)]


def _row(module: str, run: dict[str, object]) -> dict[str, object]:
    metrics, fidelity = run["metrics"], run["fidelity"]
    assert isinstance(metrics, dict)
    assert isinstance(fidelity, dict)
    used, verdict = metrics.get("utilisation"), fidelity.get("verdict")
    return {
        "module": module,
        "status": run["status"],
        "verdict": verdict,
        "utilisation": used,
        "ok": verdict == "faithful" and used is not None and used >= LEAST_UTILISATION,
        "error": run["error"],
    }


def _print(rows: list[dict[str, object]]) -> None:
    from rich.table import Table

    from kmods import catalogue
    from orchestrator.cli import _text

    table = Table("module", "works", "utilisation", "verdict", "parameters", box=None)
    for row in rows:
        used = row["utilisation"]
        table.add_row(
            str(row["module"]),
            "yes" if row["ok"] else "NO",
            f"{used:.3f}" if isinstance(used, float) else "-",
            str(row["verdict"] or row["status"]),
            ", ".join(catalogue.modules()[str(row["module"])].parameters),
        )
    _text.console().print(table)
    for row in rows:
        if row["error"]:
            click.echo(f"{row['module']}: {row['error']}", err=True)
