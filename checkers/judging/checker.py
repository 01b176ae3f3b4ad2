"""A checker, as :mod:`checkers.judging.contract` describes it, and how its findings become a judgement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, RunFacts
from checkers.judging.found import Found, capped
from evidence.findings import Finding, Judgement, Verdict


class Checker(Protocol):
    """One property. ``tables`` names what it rests on, ``kinds`` all that it may find.

    ``needed`` says what ``valid`` takes; ``figures`` are the names in its judgement's ``seen``, which a plan
    may bound with ``measures``.
    """

    name: str
    needed: str
    tables: tuple[str, ...]
    kinds: tuple[str, ...]
    figures: tuple[str, ...] = ()
    facts: tuple[LedgerFact, ...] = ()

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002
        """What is found in the blocks of one batch: nothing, for a property that is in no block.

        ``run.damage`` is not complete yet (:class:`ReportsDamage`): only ``conclude`` may ask for it.
        """
        return Found()

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Judge the whole run from what was found in all batches."""
        ...

    def judgement(
        self,
        run: RunFacts,
        findings: Collection[Finding],
        *,
        seen: Mapping[str, int],
        enough: object,
        lacking: Sequence[str] = (),
        idle: object = False,
        counts: Mapping[str, int] | None = None,
        notes: Iterable[str] = (),
        undecided: Iterable[int] = (),
    ) -> Judgement:
        """An anomaly with a finding, else ``valid`` if there was ``enough`` and nothing is ``lacking``.

        ``idle`` says that there was nothing to judge, which counts only for a required property. Without
        ``counts`` the findings are counted, so they must be all.
        """
        verdict = Verdict.VALID if enough and not lacking else Verdict.UNKNOWN
        if idle and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        if counts is None:
            counts = {kind: sum(one.count for one in findings if one.kind == kind) for kind in self.kinds}
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed=self.needed,
            seen=seen,
            findings=capped(findings),
            counts=counts,
            notes=(*lacking, *notes),
            undecided=tuple(sorted(set(undecided))),
        )


@runtime_checkable
class ReportsDamage(Protocol):
    """A checker that also knows where the evidence contradicts itself.

    ``damage`` takes what ``conclude`` takes, and returns sentences as in ``RunFacts.damage``; all checkers
    conclude with them.
    """

    damage: Callable[..., tuple[str, ...]]
