"""How findings and notes say names, entries and answers: one wording for all properties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protocol.wording import counted

_NOTES = 20


def entries_text(first: int, last: int) -> str:
    """``entry 3`` or ``entries 3..9``."""
    return f"entry {first}" if first == last else f"entries {first}..{last}"


def listed(names: Iterable[str]) -> str:
    """``b1, b2, b3``."""
    return ", ".join(names)


def operation_text(seq: int) -> str:
    """A client's operation by its sequence number: ``operation 12``, with its boot when not the first."""
    boot, number = seq >> 40, seq & (2**40 - 1)
    return f"operation {number}" if boot <= 1 else f"operation {number} of boot {boot}"


def some_notes(notes: Sequence[str]) -> list[str]:
    """The first notes of many, and how many more there are."""
    more = len(notes) - _NOTES
    return [*notes[:_NOTES], *([counted(more, "more such note")] if more > 0 else [])]
