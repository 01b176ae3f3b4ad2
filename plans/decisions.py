"""What clients decided, held against what a plan says they decide.

A decision is how the first ``recover`` (or ``close``) of a client on a ledger ended, as the step
recorded it. Each ``decides`` of a plan becomes one row of a table: case, document, decision,
difference. Knows no evidence and no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from plans.expectations import Decides
from plans.rounds import in_rounds

NOTHING = "nothing that was recorded"


@dataclass(frozen=True, slots=True)
class Decision:
    """How one step ended: its client, its ledger in the plan, the round, and what the client was told.

    ``began_ns`` orders the decisions of one ledger; ``last_entry`` is None unless the client named
    one; ``error`` and ``code`` are BookKeeper's, empty and 0 for ok.
    """

    step: str
    client: str
    ledger: str
    round: int
    began_ns: int
    outcome: str
    last_entry: int | None = None
    error: str = ""
    code: int = 0

    def __str__(self) -> str:
        if self.outcome == "ok":
            return f"ok, last entry {self.last_entry}"
        return f"{self.outcome}, {self.error or 'error'} ({self.code})"


@dataclass(frozen=True, slots=True)
class Decided:
    """One row of the table: what the document says, what was decided, how the two differ.

    ``decision`` tells every decision of the rounds, the most frequent first; ``shown`` of ``of``
    rounds were as stated, ``differing`` are the others; ``recorded`` says that one of these was
    really decided otherwise, and not only left unrecorded.
    """

    case: str
    document: str
    stated: str
    decision: str
    difference: str
    shown: int
    of: int
    met: bool
    recorded: bool
    differing: tuple[int, ...] = ()

    @property
    def complaint(self) -> str:
        """One sentence for a row that is not met."""
        where = in_rounds(self.differing, self.of)
        return (
            f"{self.case}: the document says {self.document!r}, the plan expects {self.stated}, "
            f"the client decided {self.decision}{where}"
        )


def decided(entry: Decides, decisions: Sequence[Decision], rounds: int) -> Decided:
    """The row of one ``decides``: in each round the first decision that it speaks of must be as stated."""
    first: dict[int, Decision] = {}
    for one in sorted(decisions, key=lambda decision: decision.began_ns):
        if (one.step, one.ledger) == (entry.step, entry.ledger) and entry.client in (None, one.client):
            first.setdefault(one.round, one)
    numbers = range(1, rounds + 1)
    differing = tuple(number for number in numbers if not _agrees(entry, first.get(number)))
    shown = rounds - len(differing)
    return Decided(
        case=entry.case or _case(entry),
        document=entry.document,
        stated=stated(entry),
        decision=_told([first.get(number) for number in numbers]),
        difference=entry.differs,
        shown=shown,
        of=rounds,
        met=not differing,
        recorded=any(number in first for number in differing),
        differing=differing,
    )


def agreed(rows: Sequence[Decided]) -> str:
    """One sentence for a table in which every decision was as stated."""
    noun = "decision" if len(rows) == 1 else "decisions"
    differing = sum(bool(row.difference) for row in rows)
    other = f", {differing} of them not as the document says" if differing else ""
    often = f", in each of {rows[0].of} rounds" if rows[0].of > 1 else ""
    return f"as expected: {len(rows)} {noun}{often}{other}"


def stated(entry: Decides) -> str:
    """What the plan expects the client to decide, as a phrase."""
    last = "" if entry.last_entry is None else f", last entry {entry.last_entry}"
    error = f", {entry.error}" if entry.error else ""
    return f"{entry.outcome}{last}{error}"


def _case(entry: Decides) -> str:
    who = f" by {entry.client}" if entry.client else ""
    step = "" if entry.step == "recover" else f" ({entry.step})"
    return f"{entry.ledger}{who}{step}"


def _agrees(entry: Decides, decision: Decision | None) -> bool:
    return (
        decision is not None
        and decision.outcome == entry.outcome
        and entry.last_entry in (None, decision.last_entry)
        and entry.error in ("", decision.error, str(decision.code))
    )


def _told(decisions: Sequence[Decision | None]) -> str:
    counted = Counter(NOTHING if one is None else str(one) for one in decisions)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{text} ({count} of {len(decisions)})" for text, count in counted.most_common())
