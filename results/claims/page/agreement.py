"""The figure of all claims: how much of each agrees, by paper, those that agree most first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from results.claims.judge import DOES_NOT, HOLDS, MIXED, MOSTLY, MOSTLY_NOT, OPEN, Verdict
from results.claims.judged_statements import JudgedClaim
from results.figures._canvas import Canvas
from results.figures._style import applied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGREEMENT = "agreement.svg"
"""File of the figure, beside the papers' pages."""

COLOURS: dict[Verdict, str] = {
    HOLDS: "#1B7837", MOSTLY: "#7FBF7B", MIXED: "#BDBDBD", MOSTLY_NOT: "#AF8DC3",
    DOES_NOT: "#762A83", OPEN: "#FFFFFF",
}  # fmt: skip
"""A colour a word, told apart with each kind of colour blindness (ColorBrewer, PRGn)."""

EDGE = "#404040"
ROW_IN = 0.16
AROUND_IN = 0.75
BAR = 0.7
LEAST = 0.024
"""Width of the bar of an agreement that is known exactly."""


EvidenceLink = Callable[[str, str], str]
"""Returns the address of the evidence of a claim, of paper and claim."""


def figure(judged: Mapping[tuple[str, str], JudgedClaim | None], link: EvidenceLink) -> bytes:
    """Return the figure as SVG; equal claims and links give equal bytes.

    A panel a paper, a row a claim. A bar reaches from the least to the most of the claim that can
    agree while rows are open. Claims of which nothing counts have no row. A click on a row leads
    to the evidence.
    """
    by_paper: dict[str, list[JudgedClaim]] = {}
    for (paper, _claim), claim in judged.items():
        if claim is not None and claim.agreement is not None:
            by_paper.setdefault(paper, []).append(claim)
    with applied():
        canvas = Canvas("ieee-wide")
        most = max(len(claims) for claims in by_paper.values())
        canvas.figure.set_figheight(ROW_IN * most + AROUND_IN)
        panels = canvas.figure.subplots(1, len(by_paper), squeeze=False)[0]
        handles: dict[Verdict, Any] = {}
        for panel, (paper, claims) in zip(panels, by_paper.items(), strict=True):
            handles |= _draw(panel, paper, claims, link)
            panel.set_ylim(most - 0.4, -0.6)
        canvas.figure.supxlabel("share of a claim's statements that agrees", fontsize=8)
        shown = [word for word in COLOURS if word in handles]
        canvas.legend([handles[word] for word in shown], shown)
        return canvas.content("svg")


def _draw(
    panel: Axes, paper: str, claims: Sequence[JudgedClaim], link: EvidenceLink
) -> dict[Verdict, Any]:
    """Draw the claims of a paper; return what the legend shows of each word."""
    handles: dict[Verdict, Any] = {}
    ordered = sorted(claims, key=_place)
    for position, claim in enumerate(ordered):
        agreement = claim.agreement
        if agreement is None:
            raise AssertionError("only claims with an agreement are drawn")
        low, width = agreement.low, agreement.high - agreement.low
        if width < LEAST:
            low, width = min(max(low - LEAST / 2, 0.0), 1.0 - LEAST), LEAST
        handles[claim.verdict] = panel.barh(
            position, width, left=low, height=BAR, color=COLOURS[claim.verdict],
            edgecolor=EDGE, linewidth=0.5, url=link(paper, claim.claim),
        )  # fmt: skip
    panel.set_title(paper, fontsize=8)
    panel.set_xlim(-0.02, 1.02)
    panel.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    panel.set_yticks(range(len(ordered)), [claim.claim for claim in ordered])
    for claim, label in zip(ordered, panel.get_yticklabels(), strict=True):
        label.set_url(link(paper, claim.claim))
    panel.tick_params(axis="y", length=0)
    return handles


def _place(claim: JudgedClaim) -> tuple[float, str]:
    agreement = claim.agreement
    return (
        (0.0, claim.claim) if agreement is None else (-agreement.low - agreement.high, claim.claim)
    )
