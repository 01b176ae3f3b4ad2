"""How findings and notes say names, entries and answers: one wording for all properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from protocol.wording import counted

Of = TypeVar("Of")
_NOTES = 20


def entries_text(first: int, last: int) -> str:
    """``entry 3`` or ``entries 3..9``."""
    return f"entry {first}" if first == last else f"entries {first}..{last}"


def operation_text(seq: int) -> str:
    """A client's operation by its sequence number: ``operation 12``, with its boot when not the first."""
    boot, number = seq >> 40, seq & (2**40 - 1)
    return f"operation {number}" if boot <= 1 else f"operation {number} of boot {boot}"


def some_notes(
    of: Sequence[Of], note: Callable[[Of], str] = str, noun: str = "such note", rest: str = ""
) -> list[str]:
    """The notes of the first of many, and how many more there are: ``2 more ledgers with gaps``."""
    left = len(of) - _NOTES
    return [*map(note, of[:_NOTES]), *([f"{counted(left, f'more {noun}')}{rest}"] if left > 0 else [])]
