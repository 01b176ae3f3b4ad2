"""Where recoveries went by the client's rules and not by BP-46's stricter numbers: notes, never anomalies.

BP-46 ("A note on Quorums") asks for AQ positive answers to recover an entry, gives up at QC answers that
are neither positive nor negative, asks for EC positive answers to fencing, and says that fencing cannot
be denied. The client takes one positive answer, asks on after errors, counts fencing by write sets,
and takes an explicit negative to fencing as an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.histories import Histories
from checkers.facts.wording import counted, listed
from checkers.found import Found, Row
from checkers.recovery.closes import AssessedClose, Grounds
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
    def text() -> str:
        quorums = Quorums(*metadata.of[rows[0].ledger][-1].shape)
        return f"entry {rows[0].first} of {run.ledger_text(rows[0].ledger)} {said(rows[0], quorums)}"

    return _difference(name, sum(row.number for row in rows), text, "entry", "entries")


def _few_fenced(closers: list[tuple[AssessedClose, Grounds]], run: RunFacts) -> Difference:
    """The last version of a close is the one in recovery; the closing version comes first."""
    lasts = [(case.close, case.close.ensembles[-1], grounds.known) for case, grounds in closers]
    answers = [
        (close, last.quorums.ensemble_coverage, len(known & {*last.last})) for close, last, known in lasts
    ]
    few = [(close, wanted, number) for close, wanted, number in answers if number < wanted]

    def text() -> str:
        close, wanted, number = few[0]
        said = f"{run.ledger_text(close.ledger)} was fenced on {counted(number, 'answer')}"
        return f"{said}; BP-46 asks for {wanted} (EC)"

    return _difference("fenced_by_fewer_than_EC", len(few), text, "ledger")


def _denied_fencing(closers: list[tuple[AssessedClose, Grounds]], run: RunFacts) -> Difference:
    denied = [(case.close.ledger, grounds.fenced_empty) for case, grounds in closers if grounds.fenced_empty]

    def text() -> str:
        who = listed(run.bookie_name(bookie) for bookie in sorted(denied[0][1]))
        return (
            f"{run.ledger_text(denied[0][0])}: {who} answered a fencing read with an explicit negative, "
            "which counted; BP-46 says that there is none"
        )

    return _difference("fencing_denied", len(denied), text, "ledger")


def _difference(name: str, number: int, text: Callable[[], str], *noun: str) -> Difference:
    """``text`` of the first example, where there is one, and how many there are."""
    more = f" ({counted(number, *noun)} in all)" if number > 1 else ""
    return Difference(name, number, f"{text()}{more}" if number else "")
