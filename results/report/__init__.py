"""A report of experiments as one HTML file and one PDF, from text, tables and figures.

Both are made of one template. They are self-contained: they need no other file, no network and no
script. Equal content gives equal bytes.
"""

from __future__ import annotations

from results.report._html import html_page
from results.report._model import LabelledValue, Picture, Section, Table, Tone
from results.report._pdf import PACKAGES, pdf, typeset

__all__ = [
    "PACKAGES",
    "LabelledValue",
    "Picture",
    "Section",
    "Table",
    "Tone",
    "html_page",
    "pdf",
    "typeset",
]
