#!/usr/bin/env python3
"""Write docs/reproduction.md: all claims of the papers with their verdicts.

usage: reproduction.py [--check]

It is made of scenarios/papers/claims/*.yaml and the summaries in scenarios/papers/claims/measured,
which ``orchestrator reproduce --write`` writes. With --check nothing is written. Status 1 then says
that the page is not what they make.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ROOT / "scenarios/papers/claims"
PAGE = ROOT / "docs/reproduction.md"


def made() -> str:
    """Return the page that claims and summaries make."""
    from results.claims.model import load_all
    from results.claims.page import page
    from results.claims.record import read_all

    return page(load_all(CLAIMS), read_all(CLAIMS / "measured"))


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; return the exit status."""
    text = made()
    if arguments == ["--check"]:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            sys.stderr.write(f"{PAGE}: run tools/reproduction.py to make it again\n")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
