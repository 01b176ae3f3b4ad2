"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def cell(text: str) -> str:
    """``text`` on one line, with "or" for each bar, which would end the cell."""
    return " ".join(text.split()).replace("|", " or ").replace("``", "`")


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a table; no line at all where there is no row."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if lines:
        yield f"| {' | '.join(headings)} |"
        yield "|---" * len(headings) + "|"
        yield from lines
