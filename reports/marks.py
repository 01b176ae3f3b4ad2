"""Markdown that commands write: tables, and parts of documents between two marks that name the part."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from protocol.errors import UsageError

WIDTH = 100
"""Columns of a line of Markdown; tables and code may be wider."""
_CODE = re.compile(r"`[^`]*`")
_HELD = "\0"


def wrapped(text: str, *, indent: str = "", width: int = WIDTH) -> list[str]:
    """``text`` as lines of Markdown, later lines indented; a piece of code stays on one line."""
    held = _CODE.sub(lambda code: code[0].replace(" ", _HELD), text)
    lines = textwrap.wrap(
        held, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_HELD, " ") for line in lines]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; bars and ends of lines within a cell end no cell."""
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for row in rows:
        cells = (cell.replace("|", "\\|").replace("\n", " ") for cell in row)
        yield f"| {' | '.join(cells)} |"


def cell(text: str) -> str:
    """``text`` on one line, with "or" for each bar."""
    return " ".join(text.split()).replace("|", " or ").replace("``", "`")


def begin_mark(part: str) -> str:
    """The line above a part."""
    return f"<!-- {part}: begin -->"


def end_mark(part: str) -> str:
    """The line below a part."""
    return f"<!-- {part}: end -->"


def between(document: Path, part: str) -> list[str]:
    """The lines between the marks; ``UsageError`` when the document has no such part."""
    _, inside, _ = _split(document, part)
    return inside.strip("\n").splitlines()


def put(document: Path, part: str, lines: Iterable[str]) -> None:
    """Put these lines there and leave the rest; ``UsageError`` when the document has no such part."""
    before, _, after = _split(document, part)
    text = "\n".join([before + begin_mark(part), "", *lines, "", end_mark(part) + after])
    document.write_text(text, encoding="utf-8")


def _split(document: Path, part: str) -> tuple[str, str, str]:
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    before, begin, rest = text.partition(begin_mark(part))
    inside, end, after = rest.partition(end_mark(part))
    if not begin or not end:
        raise UsageError(
            f"{document} has no place for the {part}",
            remedy=f"write the lines `{begin_mark(part)}` and `{end_mark(part)}` where it belongs",
        )
    return before, inside, after
