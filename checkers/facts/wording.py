"""How findings and notes say names, entries and answers: one wording for all properties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checkers.contract import RunFacts

_NOTES = 20


def client_name(run: RunFacts, number: int) -> str:
    """The plan's name of a client number, or ``client 107`` for one it does not know."""
    for name, known in run.clients.items():
        if known == number:
            return name
    return f"client {number}"


def bookie_name(run: RunFacts, number: int) -> str:
    """The plan's name of a bookie number, or ``bookie 7`` for one it does not know."""
    for name, known in run.bookies.items():
        if known == number:
            return name
    return f"bookie {number}"


def ledger_text(run: RunFacts, ledger: int) -> str:
    """``ledger 4 (main)``, or without a name when the plan gave none."""
    name = run.ledger_names.get(ledger)
    return f"ledger {ledger} ({name})" if name else f"ledger {ledger}"


def entries_text(first: int, last: int) -> str:
    """``entry 3`` or ``entries 3..9``."""
    return f"entry {first}" if first == last else f"entries {first}..{last}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 entry``, ``41,200 entries``."""
    word = singular if number == 1 else plural or f"{singular}s"
    return f"{number:,} {word}"


def listed(names: Iterable[str]) -> str:
    """``b1, b2, b3``."""
    return ", ".join(names)


def time_text(run: RunFacts, at_ns: int) -> str:
    """``3.104512345 s``: since the run began, as in its log and in ``fencepost explain``."""
    return f"{(at_ns - run.began_ns) / 1e9:.9f} s"


def operation_text(seq: int) -> str:
    """A client's operation by its sequence number: ``operation 12``, with its boot when not the first."""
    boot, number = seq >> 40, seq & (2**40 - 1)
    return f"operation {number}" if boot <= 1 else f"operation {number} of boot {boot}"


def some_notes(notes: Sequence[str]) -> list[str]:
    """The first notes of many, and how many more there are."""
    more = len(notes) - _NOTES
    return [*notes[:_NOTES], *([counted(more, "more such note")] if more > 0 else [])]
