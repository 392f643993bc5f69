"""Writes lines of CSV whose texts no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from typing import TextIO

from orchestrator import plaintext


class CsvLines:
    """Lines of a CSV file; every file that this program writes is written by it."""

    def __init__(self, file: TextIO) -> None:
        self._writer = csv.writer(file, lineterminator="\n")

    def add(self, cells: Iterable[object]) -> None:
        """Add a line."""
        self._writer.writerow(map(plaintext.csv_cell, cells))

    def add_all(self, rows: Iterable[Sequence[object]], texts: Collection[int]) -> None:
        """Add lines of which only the cells at these places are texts: much faster for many."""
        if not texts:
            self._writer.writerows(rows)
            return
        for row in rows:
            cells = list(row)
            for at in texts:
                cells[at] = plaintext.csv_cell(cells[at])
            self._writer.writerow(cells)
