"""What the runs of the track record showed, and its table.

A side of a bug is its runs on one release. A run that was not as expected has neither found the bug nor
shown that it is absent, unless the finding itself is among its findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evidence.findings import RunVerdict
from harness.trackrecord.bugs import Bug

_HEADINGS = ("bug", "found on", "not on", "repeat it")


class Showing(StrEnum):
    """What one run says of a bug."""

    FOUND = "found"
    ABSENT = "not there"
    UNKNOWN = "unknown"


def showing(bug: Bug, verdict: RunVerdict, names: Mapping[int, str], *, as_stated: bool) -> Showing:
    """Whether the bug's finding is in the verdict; ``names`` are the ledgers' names.

    Absent only where the run was as its plan expects, which proves that it could have failed: it was
    judged on whole evidence, and its required anomalies occurred.
    """
    judgement = verdict.judgements.get(bug.property)
    findings = judgement.findings if judgement else ()
    if any(finding.kind == bug.kind and names.get(finding.ledger) == bug.ledger for finding in findings):
        return Showing.FOUND
    return Showing.ABSENT if as_stated else Showing.UNKNOWN


@dataclass(frozen=True)
class Side:
    """All runs of a bug on one release, which has the bug (``bad``) or not."""

    bug: Bug
    bad: bool
    shown: Sequence[Showing]

    @property
    def release(self) -> str:
        """The BookKeeper release of this side: the affected or the fixed one."""
        return self.bug.bad if self.bad else self.bug.good

    @property
    def found(self) -> int:
        """In how many runs the bug was found."""
        return sum(one is Showing.FOUND for one in self.shown)

    @property
    def unknown(self) -> int:
        """How many runs say nothing."""
        return sum(one is Showing.UNKNOWN for one in self.shown)

    @property
    def as_recorded(self) -> bool:
        """Found in every run of the bad release, absent in every run of the good one."""
        wanted = Showing.FOUND if self.bad else Showing.ABSENT
        return bool(self.shown) and all(one is wanted for one in self.shown)

    def text(self) -> str:
        """``4.15.0: 5 of 5``."""
        unknown = f" ({self.unknown} unknown)" if self.unknown else ""
        return f"{self.release}: {self.found} of {len(self.shown)}{unknown}"


def table(sides: Iterable[Side]) -> list[str]:
    """The lines of the table in Markdown, a row for each bug."""
    rows: dict[str, list[Side]] = {}
    for side in sides:
        rows.setdefault(side.bug.name, []).append(side)
    lines = [f"| {' | '.join(_HEADINGS)} |", "|---|---|---|---|"]
    for both in rows.values():
        bad, good = sorted(both, key=lambda side: not side.bad)
        cells = (
            f"{bad.bug.bug} ({bad.bug.upstream})",
            bad.text(),
            good.text(),
            f"`fencepost trackrecord {bad.bug.name}`",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
