"""What random histories are made of: rows that are mostly as they should be, and sometimes odd.

A seed decides everything. What a rule needs is drawn often enough that each rule is both broken and excused.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from evidence.codes import NEVER, Direction, Message, Status
from tests.histories.boots import UNPROVEN, boot, server
from tests.histories.exchanges import frame
from tests.histories.story import Fact, metadata

SHAPES = ((3, 3, 2), (3, 3, 2), (3, 2, 2), (4, 3, 2), (3, 3, 1))
Row = dict[str, Any]


class Dice(random.Random):
    """Seeded dice."""

    def chance(self, of: float) -> bool:
        return self.random() < of

    def mostly(self, usual: Any, *others: Any, but: float = 0.05) -> Any:
        """The usual value, but now and then another one."""
        return self.choice(others) if self.chance(but) else usual


def numbered(facts: Iterable[Fact]) -> list[Fact]:
    """The facts with sequence numbers in their order."""
    return [(name, {**row, "seq": at} if "seq" in row else row) for at, (name, row) in enumerate(facts, 1)]


def answer(dice: Dice, kind: Message, entry: int, status: int, at_ns: int, **columns: Any) -> Fact:
    """What a bookie said: asked shortly before, passed on at once as it was, by a boot that is known."""
    row = {
        "way": dice.mostly(Direction.ANSWER, Direction.REQUEST),
        "status": status,
        "delivered": dice.mostly(status, Status.NONE, Status.EOK, Status.ENOENTRY, Status.EIO, but=0.1),
        "asked_ns": dice.mostly(max(1, at_ns - dice.choice((0, 1, 20))), NEVER, but=0.03),
        "received_ns": at_ns,
        "forwarded_ns": dice.mostly(at_ns + dice.choice((0, 0, 1, 9)), NEVER),
        "boot": dice.choice((1, 1, 1, 2, 2, 0)),
    }
    name, made = frame(kind, entry=entry, **{**row, **columns})
    made["flags"] |= int(dice.mostly(0, *UNPROVEN, but=0.1))
    return name, made


def versions(
    dice: Dice,
    ledger: int,
    states: Sequence[int],
    shape: tuple[int, int, int],
    end: int,
    *,
    names: Sequence[str],
    of: Sequence[str],
    busy_ns: int = 0,
) -> list[Fact]:
    """A ledger's metadata, state after state; bookies ``of`` may replace the first ``names``.

    It is not closed before ``busy_ns``. Sometimes a version was not seen.
    """
    columns = dict(zip(("ensemble", "write_quorum", "ack_quorum"), shape, strict=True))
    now, at_ns, found = list(names), dice.choice((1, 1, 8)), []
    for number, state in enumerate(states):
        if dice.chance(0.2):
            now = dice.sample(of, shape[0])
        at_ns = max(at_ns, busy_ns) if number == len(states) - 1 else at_ns
        row = metadata(
            number,
            state,
            ledger=ledger,
            last_entry=dice.mostly(end, end + 1) if state == 3 else -2,
            fragments=dice.mostly({0: now}, {0: list(names), dice.choice((1, 2)): now}, but=0.2),
            earliest_ns=at_ns,
            latest_ns=dice.choice((at_ns, at_ns + 5, NEVER if state == 3 else at_ns)),
            **columns,
        )
        found += dice.mostly([row], [], but=0.03)
        at_ns += dice.choice((1, 20))
    return found


def boots(dice: Dice, bookies: Iterable[int]) -> list[Row]:
    """Up to three boots of each bookie, the last of them perhaps to the end; most became ready."""
    rows = []
    for bookie in bookies:
        began = 1
        for number in range(1, dice.choice((2, 2, 3)) + 1):
            end = dice.mostly(dice.choice((0, 20, 40, 60)), began + dice.randint(2, 30), but=0.08)
            end = end or dice.choice((0, 0, 0, 0, 0, 95, 108, 200))
            end = end if end > began else 0
            how = dice.choice(("killed", "killed", "stopped"))
            rows += boot(bookie, number, began=began, **{how: end})
            rows += dice.mostly([server(bookie, number, "answering", began + 1, began + 1)], [], but=0.3)
            began = end + dice.randint(1, 5)
            if not end:
                break
    return rows
