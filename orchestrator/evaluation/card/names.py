"""Names of the files of a card."""

from __future__ import annotations

HTML, JSON, JUNIT, PDF = "card.html", "card.json", "card.xml", "card.pdf"
BADGE, BADGE_SVG = "badge.json", "badge.svg"
