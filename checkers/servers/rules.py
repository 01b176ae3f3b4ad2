"""BP-46's order of events at one boot, a rule a function.

Each yields one :class:`Case` for every boot (or ledger of a boot) that it could have convicted, with a
finding where it does. An accusation that rests on order needs precedence of intervals. Sources: BP-46
("Detecting Data Loss On Boot", "Protection Mechanism", "The Full Boot-Up Sequence"); what each step's
line in a log means, ``DataIntegrityCheckImpl`` and ``BookieServer#start``, 4.15 to 4.18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.wire import source_name
from checkers.facts.wording import bookie_name, counted, ledger_text, time_text
from checkers.servers.ledgers import Ledgers
from checkers.servers.sayings import Answer, Firsts, Kind
from checkers.servers.stories import Event, Story
from evidence.codes import NEVER
from evidence.findings import Finding

PROPERTY = "servers"


class Case(NamedTuple):
    """A boot that a rule looked at; ``finding`` when it broke the rule."""

    finding: Finding | None = None


class Court:
    """What the rules look into."""

    def __init__(self, run: RunFacts, ledgers: Ledgers, firsts: Firsts) -> None:
        """Of one run."""
        self.run, self.ledgers, self.firsts = run, ledgers, firsts

    def guarded(self, story: Story) -> bool:
        """Whether the bookie runs under BP-46's protection."""
        return bookie_name(self.run, story.boot.bookie) in self.run.guarded

    def denials(self, story: Story) -> list[tuple[int, Answer]]:
        """(ledger, first explicit negative) of the boot, by ledger."""
        mine = (int(Kind.DENIED), story.boot.bookie, story.boot.number)
        return sorted((key[3], answer) for key, answer in self.firsts.items() if key[:3] == mine)

    def at(self, at_ns: int) -> str:
        """A time in words."""
        return time_text(self.run, at_ns)

    def told(self, story: Story, event: Event, what: str) -> str:
        """``b1 boot 2 marked ledger 4 at 3.1 s``."""
        return f"{story.name} {what} at {self.at(event.latest_ns)}"

    def denied(self, story: Story, ledger: int, answer: Answer) -> str:
        """An explicit negative in words."""
        return (
            f"{story.name} denied entry {answer.entry} of {ledger_text(self.run, ledger)} to "
            f"{source_name(self.run, answer.source)}, received by {self.at(answer.received_ns)}"
        )

    def crash(self, story: Story) -> str:
        """Why the boot had reason to suspect its disk."""
        event = story.first("unclean_shutdown")
        if event is not None:
            return self.told(story, event, "saw an unclean shutdown")
        mismatch = story.first("cookie_mismatch")
        return self.told(story, mismatch, "found a cookie that does not match") if mismatch else ""


def finding(kind: str, text: str, proof: list[str], ledger: int = -1) -> Case:
    """A case that convicts."""
    return Case(Finding(property=PROPERTY, kind=kind, ledger=ledger, text=text, proof=tuple(proof)))


def unclean_unseen(court: Court, story: Story) -> Iterator[Case]:
    """A boot after an unclean end, of a release that sets markers, that did not see it."""
    crashed = story.crashed
    if crashed is None or story.altered_since(crashed) or not story.has("dirty_created", "dirty_kept"):
        return
    if story.has("unclean_shutdown"):
        yield Case()
        return
    marker = crashed.all("dirty_created", "dirty_kept")[-1]
    yield finding(
        "unclean_unseen",
        f"{story.name} did not see that {crashed.name} had ended uncleanly",
        [
            court.told(crashed, marker, "set its marker"),
            f"{crashed.name} {crashed.boot.how} at {court.at(crashed.boot.ended_ns)}",
            f"the log of {story.name} tells of no unclean shutdown",
        ],
    )


def clean_seen_unclean(court: Court, story: Story) -> Iterator[Case]:
    """A boot after an orderly end of one that was up, that saw an unclean shutdown."""
    if not story.before or story.altered_since(story.before[-1]):
        return
    last = story.before[-1]
    reached = story.has("dirty_created", "dirty_kept", "unclean_shutdown")
    if last.boot.unclean or last.boot.ended_ns == NEVER or not last.has("component_started") or not reached:
        return
    seen = story.first("unclean_shutdown")
    if seen is None:
        yield Case()
        return
    yield finding(
        "clean_seen_unclean",
        f"{story.name} took the orderly end of {last.name} for an unclean one",
        [
            f"{last.name} {last.boot.how} at {court.at(last.boot.ended_ns)}",
            court.told(story, seen, "saw an unclean shutdown"),
        ],
    )


def unchecked(court: Court, story: Story) -> Iterator[Case]:
    """A guarded bookie that had reason to, and was available without a preboot check that ended well."""
    if not _suspects(court, story) or story.available_ns == NEVER:
        return
    started, failed = story.first("preboot_start"), story.first("preboot_error")
    if started and not (failed and not story.has("preboot_end")):
        yield Case()
        return
    why = court.told(story, failed, "gave up its preboot check") if failed else "it ran no preboot check"
    yield finding(
        "unchecked",
        f"{story.name} became available without a preboot check",
        [court.crash(story), why, f"{story.name} was available by {court.at(story.available_ns)}"],
    )


