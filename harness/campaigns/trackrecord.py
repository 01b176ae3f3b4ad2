"""Known bugs of BookKeeper: which scenario finds which, on which release, and on which it must not.

The bugs are data (``docs/track-record.yaml``). Their runs are judged on one Spark session and shown as a
table. A side of a bug is its runs on one release. A run that was not as expected has neither found the bug
nor shown that it is absent, unless the finding itself is among its findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import click
from pydantic import Field, TypeAdapter

from evidence.findings import RunVerdict
from evidence.recorders import ledger_names
from harness.experiments.parallel import run_each
from harness.judging import judging
from harness.narrator import Narrator
from harness.preparing import prepare
from harness.request import RunRequest
from plans.expected.expectations import Property
from plans.grammar.names import LedgerName, ModeName, Params
from plans.reading.document import parse_file
from plans.reading.nearest import unknown
from plans.versions import Version
from protocol.errors import UsageError
from protocol.exit_codes import ExitCode
from reports import marks

FILE = Path(__file__).resolve().parents[2] / "docs" / "track-record.yaml"
MARK = "track record"
_HEADINGS = ("bug", "found on", "not on", "repeat it")


class Bug(Params):
    """``scenario`` in ``mode`` finds ``kind`` of ``property`` on ``ledger``, on the release ``bad`` only."""

    name: str = Field(pattern=r"^[a-z0-9.-]+$")
    bug: str = Field(min_length=1)
    upstream: str = Field(min_length=1)
    scenario: str
    mode: ModeName
    property: Property
    kind: str = Field(pattern=r"^[a-z_]+$")
    ledger: LedgerName
    loss: str = Field(default="", alias="class")
    """The class of a loss; empty for other findings."""
    bad: Version
    good: Version

    def command(self, release: str) -> str:
        """What repeats one side of it."""
        return f"fencepost run {self.scenario} --mode {self.mode} --bookkeeper {release}"


def bugs(names: Iterable[str] = ()) -> list[Bug]:
    """All bugs in the order of the file, or the named ones; ``UsageError`` for an unknown name."""
    found = TypeAdapter(list[Bug]).validate_python(parse_file(FILE).tree)
    known = {bug.name: bug for bug in found}
    for name in names:
        if name not in known:
            raise UsageError(unknown("bug", name, known), remedy="`fencepost trackrecord --list` shows all")
    return [known[name] for name in names] or found


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
    wanted = bug.kind, bug.loss, bug.ledger
    if any((found.kind, found.loss, names.get(found.ledger)) == wanted for found in findings):
        return Showing.FOUND
    return Showing.ABSENT if as_stated else Showing.UNKNOWN


@dataclass(frozen=True)
class Side:
    """All runs of a bug on one release, which has the bug (``bad``) or not."""

    bug: Bug
    bad: bool
    shown: list[Showing]

    @property
    def release(self) -> str:
        """The BookKeeper release of this side: the affected or the fixed one."""
        return self.bug.bad if self.bad else self.bug.good

    def request(self, results: Path) -> RunRequest:
        """Its first run, with the seed 1."""
        scenario, modes = self.bug.scenario, (self.bug.mode,)
        return RunRequest(scenario, modes, seed=1, version=self.release, results=results)

    @property
    def wanted(self) -> Showing:
        """The result that each of its runs should have: found on the bad release, absent on the good one."""
        return Showing.FOUND if self.bad else Showing.ABSENT

    @property
    def as_recorded(self) -> bool:
        """Whether there are runs, and all of them have that result."""
        return bool(self.shown) and all(one is self.wanted for one in self.shown)

    @property
    def contradicted(self) -> bool:
        """Whether a run has the opposite result."""
        return any(one not in (self.wanted, Showing.UNKNOWN) for one in self.shown)

    def __str__(self) -> str:
        found, silent = self.shown.count(Showing.FOUND), self.shown.count(Showing.UNKNOWN)
        return f"{self.release}: {found} of {len(self.shown)}" + (f" ({silent} unknown)" if silent else "")


def table(sides: Sequence[Side]) -> Iterator[str]:
    """The lines of the table in Markdown, a row for each bug; its bad side comes before its good one."""
    rows = (
        (
            f"{bad.bug.bug} ({bad.bug.upstream})",
            str(bad),
            str(good),
            f"`fencepost trackrecord {bad.bug.name}`",
        )
        for bad, good in zip(sides[::2], sides[1::2], strict=True)
    )
    return marks.table(_HEADINGS, rows)


def run_track_record(
    chosen: Sequence[Bug], *, times: int, parallel: int, results: Path, document: Path | None, quiet: bool
) -> int:
    """Run both sides of every bug ``times`` times, print the table, put it into ``document``; the exit code.

    Everything is prepared before anything starts, and a failure of the harness ends all of it. ``parallel``
    runs are recorded at a time.
    """
    sides = [Side(bug, bad, []) for bug in chosen for bad in (True, False)]
    first = [prepare(side.request(results)) for side in sides]
    ready = [replace(one, seed=seed) for one in first for seed in range(1, times + 1)]
    try:
        with (
            judging(results) as judge,
            closing(run_each(ready, judge, Narrator(quiet=quiet), parallel=parallel)) as ended,
        ):
            for number, result in ended:
                side = sides[(number - 1) // times]
                (mode,) = result.modes
                names = ledger_names(mode.folder)
                side.shown.append(showing(side.bug, mode.verdict, names, as_stated=mode.comparison.met))
    finally:  # what was found is printed, however it ends
        lines = list(table(sides))
        for line in lines if any(side.shown for side in sides) else ():
            click.echo(line)
    if document is not None:
        marks.put(document, MARK, lines)
    return _concluded(sides)


def _concluded(sides: Sequence[Side]) -> int:
    wrong = [side for side in sides if not side.as_recorded]
    if not wrong:
        click.echo(f"{len(sides)} of {len(sides)} as recorded; exit {ExitCode.AS_EXPECTED}")
        return ExitCode.AS_EXPECTED
    code = ExitCode.ANOMALY if any(side.contradicted for side in wrong) else ExitCode.UNKNOWN
    others = "; ".join(f"{side.bug.name} on {side}" for side in wrong)
    click.echo(f"{len(sides) - len(wrong)} of {len(sides)} as recorded; exit {code}: {others}")
    return code
