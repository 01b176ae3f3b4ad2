"""A close that was not announced, as a literal history; ``LITERALS`` includes those of the other modules."""

from __future__ import annotations

from tests.histories.asking import CLOSED_BY, add, answered, asked, recovery
from tests.histories.literals import on_the_wire
from tests.histories.literals_unending import LITERALS
from tests.histories.story import acked, closed, created, recovering

__all__ = ("LITERALS",)

EVERYWHERE = [
    [asked("writer", bookie, add(entry), at=4), answered("writer", bookie, add(entry))]
    for bookie in ("b1", "b2", "b3")
    for entry in range(5)
]
WRITTEN = [EVERYWHERE, [acked(entry, completed_ns=6) for entry in range(5)]]
on_the_wire(
    "recovery/not_in_recovery",
    [created(), closed(4, 1, latest_ns=CLOSED_BY), WRITTEN, recovery(4, denied=())],
    lawful=[created(), recovering(1), closed(4, 2, latest_ns=CLOSED_BY), WRITTEN, recovery(4)],
)