def available_unchecked(court: Court, story: Story) -> Iterator[Case]:
    """Available while the preboot check went on."""
    if not _suspects(court, story) or story.available_ns == NEVER or not story.has("preboot_start"):
        return
    if story.available_ns >= story.checked_ns:
        yield Case()
        return
    late = [ledger for ledger, mark in story.marks.items() if mark.earliest_ns > story.available_ns]
    yield finding(
        "available_unchecked",
        f"{story.name} was available before its preboot check had marked {counted(len(late), 'ledger')}",
        [
            court.crash(story),
            f"{story.name} was available by {court.at(story.available_ns)}",
            *(_mark(court, story, ledger) for ledger in late[:1]),
        ],
    )


def denied_unchecked(court: Court, story: Story) -> Iterator[Case]:
    """An explicit negative on the wire while the preboot check went on."""
    if not _suspects(court, story) or not story.has("preboot_start"):
        return
    denials = court.denials(story)
    early = [(ledger, one) for ledger, one in denials if one.received_ns < story.checked_ns]
    if not early and denials:
        yield Case()
    for ledger, answer in early:
        last = max(story.all("preboot_start", "mark_limbo"), key=lambda event: event.earliest_ns)
        still = "still marked a ledger" if last.ledger >= 0 else "began its preboot check"
        yield finding(
            "denied_unchecked",
            f"{ledger_text(court.run, ledger)}: {story.name} denied an entry before its preboot check ended",
            [
                court.crash(story),
                court.denied(story, ledger, answer),
                f"{story.name} {still} not before {court.at(last.earliest_ns)}",
                *([_mark(court, story, ledger)] if ledger in story.marks else []),
            ],
            ledger,
        )


def flag_cleared_early(court: Court, story: Story) -> Iterator[Case]:
    """The flag was cleared although no full check had ended without a ledger to retry."""
    for cleared in story.all("clear_integcheck_flag")[:1]:
        ends = story.all("full_check_end")
        good = [end for end in ends if end.detail.get("ledgersToRetry") == 0]
        if any(end.earliest_ns <= cleared.latest_ns for end in good):
            yield Case()
            continue
        before = [end for end in ends if end.earliest_ns <= cleared.latest_ns]
        last = "no full check had ended"
        if before:
            left = int(before[-1].detail.get("ledgersToRetry", -1))
            last = court.told(
                story, before[-1], f"ended a full check with {counted(left, 'ledger')} to retry"
            )
        yield finding(
            "flag_cleared_early",
            f"{story.name} cleared the flag of its integrity check too early",
            [last, court.told(story, cleared, "cleared the flag")],
        )


def full_check_early(court: Court, story: Story) -> Iterator[Case]:
    """A full check began while the preboot check went on."""
    begun = story.first("full_check_init", "full_check_start")
    if begun is None or not story.has("preboot_start"):
        return
    if begun.latest_ns >= story.checked_ns:
        yield Case()
        return
    yield finding(
        "full_check_early",
        f"{story.name} began its full check before its preboot check had ended",
        [
            court.told(story, begun, "began a full check"),
            f"its preboot check went on until {court.at(story.checked_ns)} at least",
        ],
    )


def stamped_unchecked(court: Court, story: Story) -> Iterator[Case]:
    """An invalid cookie was replaced before the preboot check had ended."""
    stamped = story.first("cookie_stamped")
    mismatch = story.first("cookie_mismatch")
    if stamped is None or mismatch is None:
        return
    if story.has("preboot_end") and stamped.latest_ns >= story.checked_ns:
        yield Case()
        return
    done = f"its preboot check went on until {court.at(story.checked_ns)} at least"
    yield finding(
        "stamped_unchecked",
        f"{story.name} stamped its cookie before its preboot check had ended",
        [
            court.told(story, mismatch, "found a cookie that does not match"),
            court.told(story, stamped, "had stamped the cookie in ZooKeeper"),
            done if story.has("preboot_end") else "its preboot check never ended",
        ],
    )


def _suspects(court: Court, story: Story) -> bool:
    return court.guarded(story) and story.suspicious


def _mark(court: Court, story: Story, ledger: int) -> str:
    mark = story.marks[ledger]
    return f"{story.name} marked {ledger_text(court.run, ledger)} not before {court.at(mark.earliest_ns)}"


Rule = Callable[[Court, Story], Iterator[Case]]
OF_BOOTS: Mapping[str, Rule] = {
    "unclean_unseen": unclean_unseen,
    "clean_seen_unclean": clean_seen_unclean,
    "unchecked": unchecked,
    "available_unchecked": available_unchecked,
    "denied_unchecked": denied_unchecked,
    "flag_cleared_early": flag_cleared_early,
    "full_check_early": full_check_early,
    "stamped_unchecked": stamped_unchecked,
}
