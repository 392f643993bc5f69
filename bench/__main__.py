"""Runs benchmarks by theme, and says what took how long.

    python -m bench [--quick] [THEME ...]

Results go to ``bench/results.json``; ``python -m bench.report`` writes them into the documents.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

THEMES = ("ns3", "runs", "scale", "jobs", "collect", "store", "dashboard", "traces", "kernels")
"""Modules ``bench_<theme>``, the most important first."""


def main() -> int:
    """Run the themes in turn, each in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, without the long cases")
    parser.add_argument("themes", nargs="*", metavar="THEME", help=", ".join(THEMES))
    options = parser.parse_args()
    for theme in options.themes:
        if theme not in THEMES:
            parser.error(f"there is no theme {theme}; valid: {', '.join(THEMES)}")
    for theme in options.themes or THEMES:
        began = time.monotonic()
        print(f"== {theme}", flush=True)
        words = [sys.executable, "-m", f"bench.bench_{theme}", *(["--quick"] * options.quick)]
        status = subprocess.run(words, check=False).returncode
        if status:
            return status
        print(f"== {theme} took {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
