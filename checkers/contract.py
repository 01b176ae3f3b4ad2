"""What a checker is: facts of ledgers, a check of whole blocks, and a conclusion.

A **block** is every row of ``operations``, ``frames``, ``census`` and ``holdings`` of one ledger whose entry
lies in one range of ids (:mod:`protocol.buckets`); rows that name no entry are the ledger's block -1. A
**batch** is some whole blocks. A property is judged in three phases:

1. ``facts``: small tables about ledgers that need more than one block (:mod:`checkers.ledger_facts`).
2. ``check(batch, facts, run)``: what is wrong with the entries of the batch (:mod:`checkers.found`). All rows
   of an entry are in the batch, so nothing is merged afterwards but lists and counts.
3. ``conclude(found, facts, run)``: the judgement of the whole run.

What a checker finds depends neither on the size of blocks, nor on how they are grouped into batches, nor on
the order of rows. A checker over the whole run (faults, boots) finds nothing in batches and only concludes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from checkers.found import Found
from checkers.ledger_facts import LedgerFact, LedgerFacts
from checkers.rows import Batch
from evidence.exchange.chains import Chain
from evidence.findings import Judgement
from protocol.faults import Loses

__all__ = ["EVERY_LEDGER", "Batch", "Checker", "Doubting", "Found", "LedgerFact", "LedgerFacts"]
__all__ += ["RunFacts"]

Answer = TypeVar("Answer")
EVERY_LEDGER = -1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What every task knows of the run: small, broadcast once.

    ``bookies`` maps a bookie's name to its number, ``clients`` a client's name to its number;
    ``faults`` and ``servers`` are those two tables as rows; ``complete`` says that the evidence was
    closed in order, ``left_out`` why steps of the plan were not run; ``damage`` names what
    is torn or missing, by table; ``required`` are the properties without which the plan accepts no
    ``valid``; ``allowance`` is how many explained losses of a ledger the plan accepts in this mode, by
    ledger id, or ``EVERY_LEDGER`` for those it does not name. ``wire`` says that
    a wire log was kept; ``least_loss`` is the least that a fault must take to take what a bookie has
    acknowledged, for bookies without another setting in any boot, unless a boot's own record says
    so (:func:`protocol.modes.least_loss`). ``guarded`` names the bookies that run under BP-46's protection
    (no journaled data, integrity checking on, a release and a storage with that feature), so that limbo is
    due after an unclean end. ``began_ns`` is when the run began; findings count their times from
    it. ``racks`` maps bookies to their failure domains, of which the plan wants ``min_racks`` in
    every write set; none where it gives none.
    ``chains`` are the logs made of ledgers. ``most_acks`` is the largest ack quorum of any ledger, 0 where
    the table was not read: a check may drop what no ledger can need.
    """

    scenario: str
    mode: str
    run_id: int
    bookies: Mapping[str, int]
    clients: Mapping[str, int]
    ledger_names: Mapping[int, str] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    servers: tuple[Mapping[str, Any], ...] = ()
    required: tuple[str, ...] = ()
    allowance: Mapping[int, int] = field(default_factory=dict)
    complete: bool = True
    left_out: str = ""
    wire: bool = False
    least_loss: Mapping[str, Loses] = field(default_factory=dict)
    guarded: frozenset[str] = frozenset()
    began_ns: int = 0
    damage: tuple[str, ...] = ()
    racks: Mapping[str, str] = field(default_factory=dict)
    min_racks: int = 0
    chains: tuple[Chain, ...] = ()
    most_acks: int = 0
    _known: dict[Callable[[RunFacts], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def once(self, function: Callable[[RunFacts], Answer]) -> Answer:
        """``function`` of this run, worked out once: checkers ask for the same of each ledger."""
        if function not in self._known:
            self._known[function] = function(self)
        found: Answer = self._known[function]
        return found


class Checker(Protocol):
    """One property. ``tables`` names what it rests on, ``kinds`` all that it may find."""

    name: str
    tables: tuple[str, ...]
    kinds: tuple[str, ...]
    facts: tuple[LedgerFact, ...]

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """What is found in the blocks of one batch.

        ``run.damage`` is not complete yet (:class:`Doubting`): only ``conclude`` may ask for it.
        """
        ...

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Judge the whole run from what was found in all batches."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A checker that also knows where the evidence contradicts itself.

    ``damage`` takes what ``conclude`` takes, and returns sentences as in ``RunFacts.damage``; all checkers
    conclude with them.
    """

    damage: Callable[..., tuple[str, ...]]
