"""Where boots went by BookKeeper's own rules and not by BP-46's words: noted, never convicted.

BP-46 ("Protection Mechanism", "The Full Boot-Up Sequence") puts all open ledgers in limbo, fences all
ledgers of the cluster, and ends limbo after the repair. The bookie marks and fences the ledgers that are
not closed and have it in their last ensemble, and ends limbo after the recovery, before the repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from checkers.facts.wire import source_name
from checkers.facts.wording import bookie_name, counted, ledger_text
from checkers.servers.rules import Court
from checkers.servers.sayings import Answer, Kind
from checkers.servers.stories import Event, Story


def differences(court: Court, stories: Iterable[Story]) -> list[str]:
    """A note for each difference that some boot showed, with the first example and how many there are."""
    ended = (story for story in stories if story.has("preboot_start") and story.has("preboot_end"))
    guarded = [story for story in ended if court.guarded(story)]
    notes = []
    for shown in _SHOWN:
        found = [text for story in guarded for text in shown(court, story)]
        if found:
            more = f" ({counted(len(found), 'such case')} in all)" if len(found) > 1 else ""
            notes.append(f"differs from BP-46: {found[0]}{more}")
    return notes


def _others_unmarked(court: Court, story: Story) -> Iterator[str]:
    """Open ledgers that got no mark, for the bookie is not in their last ensemble."""
    began, ended = story.all("preboot_start")[0], story.all("preboot_end")[-1]
    span = began.earliest_ns, ended.latest_ns
    name = bookie_name(court.run, story.boot.bookie)
    for ledger in court.ledgers.known():
        unmarked = ledger not in story.marks and court.ledgers.open_all_the_while(ledger, *span)
        if unmarked and court.ledgers.mine_at_no_time(ledger, name, *span):
            yield (
                f"{story.name} neither fenced {ledger_text(court.run, ledger)} nor put it in limbo, for its "
                "last ensemble is of others; BP-46 does so with all open ledgers"
            )


def _closed_unfenced(court: Court, story: Story) -> Iterator[str]:
    """Closed ledgers of the bookie, which got no fence."""
    began = story.all("preboot_start")[0]
    closed = [
        ledger
        for ledger in court.ledgers.known()
        if ledger not in story.marks and court.ledgers.surely_closed_at(ledger, began.earliest_ns)
    ]
    if closed:
        yield (
            f"{story.name} fenced no ledger that was closed before ({len(closed):,} of them); "
            "BP-46 fences all ledgers of the cluster"
        )


def _cleared_before_repair(court: Court, story: Story) -> Iterator[str]:
    """Explicit answers about a ledger that had been in limbo, before its repair had ended."""
    copies = _by_ledger(story.all("ledger_check_and_copy_end"))
    for ledger, mark in story.marks.items():
        for answer, how in _explicit(court, story, ledger):
            end = copies.get(ledger)
            until_ns = end.earliest_ns if end else story.boot.dying_ns
            if mark.latest_ns < answer.asked_ns and answer.received_ns < until_ns:
                to = source_name(court.run, answer.source)
                yield (
                    f"{story.name} {how} entry {answer.entry} of {ledger_text(court.run, ledger)} to "
                    f"{to} at {court.at(answer.received_ns)}, out of limbo, "
                    f"and {_repaired(court, end)}; BP-46 ends limbo after the repair"
                )
                break


def _explicit(court: Court, story: Story, ledger: int) -> Iterator[tuple[Answer, str]]:
    for kind, how in ((Kind.DENIED, "denied"), (Kind.SHOWN, "showed")):
        answer = court.firsts.get((int(kind), story.boot.bookie, story.boot.number, ledger))
        if answer:
            yield answer, how


def _repaired(court: Court, end: Event | None) -> str:
    if end is None:
        return "never ended the repair"
    entries = counted(int(end.detail.get("entries", 0)), "entry", "entries")
    return f"ended the repair, with {entries} copied, not before {court.at(end.earliest_ns)}"


def _by_ledger(events: Iterable[Event]) -> dict[int, Event]:
    found: dict[int, Event] = {}
    for event in events:
        found.setdefault(event.ledger, event)
    return found


_SHOWN: tuple[Callable[[Court, Story], Iterator[str]], ...] = (
    _others_unmarked,
    _closed_unfenced,
    _cleared_before_repair,
)
