"""Where recoveries went by the client's rules and not by BP-46's stricter numbers: notes, never anomalies.

BP-46 ("A note on Quorums") asks for AQ positive answers to recover an entry, gives up at QC answers that
are neither positive nor negative, asks for EC positive answers to fencing, and says that fencing cannot
be denied. The client takes one positive answer, asks on after errors, counts fencing by write sets,
and takes an explicit negative to fencing as an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from checkers.contract import Found, RunFacts
from checkers.facts.histories import Histories
from checkers.facts.wording import bookie_name, counted, ledger_text, listed
from checkers.found import Row
from checkers.recovery.closes import Ensemble
from checkers.recovery.decisions import AssessedClose, Grounds
from protocol.quorums import Quorums


class Difference(NamedTuple):
    """One rule of BP-46 that recoveries did without: how often, and a sentence with the first example."""

    name: str
    number: int
    text: str


def differences(
    cases: Collection[AssessedClose], found: Found, metadata: Histories, run: RunFacts
) -> list[Difference]:
    """One for each rule, in this order; ``found`` has :func:`checkers.recovery.written.written_rows`.

    Recoverers inside a bookie are left out: what the bookie answers itself is not seen.
    """

    def few(row: Row, quorums: Quorums) -> str:
        answers = counted(row.proof[1], "positive answer")
        return f"was recovered on {answers}; BP-46 asks for {quorums.ack} (AQ)"

    def many(_: Row, quorums: Quorums) -> str:
        return (
            "was recovered beside unknown answers; "
            f"BP-46 makes no progress at {quorums.coverage} of them (QC)"
        )

    closers = [(case, case.closer) for case in cases if case.closer is not None and not case.closer.own]
    return [
        _of_entries("found_by_fewer_than_AQ", found.firsts("few", 1), few, metadata, run),
        _of_entries("found_beside_QC_unknown", found.firsts("many", 1), many, metadata, run),
        _few_fenced(closers, run),
        _denied_fencing(closers, run),
    ]


def _of_entries(
    name: str, rows: list[Row], said: Callable[[Row, Quorums], str], metadata: Histories, run: RunFacts
) -> Difference:
    if not rows:
        return Difference(name, 0, "")
    first, number = rows[0], sum(row.number for row in rows)
    quorums = Quorums(*metadata.of[first.ledger][-1].shape)
    text = f"entry {first.first} of {ledger_text(run, first.ledger)} {said(first, quorums)}"
    return Difference(name, number, f"{text}{_more(number, 'entry', 'entries')}")


def _few_fenced(closers: list[tuple[AssessedClose, Grounds]], run: RunFacts) -> Difference:
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


def _denied_fencing(closers: list[tuple[AssessedClose, Grounds]], run: RunFacts) -> Difference:
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


def _last(case: AssessedClose) -> Ensemble:
    """What the version in recovery names; the closing version comes first."""
    return case.close.ensembles[-1]


def _more(number: int, singular: str, plural: str = "") -> str:
    return f" ({counted(number, singular, plural)} in all)" if number > 1 else ""
