"""What clients decided as a table: case, document, decision, difference. Judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from plans.decisions import Decided
from reports.marks import table

HEADINGS = ("case", "document", "decision", "difference")
_WIDEST = (16, 44, 30, 40)
_GAP = "  "
_NO_DIFFERENCE = "-"


def decision_lines(decisions: Sequence[Decided]) -> Iterator[tuple[str, str]]:
    """The table for a terminal as (text, style); none without decisions. Long cells go over several lines."""
    if not decisions:
        return
    rows = [_cells(one) for one in decisions]
    columns = list(zip(HEADINGS, *rows, strict=True))
    widths = [min(widest, max(map(len, column))) for widest, column in zip(_WIDEST, columns, strict=True)]
    for line in _wrapped(HEADINGS, widths):
        yield line, "dim"
    for one, row in zip(decisions, rows, strict=True):
        for line in _wrapped(row, widths):
            yield line, "" if one.met else "red"


def decision_table(decisions: Sequence[Decided]) -> Iterator[str]:
    """The table in Markdown, with a column that says whether the plan stated it so."""
    rows = ((*_cells(one), "yes" if one.met else "NO") for one in decisions)
    return table((*HEADINGS, "as expected"), rows)


def _cells(one: Decided) -> tuple[str, ...]:
    often = f" ({one.shown} of {one.of})" if one.of > 1 and one.met else ""
    return one.case, one.document, f"{one.decision}{often}", one.difference or _NO_DIFFERENCE


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    columns = [wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield f"    {_GAP.join(padded)}".rstrip()
