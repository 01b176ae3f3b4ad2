"""Parts of documents that are written by commands, between two marks that say which part it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from protocol.errors import UsageError


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
