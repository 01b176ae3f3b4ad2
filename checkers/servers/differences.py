"""Where boots went by BookKeeper's own rules and not by BP-46's words: notes, never findings.

BP-46 ("Protection Mechanism", "The Full Boot-Up Sequence") puts all open ledgers in limbo, fences all
ledgers of the cluster, and ends limbo after the repair. The bookie marks and fences the ledgers that are
not closed and name it in their last ensemble, and ends limbo after the recovery, before the repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from checkers.contract import Event
from checkers.facts.wording import counted
from checkers.servers.evidence import Answer, Evidence, LoggedBoot


def differences(evidence: Evidence, boots: Iterable[LoggedBoot]) -> list[str]:
    """A note for each difference that some boot showed, with the first example and how many there are."""
    ended = (boot for boot in boots if boot.has("preboot_start") and boot.has("preboot_end"))
    guarded = [boot for boot in ended if evidence.guarded(boot)]
    notes = []
    for shown in _SHOWN:
        found = [text for boot in guarded for text in shown(evidence, boot)]
        if found:
            more = f" ({counted(len(found), 'such case')} in all)" if len(found) > 1 else ""
            notes.append(f"differs from BP-46: {found[0]}{more}")
    return notes


def _others_unmarked(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Open ledgers that got no mark, for the bookie is not in their last ensemble."""
    began, ended = boot.all("preboot_start")[0], boot.all("preboot_end")[-1]
    span = began.earliest_ns, ended.latest_ns
    name = evidence.run.bookie_name(boot.record.bookie)
    for ledger in evidence.ledgers.known():
        unmarked = ledger not in boot.marks and evidence.ledgers.open_all_the_while(ledger, *span)
        if unmarked and evidence.ledgers.mine_at_no_time(ledger, name, *span):
            yield (
                f"{boot.name} neither fenced {evidence.ledger_name(ledger)} nor put it in limbo, for its "
                "last ensemble is of others; BP-46 does so with all open ledgers"
            )


def _closed_unfenced(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Closed ledgers of the bookie, which got no fence."""
    began = boot.all("preboot_start")[0]
    closed = [
        ledger
        for ledger in evidence.ledgers.known()
        if ledger not in boot.marks and evidence.ledgers.surely_closed_at(ledger, began.earliest_ns)
    ]
    if closed:
        yield (
            f"{boot.name} fenced no ledger that was closed before ({len(closed):,} of them); "
            "BP-46 fences all ledgers of the cluster"
        )


def _cleared_before_repair(evidence: Evidence, boot: LoggedBoot) -> Iterator[str]:
    """Explicit answers about a ledger that had been in limbo, before its repair had ended."""
    copies = boot.by_ledger("ledger_check_and_copy_end")
    for ledger, mark in boot.marks.items():
        for answer, how in _explicit(evidence, boot, ledger):
            end = copies.get(ledger)
            until_ns = end.earliest_ns if end else boot.record.dying_ns
            if mark.latest_ns < answer.asked_ns and answer.received_ns < until_ns:
                to = evidence.run.source_name(answer.source)
                yield (
                    f"{boot.name} {how} entry {answer.entry} of {evidence.ledger_name(ledger)} to "
                    f"{to} at {evidence.at(answer.received_ns)}, out of limbo, "
                    f"and {_repaired(evidence, end)}; BP-46 ends limbo after the repair"
                )
                break


def _explicit(evidence: Evidence, boot: LoggedBoot, ledger: int) -> Iterator[tuple[Answer, str]]:
    for how in ("denied", "showed"):
        answers = evidence.answers(how, boot)
        if ledger in answers:
            yield answers[ledger], how


def _repaired(evidence: Evidence, end: Event | None) -> str:
    if end is None:
        return "never ended the repair"
    entries = counted(int(end.detail.get("entries", 0)), "entry", "entries")
    return f"ended the repair, with {entries} copied, not before {evidence.at(end.earliest_ns)}"


_SHOWN: tuple[Callable[[Evidence, LoggedBoot], Iterator[str]], ...] = (
    _others_unmarked,
    _closed_unfenced,
    _cleared_before_repair,
)
