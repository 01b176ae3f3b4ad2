"""Where recoveries went by the client's rules and not by BP-46's stricter numbers: noted, never convicted.

BP-46 ("A note on Quorums") asks for AQ positive answers to recover an entry, gives up at QC answers that
are neither positive nor negative, asks for EC positive answers to fencing, and says that fencing cannot
be denied. The client takes one positive answer, asks on after errors, counts fencing by write sets,
and takes an explicit negative to fencing as an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.wording import bookie_name, counted, ledger_text, listed
from checkers.recovery.closes import Ensemble
from checkers.recovery.decisions import Case, Grounds
from checkers.recovery.writebacks import Writing
from checkers.sets.spans import Spans
from protocol.addresses import MAX_BOOKIES
from protocol.quorums import Quorums


class Difference(NamedTuple):
    """One rule of BP-46 that recoveries did without: how often, and a sentence with the first example."""

    name: str
    number: int
    text: str


def differences(
    cases: Collection[Case], writings: Iterable[Writing], quorums: Mapping[int, Quorums], run: RunFacts
) -> list[Difference]:
    """One for each rule, in this order; ``quorums`` are the ledgers' by id.

    Recoverers inside a bookie are left out: what the bookie answers itself is not seen.
    """
    clients = [one for one in writings if one.source > MAX_BOOKIES and one.ledger in quorums]
    closers = [(case, case.closer) for case in cases if case.closer is not None and not case.closer.own]
    return [
        _few_positives(clients, quorums, run),
        _many_unsure(clients, quorums, run),
        _few_fenced(closers, run),
        _denied_fencing(closers, run),
    ]


def _few_positives(writings: list[Writing], quorums: Mapping[int, Quorums], run: RunFacts) -> Difference:
    few = [(one, one.found_below(quorums[one.ledger].ack)) for one in writings]

    def said(one: Writing, entry: int) -> str:
        answers = counted(len(one.found_by(entry)), "positive answer")
        return f"was recovered on {answers}; BP-46 asks for {quorums[one.ledger].ack} (AQ)"

    return _of_entries("found_by_fewer_than_AQ", few, said, run)


def _many_unsure(writings: list[Writing], quorums: Mapping[int, Quorums], run: RunFacts) -> Difference:
    many = [(one, one.unsure_from(quorums[one.ledger].coverage)) for one in writings]

    def said(one: Writing, _: int) -> str:
        return (
            "was recovered beside unknown answers; "
            f"BP-46 makes no progress at {quorums[one.ledger].coverage} of them (QC)"
        )

    return _of_entries("found_beside_QC_unknown", many, said, run)


def _of_entries(
    name: str, found: list[tuple[Writing, Spans]], said: Callable[[Writing, int], str], run: RunFacts
) -> Difference:
    some = [(one, spans) for one, spans in found if len(spans)]
    number = sum(spans.count() for _, spans in some)
    if not some:
        return Difference(name, 0, "")
    one, entry = some[0][0], int(some[0][1].first[0])
    text = f"entry {entry} of {ledger_text(run, one.ledger)} {said(one, entry)}"
    return Difference(name, number, f"{text}{_more(number, 'entry', 'entries')}")


def _few_fenced(closers: list[tuple[Case, Grounds]], run: RunFacts) -> Difference:
    few = [
        (case, grounds)
        for case, grounds in closers
        if len(grounds.known & set(_last(case).last)) < _last(case).quorums.ensemble_coverage
    ]
    if not few:
        return Difference("fenced_by_fewer_than_EC", 0, "")
    case, grounds = few[0]
    answers = counted(len(grounds.known & set(_last(case).last)), "answer")
    text = (
        f"{ledger_text(run, case.close.ledger)} was fenced on {answers}; "
        f"BP-46 asks for {_last(case).quorums.ensemble_coverage} (EC)"
    )
    return Difference("fenced_by_fewer_than_EC", len(few), f"{text}{_more(len(few), 'ledger')}")


def _denied_fencing(closers: list[tuple[Case, Grounds]], run: RunFacts) -> Difference:
    denied = [(case, grounds) for case, grounds in closers if grounds.fenced_empty]
    if not denied:
        return Difference("fencing_denied", 0, "")
    case, grounds = denied[0]
    who = listed(bookie_name(run, bookie) for bookie in sorted(grounds.fenced_empty))
    text = (
        f"{ledger_text(run, case.close.ledger)}: {who} answered a fencing read with an explicit negative, "
        "which counted; BP-46 says that there is none"
    )
    return Difference("fencing_denied", len(denied), f"{text}{_more(len(denied), 'ledger')}")


def _last(case: Case) -> Ensemble:
    """What the version in recovery names; the closing version comes first."""
    return case.close.ensembles[-1]


def _more(number: int, singular: str, plural: str = "") -> str:
    return f" ({counted(number, singular, plural)} in all)" if number > 1 else ""
