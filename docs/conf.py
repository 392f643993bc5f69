"""Configuration of the documentation's site, which ``make docs`` builds by Sphinx into build/docs.

The pages are the Markdown files of the repository, as they are read there: README.md and the other
files of its top folder, docs/, and scenarios/README.md. A link to any other file is a download. A
link to a folder, of which a site has none, becomes its text. All other links must lead to a page
and a heading, because warnings are errors.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

project = "TCP congestion-control orchestrator"
author = project_copyright = "The maintainers of the TCP congestion-control orchestrator"

root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/claims/*.md", "scenarios/README.md"]
exclude_patterns = [
    ".*", "build", "dist", "bench", "guest", "kmods", "orchestrator", "playbooks", "results",
    "tests", "tools", "topologies", "web", "scenarios/papers",
]  # fmt: skip

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
nitpicky = True
highlight_language = "none"

html_theme = "furo"
html_title = project
html_static_path = ["_site/wide.css"]
html_css_files = ["wide.css"]
html_show_sphinx = False
html_copy_source = False
templates_path = ["_site"]
html_additional_pages = {"index": "index.html"}  # leads to README.html

PAGES = {
    "Use": (
        "docs/installing", "docs/scenarios", "docs/hosts", "docs/programs", "docs/experiments",
        "docs/traces", "docs/trust", "docs/dashboard", "docs/modules", "docs/evaluation",
        "docs/cards", "docs/kernels", "docs/machines", "docs/performance",
    ),
    "Look up": ("docs/reference", "docs/metrics", "docs/glossary", "All pages <docs/README>"),
    "Papers": (
        "Tutorial and papers <scenarios/README>", "docs/reproduction", "docs/claims/westwoodplus",
        "docs/claims/logwestwood", "docs/claims/tibet", "docs/claims/libra",
        "docs/claims/open-rows", "docs/lessons",
    ),
    "Change": ("docs/developing", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG"),
}  # fmt: skip
"""All pages but the first one, as the sidebar shows them."""

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#:]+)\)")


def contents() -> str:
    """Return the directives that put all pages into the sidebar."""
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n"
        for caption, names in PAGES.items()
    )


def without_folders(text: str, folder: Path) -> str:
    """Return Markdown of a folder in which links to folders are only their texts."""
    return _LINK.sub(lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def prepare(_app: Any, name: str, source: list[str]) -> None:
    """Make a page of a file: Sphinx has read it, and parses ``source[0]`` next."""
    source[0] = without_folders(source[0], (ROOT / name).parent)
    if name == root_doc:
        source[0] += contents()


def setup(app: Any) -> None:
    """Connect what changes the sources."""
    app.connect("source-read", prepare)
