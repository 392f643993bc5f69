"""Writes the results of the benchmarks into docs/performance.md, and draws its figure.

    python -m bench.report [--check]

``bench/results.json`` is what ``make bench`` measured last. Each theme has a block in the document,
between ``<!-- bench THEME -->`` and ``<!-- end -->``. ``--check`` writes nothing, and tells by its
exit status whether the blocks are those of the results.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any

from bench import background_load, figure, measuring, tables
from bench.measuring import RESULTS, ROOT

PERFORMANCE = "docs/performance.md"
FIGURE = "docs/performance.svg"

BUSY = 0.5
"""A load average at the start from which the page says that the times may be too long.

It serves for results that do not say what others took.
"""

THEMES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "ns3": tables.ns3,
    "runs": tables.runs,
    "kernels": tables.kernels,
    "scale": tables.scale,
    "jobs": tables.jobs,
    "collect": tables.collect,
    "dashboard": tables.dashboard,
    "traces": tables.traces,
}
"""What makes the table of a theme."""


def about(theme: Mapping[str, Any]) -> str:
    """Return when and where a theme was measured, and whether the machine was busy."""
    machine = theme["machine"]
    rounds = theme["rounds"]
    kept = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    lines = [
        f"Measured on {theme['date']}, {kept}, on {machine['cpus']} CPUs ({machine['cpu']}),",
        f"{machine['system']}, Python {machine['python']}.",
    ]
    if (taken := theme.get("others")) is not None:
        lines.append(background_load.told(taken))
    elif machine["load"] > BUSY:
        lines.append(
            f"The machine may have been busy (load {machine['load']} before): they may be too long."
        )
    return "\n".join(lines)


def block(name: str, results: Mapping[str, Any]) -> str:
    """Return the text between the marks of a theme."""
    theme = results["themes"].get(name)
    if theme is None:
        return f"Not measured yet: `make bench THEMES={name}`."
    return f"{about(theme)}\n\n{THEMES[name](theme)}"


def written(text: str, results: Mapping[str, Any]) -> str:
    """Return the document's text with its blocks made anew.

    Raises:
        SystemExit: the document has no marks for a theme of its own.
    """
    for name in THEMES:
        start, end = f"<!-- bench {name} -->", "<!-- end -->"
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        content = f"{start}\n\n{block(name, results)}\n\n{end}"
        text, found = pattern.subn(content.replace("\\", r"\\"), text)
        if found != 1:
            raise SystemExit(f"{PERFORMANCE}: {found} blocks begin with {start}, and not one")
    return text


def main() -> int:
    """Write the blocks and the figure, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1: they differ")
    options = parser.parse_args()
    results = measuring.read(RESULTS)
    file = ROOT / PERFORMANCE
    before = file.read_text(encoding="utf-8")
    after = written(before, results)
    differs = after != before
    if differs and not options.check:
        file.write_text(after, encoding="utf-8")
    if not options.check and "scale" in results["themes"]:
        (ROOT / FIGURE).write_bytes(figure.drawn(results["themes"]["scale"]))
    print(f"{'differ' if options.check else 'written'}: {PERFORMANCE if differs else 'none'}")
    return int(options.check and differs)


if __name__ == "__main__":
    raise SystemExit(main())
