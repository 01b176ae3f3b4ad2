"""Content: what a read returns is what was written, byte for byte.

Payloads prove themselves: a reader recomputes the checksum and compares run, ledger and entry
with the header, so no list of writes is needed. An entry that proves itself was written, whether
its add was recorded or not; such entries are counted and convict nobody. Up to the last entry of a closed
ledger all proven copies that the last census pass found must be the same writing, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import damage_to, shortcomings
from checkers.facts.histories import histories_of
from checkers.facts.obliged import promises_of
from checkers.facts.observations import Census, merge_census, scan_census
from checkers.facts.parts import delivered, entries_of, identified, proven, signed
from checkers.facts.putback import of_one_life
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wording import client_name, counted, entries_text, ledger_text
from checkers.sets.capping import capped
from checkers.sets.marks import Marks, unmarked
from checkers.sets.spans import Spans
from evidence.codes import Holding, Kind, Proof
from evidence.findings import Finding, Judgement, Verdict

_BAD = {
    "damaged": (Proof.DAMAGED, "the payload's checksum is not that of its bytes", "damaged"),
    "foreign": (
        Proof.FOREIGN,
        "the payload is whole but of another run, ledger or entry",
        "as another",
    ),
    "not_a_payload": (Proof.NONE, "the bytes do not begin with the header of any payload", "as no payload"),
}


@dataclass(frozen=True, slots=True)
class Bytes:
    """The summary: what reads returned, good and bad, which writes were acknowledged or tried, copies."""

    bad: dict[str, Spans]
    returned: Marks
    acked: Marks
    tried: Spans
    delivered: int
    census: Census
    census_damaged: int
    versions: Versions


_RESTS_ON = ("operations", "census")


class Content:
    """Convicts returned bytes that do not prove themselves, and two writings of one entry."""

    name = "content"
    tables: tuple[str, ...] = (*_RESTS_ON, "ledgers")
    kinds: tuple[str, ...] = (*_BAD, "two_writings")

    def scan(self, chunk: Chunk, run: RunFacts) -> Bytes:  # noqa: ARG002  # as agreed
        """Sort delivered entries by what their bytes prove."""
        rows = chunk.operations
        read, promises = rows.once(delivered), promises_of(chunk)
        return Bytes(
            bad={name: read.of(proof=code).once(entries_of) for name, (code, *_) in _BAD.items()},
            returned=read.once(proven).once(signed),
            acked=promises.acked | promises.deferred,
            tried=rows.of(kind=Kind.ADD).once(identified).once(entries_of),
            delivered=read.number,
            census=chunk.census.once(scan_census),
            census_damaged=chunk.census.of(holding=Holding.DAMAGED).number,
            versions=scan_versions(chunk),
        )

    def merge(self, left: Bytes, right: Bytes) -> Bytes:
        """Both."""
        return Bytes(
            {name: spans | right.bad[name] for name, spans in left.bad.items()},
            left.returned | right.returned,
            left.acked | right.acked,
            left.tried | right.tried,
            left.delivered + right.delivered,
            merge_census(left.census, right.census),
            left.census_damaged + right.census_damaged,
            left.versions | right.versions,
        )

    def conclude(self, summary: Bytes, run: RunFacts) -> Judgement:
        """Needs at least one delivered entry."""
        histories = histories_of(summary.versions)
        known = summary.returned | summary.acked
        writings = known | _copies(summary.census)
        ends = {} if damage_to(run, ("ledgers",)) else histories.ends
        two = known.twice() | (writings.twice() & Spans.up_to(ends))
        two = of_one_life(two, histories, run)
        findings = [*_bad(summary, run), *_two_writings(two, writings, run)]
        unrecorded = (summary.returned.spans() - summary.tried).count()
        lacking = shortcomings(run, _RESTS_ON)
        enough = summary.delivered > 0 and not lacking
        notes = [*lacking]
        unread = () if enough or lacking else tuple(summary.tried.ledgers())
        if unrecorded:
            notes.append(f"{counted(unrecorded, 'entry', 'entries')} read whose add nobody recorded")
        if summary.census_damaged:
            notes.append(
                f"{counted(summary.census_damaged, 'census answer')} held other bytes than the entry's"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one entry delivered to a client",
            seen={"delivered": summary.delivered, "unrecorded": unrecorded},
            findings=capped(findings),
            counts={
                **{kind: spans.count() for kind, spans in summary.bad.items()},
                "two_writings": two.count(),
            },
            notes=tuple(notes),
            undecided=unread,
        )


def _copies(census: Census) -> Marks:
    """The proven copies of the last pass, by their writings."""
    number = census.last_pass
    return reduce(or_, (marks for (of, _), marks in census.present.items() if of == number), Marks.empty())


def _bad(summary: Bytes, run: RunFacts) -> Iterator[Finding]:
    for kind, (_, why, _) in _BAD.items():
        for ledger, first, last in summary.bad[kind]:
            yield Finding(
                property=Content.name,
                kind=kind,
                ledger=ledger,
                first_entry=first,
                last_entry=last,
                count=last - first + 1,
                text=f"{ledger_text(run, ledger)}: {entries_text(first, last)} read back {_BAD[kind][2]}",
                proof=(f"{entries_text(first, last)}: {why}",),
            )


def _two_writings(two: Spans, writings: Marks, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in two:
        variants = sorted(unmarked(mark) for mark, *_ in writings.within(ledger, first, last))
        yield Finding(
            property=Content.name,
            kind="two_writings",
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(run, ledger)}: {entries_text(first, last)} known with different bytes",
            proof=tuple(
                f"{entries_text(first, last)}: written by {client_name(run, writer)} with {size} bytes"
                for writer, size in dict.fromkeys(variants)
            ),
        )
