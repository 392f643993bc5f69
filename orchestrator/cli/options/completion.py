"""What click's parameters have as ``shell_complete``: the functions of ``completers``.

What completes arguments reads stores, claims and traces. So it is imported only when a shell asks
for it, and not by each command that has such a parameter.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _late(name: str) -> Completer:
    """Return the function of ``completers`` with that name, imported when it is called."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        completer: Completer = getattr(
            importlib.import_module("orchestrator.cli.options.completers"), name
        )
        return completer(ctx, param, incomplete)

    return complete


backends = _late("backends")
claims = _late("claims")
controls = _late("controls")
experiments = _late("experiments")
experiments_and_files = _late("experiments_and_files")
experiments_and_runs = _late("experiments_and_runs")
formats = _late("formats")
metrics = _late("metrics")
places = _late("places")
runs = _late("runs")
traces = _late("traces")
