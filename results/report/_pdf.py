"""Typesets the report's HTML as a PDF, with WeasyPrint."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import MachineError
from orchestrator.files.temporary import temporary_folder
from results.report import _page_order
from results.report._html import html_page, style

if TYPE_CHECKING:
    from types import ModuleType

    from results.report._model import Section

PACKAGES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
"""Debian's packages with the libraries that WeasyPrint loads; tools/report.packages has them."""

_FONTCONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def pdf(page: str) -> bytes:
    """Return an HTML document of :func:`results.report.html_page` as a PDF.

    Fonts are matplotlib's own, whatever the machine has. Nothing is fetched: the document carries
    its figures. There is no date, and the identifier is a hash of the content.

    Raises:
        MachineError: WeasyPrint's libraries are not installed.
    """
    with _typesetter() as typesetter:
        return typesetter.written(typesetter.laid_out(page))


def typeset(title: str, sections: Sequence[Section]) -> tuple[str, bytes]:
    """Return a report as an HTML document and as a PDF, which have their results in one order.

    Tables are moved before figures that would leave much of a page empty.

    Raises:
        MachineError: WeasyPrint's libraries are not installed.
    """
    with _typesetter() as typesetter:
        documents: dict[str, Any] = {}

        def laid_out(tried: Sequence[Section]) -> Sequence[_page_order.Boxes]:
            page = html_page(title, tried)
            documents.clear()  # the last one is the one to write
            documents[page] = typesetter.laid_out(page)
            return _boxes(documents[page])

        ordered = _page_order.filled(sections, laid_out)
        page = html_page(title, ordered)
        document = documents.get(page) or typesetter.laid_out(page)
        return page, typesetter.written(document)


@dataclass(frozen=True)
class _Typesetter:
    """Lays out documents and writes them; use it inside :func:`_typesetter`."""

    weasyprint: ModuleType
    fonts: Any

    def laid_out(self, page: str) -> Any:
        """Return a document that is laid out on pages."""
        html = self.weasyprint.HTML(
            string=page, url_fetcher=_fetcher(self.weasyprint), media_type="print"
        )
        sheet = self.weasyprint.CSS(string=style("print.css"), font_config=self.fonts)
        return html.render(stylesheets=[sheet], font_config=self.fonts, **_OPTIONS)

    def written(self, document: Any) -> bytes:
        """Return a document that is laid out as a PDF."""
        made: bytes = document.write_pdf(**_OPTIONS)
        return made


_OPTIONS: Mapping[str, Any] = {"pdf_identifier": None, "pdf_tags": True}


@contextmanager
def _typesetter() -> Iterator[_Typesetter]:
    with temporary_folder("fonts") as folder, _fonts_of_matplotlib(folder):
        weasyprint = _weasyprint()
        yield _Typesetter(weasyprint, weasyprint.text.fonts.FontConfiguration())


_MARGINS = (20.0, 22.0)
"""Top and bottom of a page in mm, as the style sheet has them."""

_MM = 96 / 25.4
"""Pixels of CSS in a millimetre."""


def _boxes(document: Any) -> list[_page_order.Boxes]:
    """Return the named blocks of each page, but for whole sections."""
    pages: list[_page_order.Boxes] = []
    for page in document.pages:
        top, bottom = _MARGINS[0] * _MM, page.height - _MARGINS[1] * _MM
        pages.append(
            {
                name: ((y1 - top) / (bottom - top), (y2 - top) / (bottom - top))
                for name, (_x1, y1, _x2, y2) in page.anchors.items()
                if not name.startswith("section-")
            }
        )
    return pages


def _weasyprint() -> ModuleType:
    """Return the library.

    Raises:
        MachineError: it or a library that it loads is missing.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints advice of its own
            import weasyprint
            import weasyprint.text.fonts
    except (ImportError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise MachineError(
            f"the report's PDF cannot be typeset: {reason}", f"apt-get install {PACKAGES}"
        ) from error
    module: ModuleType = weasyprint
    return module


def _fetcher(weasyprint: ModuleType) -> Any:
    """Return what lets a document have its own data only; of anything else nothing is shown."""
    return weasyprint.urls.URLFetcher(allowed_protocols=("data",))


@contextmanager
def _fonts_of_matplotlib(folder: Path) -> Iterator[None]:
    """Let fontconfig find the fonts of matplotlib and no others."""
    import matplotlib as mpl

    file = folder / "fonts.conf"
    fonts = Path(mpl.get_data_path(), "fonts", "ttf")
    file.write_text(_FONTCONFIG.format(fonts=fonts, cache=folder / "cache"), encoding="utf-8")
    before = os.environ.get("FONTCONFIG_FILE")
    os.environ["FONTCONFIG_FILE"] = str(file)
    try:
        yield
    finally:
        if before is None:
            del os.environ["FONTCONFIG_FILE"]
        else:
            os.environ["FONTCONFIG_FILE"] = before
