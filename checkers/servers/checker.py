"""Servers: BP-46's boot protocol as rules over events, by intervals.

Whoever may have lost something marks what it may have lost before it serves, and ends limbo only when
nothing depends on it any more. What a bookie did comes from its log, what it answered from the wire log,
what a ledger was from ZooKeeper's. Each rule is one function with a line in ``OF_BOOTS`` or ``OF_LIMBO``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import histories_of
from checkers.facts.versions import Versions, scan_versions
from checkers.servers.differences import differences
from checkers.servers.ledgers import Ledgers
from checkers.servers.limbo import OF_LIMBO
from checkers.servers.rules import OF_BOOTS, PROPERTY, Case, Court
from checkers.servers.sayings import Firsts, merge_firsts, scan_firsts
from checkers.servers.stories import LOG_READ, Story, stories_of
from checkers.sets.capping import capped
from evidence.findings import Judgement, Verdict

_RULES = {**OF_BOOTS, **OF_LIMBO}
_UP = ("listening", "registered", "answering")
_RESTS_ON = ("servers", "ledgers", "faults")


@dataclass(frozen=True, slots=True)
class Seen:
    """The summary: first explicit answers, and metadata."""

    firsts: Firsts
    versions: Versions


class Servers:
    """Convicts a bookie that boots in another order than BP-46 promises."""

    name = PROPERTY
    tables: tuple[str, ...] = ("frames", "ledgers")
    kinds: tuple[str, ...] = tuple(_RULES)

    def scan(self, chunk: Chunk, run: RunFacts) -> Seen:  # noqa: ARG002  # as agreed
        """Frames and metadata of one chunk."""
        return Seen(scan_firsts(chunk.frames), scan_versions(chunk))

    def merge(self, left: Seen, right: Seen) -> Seen:
        """Both."""
        return Seen(merge_firsts(left.firsts, right.firsts), left.versions | right.versions)

    def conclude(self, summary: Seen, run: RunFacts) -> Judgement:
        """Needs the log of every boot, and a boot that one of the rules could have convicted."""
        stories = stories_of(run)
        lacking = [*shortcomings(run, _RESTS_ON), *_unread(stories, run)]
        court = Court(run, Ledgers(histories_of(summary.versions)), summary.firsts if run.wire else {})
        cases = {} if lacking else _tried(court, stories)
        tried = sum(len(found) for found in cases.values())
        findings = [case.finding for found in cases.values() for case in found if case.finding]
        verdict = Verdict.VALID if tried and not lacking else Verdict.UNKNOWN
        if not tried and not lacking and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed="whole evidence with the log of every boot of a bookie, and a boot after another",
            seen={
                "boots": len(stories),
                "suspicious": sum(story.suspicious for story in stories),
                "marked": sum(len(story.marks) for story in stories),
                **{f"tried_{kind}": len(found) for kind, found in cases.items() if found},
            },
            findings=capped(findings),
            counts={kind: sum(case.finding is not None for case in cases.get(kind, ())) for kind in _RULES},
            notes=(*lacking, *([] if lacking else differences(court, stories))),
        )


def _tried(court: Court, stories: list[Story]) -> Mapping[str, list[Case]]:
    return {kind: [case for story in stories for case in rule(court, story)] for kind, rule in _RULES.items()}


def _unread(stories: list[Story], run: RunFacts) -> list[str]:
    """Boots that came to listen and whose log was not read: what it does not tell, they may have done.

    Releases before 4.15 have nothing of BP-46, and their logs none of our times: no log of theirs is read.
    """
    read = {story.boot.bookie for story in stories if story.has(LOG_READ)}
    read |= {run.bookies[name] for name in run.guarded if name in run.bookies}
    silent = [story for story in stories if story.has(*_UP) and not story.has(LOG_READ)]
    return [f"the log of {story.name} was not read" for story in silent if story.boot.bookie in read]
