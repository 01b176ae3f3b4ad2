"""Where recoveries went by the client's rules and not by BP-46's stricter numbers: notes, never anomalies.

BP-46 ("A note on Quorums") asks for AQ positive answers to recover an entry, gives up at QC answers that
are neither positive nor negative, asks for EC positive answers to fencing, and says that fencing cannot
be denied. The client takes one positive answer, asks on after errors, counts fencing by write sets,
and takes an explicit negative to fencing as an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.histories import Histories
from checkers.facts.wording import counted, listed
from checkers.found import Found, Row
from checkers.recovery.closes import AssessedClose
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

    def quorums(row: Row) -> Quorums:
        return Quorums(*metadata.of[row.ledger][-1].shape)

    def entry(row: Row) -> str:
        return f"entry {row.first} of {run.ledger_text(row.ledger)}"

    few = [
        f"{entry(row)} was recovered on {counted(row.proof[1], 'positive answer')}; "
        f"BP-46 asks for {quorums(row).ack} (AQ)"
        for row in found.firsts("few", 1)
    ]
    many = [
        f"{entry(row)} was recovered beside unknown answers; "
        f"BP-46 makes no progress at {quorums(row).coverage} of them (QC)"
        for row in found.firsts("many", 1)
    ]
    little, denied = [], []
    for close, closer in ((one.close, one.closer) for one in cases if one.closer and not one.closer.own):
        name, last = run.ledger_text(close.ledger), close.ensembles[-1]  # the one in recovery
        answers, wanted = len(closer.known & {*last.last}), last.quorums.ensemble_coverage
        if answers < wanted:
            said = f"{name} was fenced on {counted(answers, 'answer')}"
            little.append(f"{said}; BP-46 asks for {wanted} (EC)")
        if closer.fenced_empty:
            who = listed(run.bookie_name(bookie) for bookie in sorted(closer.fenced_empty))
            said = f"{name}: {who} answered a fencing read with an explicit negative, which counted"
            denied.append(f"{said}; BP-46 says that there is none")
    entries = {kind: sum(row.number for row in found.firsts(kind, 1)) for kind in ("few", "many")}
    return [
        _difference("found_by_fewer_than_AQ", entries["few"], few, "entry", "entries"),
        _difference("found_beside_QC_unknown", entries["many"], many, "entry", "entries"),
        _difference("fenced_by_fewer_than_EC", len(little), little, "ledger"),
        _difference("fencing_denied", len(denied), denied, "ledger"),
    ]


def _difference(name: str, number: int, texts: Sequence[str], *noun: str) -> Difference:
    """The first of some texts, and how many cases there are."""
    more = f" ({counted(number, *noun)} in all)" if number > 1 else ""
    return Difference(name, number, f"{texts[0]}{more}" if number else "")
