"""BP-46's rules on ledgers in limbo: which are marked, when the mark may go, what a second crash leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkers.facts.wording import bookie_name, ledger_text
from checkers.servers.rules import Case, Court, Rule, finding
from checkers.servers.stories import Event, Story
from evidence.codes import NEVER


def unmarked(court: Court, story: Story) -> Iterator[Case]:
    """A ledger that was open and the bookie's own all through the preboot check, and got no mark."""
    started, ended = story.first("preboot_start"), story.first("preboot_end")
    if started is None or ended is None or not court.guarded(story):
        return
    name = bookie_name(court.run, story.boot.bookie)
    span = started.earliest_ns, ended.latest_ns
    for ledger in court.ledgers.known():
        due = court.ledgers.open_all_the_while(ledger, *span)
        if not due or not court.ledgers.mine_all_the_while(ledger, name, *span):
            continue
        if ledger in story.marks:
            yield Case()
            continue
        yield finding(
            "unmarked",
            f"{ledger_text(court.run, ledger)}: {story.name} did not put it in limbo",
            [
                f"{ledger_text(court.run, ledger)} was not closed and had {name} in its last ensemble "
                f"from before {court.at(span[0])} until after {court.at(span[1])}",
                court.told(story, started, "began its preboot check"),
                court.told(story, ended, "ended it"),
                f"no line of its log marks {ledger_text(court.run, ledger)}",
            ],
            ledger,
        )


def cleared_unrecovered(court: Court, story: Story) -> Iterator[Case]:
    """A marked ledger was treated as out of limbo before any close of it can have been in force."""
    denials = dict(court.denials(story))
    copied: dict[int, Event] = {}
    for event in story.all("ledger_check_and_copy_start"):
        copied.setdefault(event.ledger, event)
    for ledger, mark in story.marks.items():
        signs = []
        copy, denial = copied.get(ledger), denials.get(ledger)
        if copy and copy.earliest_ns > mark.latest_ns:
            signs.append(
                (copy.latest_ns, court.told(story, copy, "began to check its entries, out of limbo"))
            )
        if denial and denial.asked_ns > mark.latest_ns:
            signs.append((denial.received_ns, court.denied(story, ledger, denial)))
        early = [said for at_ns, said in signs if court.ledgers.surely_open_at(ledger, at_ns)]
        if signs and not early:
            yield Case()
        if early:
            yield finding(
                "cleared_unrecovered",
                f"{ledger_text(court.run, ledger)}: {story.name} ended its limbo before it was recovered",
                [
                    court.told(story, mark, f"marked {ledger_text(court.run, ledger)}"),
                    *early,
                    f"no version of {ledger_text(court.run, ledger)} was CLOSED by then",
                ],
                ledger,
            )


def protection_lost(court: Court, story: Story) -> Iterator[Case]:
    """After a crash in limbo the next boot denied an entry of a ledger that was still to be in it."""
    last = story.before[-1] if story.before else None
    if last is None or not last.boot.unclean or story.altered_since(last) or not court.guarded(story):
        return
    denials = dict(court.denials(story))
    name = bookie_name(court.run, story.boot.bookie)
    for ledger, mark in last.marks.items():
        since, until = mark.latest_ns, story.boot.started_ns
        if story.available_ns == NEVER or not court.ledgers.surely_open_at(ledger, until):
            continue
        denial = denials.get(ledger)
        still = denial is not None and court.ledgers.surely_open_at(ledger, denial.received_ns)
        if denial is None or not still:
            yield Case()
            continue
        if not court.ledgers.mine_all_the_while(ledger, name, since, denial.received_ns):
            continue
        yield finding(
            "protection_lost",
            f"{ledger_text(court.run, ledger)}: {story.name} denied what {last.name} had put in limbo",
            [
                court.told(last, mark, f"marked {ledger_text(court.run, ledger)}"),
                f"{last.name} {last.boot.how} at {court.at(last.boot.ended_ns)}",
                court.denied(story, ledger, denial),
                f"no version of {ledger_text(court.run, ledger)} was CLOSED by then",
            ],
            ledger,
        )


OF_LIMBO: Mapping[str, Rule] = {
    "unmarked": unmarked,
    "cleared_unrecovered": cleared_unrecovered,
    "protection_lost": protection_lost,
}
