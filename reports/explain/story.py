"""The story of one ledger or one entry: which rows matter, and the lines that tell them.

Judges nothing. Every line says when (seconds since the run began), who and what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow.compute as pc

from evidence.codes import NEVER, Kind, Message
from evidence.collect.wirelogs import is_logged
from evidence.folder import RunFolder
from evidence.schemas import CensusRow, FaultRow, FrameRow, HoldingRow, LedgerRow, OperationRow, ServerRow
from protocol.addresses import OBSERVER
from protocol.errors import UsageError
from protocol.metadata import LedgerState
from protocol.wording import counted
from reports.explain.clients import OF_LEDGER, adds_in_short, entry_moments, ledger_moments, read_moments
from reports.explain.cluster import (
    census_moments,
    disk_moments,
    fault_moments,
    faults_during,
    metadata_moments,
    server_moments,
)
from reports.explain.moments import Moment, format_moments
from reports.explain.rows import Names, Tables
from reports.explain.traffic import deciding_moments, traffic
from reports.explain.wire import DECIDING, frame_moments
from reports.seeded import seeded_lines

_MOST_DAMAGES = 5


_NAMED = 10


@dataclass(frozen=True)
class Story:
    """What happened to a ledger or an entry: its title, moments in no order, and what sums up the rest."""

    title: str
    moments: Sequence[Moment]
    summary: Sequence[str]


def explain(modes: Sequence[RunFolder], subject: str, entry: int | None) -> Iterator[str]:
    """Lines with the history of ledger ``subject`` (a name or a number), or of one entry of it, mode by mode.

    Raises ``EvidenceError`` when a mode has no tables yet, ``UsageError`` for a name that no mode has.
    """
    each = [Tables(folder) for folder in in_planned_order(modes)]
    if all(tables.ledger(subject) is None for tables in each):
        known = list(dict.fromkeys(name for tables in each for _, name in sorted(tables.ledgers.items())))
        rounds = [name for name in known if name.rpartition(".")[0] == subject]
        if rounds:
            raise UsageError(
                f"{subject!r} has {len(rounds)} rounds", remedy=f"name one: {rounds[0]} to {rounds[-1]}"
            )
        close = get_close_matches(subject, known, _NAMED)
        shown = ", ".join([*close, *(name for name in known if name not in close)][:_NAMED]) or "none"
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        raise UsageError(f"the run has no ledger named {subject!r}", remedy=f"named ledgers: {shown}{more}")
    for tables in each:
        yield from seeded_lines(tables.folder)
        yield from _explain_mode(tables, subject, entry)


def _explain_mode(tables: Tables, subject: str, entry: int | None) -> Iterator[str]:
    ledger, mode = tables.ledger(subject), tables.folder.mode
    if ledger is None:
        yield f"mode {mode} has no ledger named {subject}"
        return
    doubts = list(_doubts(tables))
    story = story_of(tables, ledger, entry)
    yield f"{story.title}, mode {mode}"
    if not story.moments:
        yield "  nothing is recorded of it"
    yield from format_moments(story.moments, tables.began_ns)
    yield from story.summary
    yield from doubts


def in_planned_order(modes: Sequence[RunFolder]) -> list[RunFolder]:
    """The modes of a run in the order of its plan, as the run printed them."""
    planned = list(modes[0].run()["plan"]["modes"]) if modes else []
    return sorted(modes, key=lambda one: planned.index(one.mode) if one.mode in planned else len(planned))


def story_of(tables: Tables, ledger: int, entry: int | None) -> Story:
    """The life of a ledger by its number, or of one entry of it; no moments when nothing is recorded."""
    servers, faults = tables.rows(ServerRow), tables.rows(FaultRow)
    names = Names.of(tables.run, servers, faults)
    name = tables.ledgers.get(ledger, "")
    title = f"{name} (ledger {ledger})" if name else f"ledger {ledger}"
    if entry is not None:
        title += f" entry {entry}"
        if not tables.rows(
            OperationRow,
            (pc.field("kind") == Kind.ADD) & (pc.field("ledger") == ledger) & (pc.field("entry") == entry),
        ):
            title += " (no client has added this entry, as far as recorded)"
    versions = tables.rows(LedgerRow, pc.field("ledger") == ledger)
    summary: list[str] = []
    if entry is None:
        moments, summary = _of_ledger(tables, ledger, names)
    else:
        moments, summary = _of_entry(tables, ledger, names, entry, versions)
    moments += metadata_moments(versions, entry)
    if moments:
        first_ns, last_ns = _life(tables, ledger, moments)
        during = faults_during(faults, name, first_ns, last_ns)
        moments += fault_moments(during)
        moments += server_moments(servers, names, ledger, first_ns, last_ns)
        holdings = tables.rows(HoldingRow, pc.field("ledger") == ledger)
        moments += disk_moments(servers, holdings, names, entry, last_ns, first_ns=first_ns)
        if other := len(faults_during(faults, name, 0, NEVER - 1)) - len(during):
            summary.append(f"  not shown: {counted(other, 'fault')} outside the life of the ledger")
    return Story(title, moments, summary)


def _life(tables: Tables, ledger: int, moments: Sequence[Moment]) -> tuple[int, int]:
    """From the first to the last moment of the ledger; in a run of several rounds within its own round.

    The last census and the final reads follow the last round, so a later fault of another round may have
    taken a copy: the summary counts the faults that are not shown.
    """
    first_ns, last_ns = min(moments).at_ns, max(moments).at_ns
    own = tables.round_of(ledger)
    return (first_ns, last_ns) if own is None else (first_ns, min(last_ns, own[1]))


def _of_ledger(tables: Tables, ledger: int, names: Names) -> tuple[list[Moment], list[str]]:
    of_ledger = pc.field("ledger") == ledger
    operations = tables.rows(OperationRow, of_ledger & (pc.field("kind") != Kind.ENTRY))
    frames = tables.table("frames", of_ledger)
    deciding = frames.filter(pc.field("kind").isin(DECIDING)).to_pylist()
    moments = [
        *ledger_moments(operations, names),
        *adds_in_short(operations, names),
        *read_moments(operations, names),
        *deciding_moments(deciding, names),
        *census_moments(tables.rows(CensusRow, of_ledger), names, None),
    ]
    return moments, list(traffic(frames, names))


def _of_entry(
    tables: Tables, ledger: int, names: Names, entry: int, versions: Sequence[LedgerRow]
) -> tuple[list[Moment], list[str]]:
    of_ledger = pc.field("ledger") == ledger
    of_entry = of_ledger & (pc.field("entry") == entry)
    of_handles = pc.field("kind").isin([*OF_LEDGER, Kind.READ])
    operations = tables.rows(OperationRow, of_ledger & (of_handles | (pc.field("entry") == entry)))
    fences = pc.field("kind") == Message.FENCING_LAC_READ
    decided = pc.field("kind").isin(DECIDING) & pc.field("entry").isin(_ends_below(entry, versions))
    frames = tables.rows(FrameRow, of_entry | (of_ledger & (fences | decided)))
    observer = tables.run["clients"].get(OBSERVER)  # its own requests have separate lines
    looks = [row for row in frames if row["source"] == observer and row["kind"] == Message.READ]
    moments = [
        *ledger_moments(operations, names),
        *entry_moments(operations, names, entry),
        *read_moments(operations, names, entry),
        *frame_moments((row for row in frames if row not in looks), names, entry),
        *census_moments(tables.rows(CensusRow, of_entry), names, entry),
    ]
    notes = [f"  not shown: {len(looks)} frames of the observer's census and final reads"] if looks else []
    return moments, notes


def _doubts(tables: Tables) -> Iterator[str]:
    """Why messages may be missing from the story."""
    if not is_logged(tables.folder.frames, tables.folder.end()):
        yield "  this run kept no wire log: what went over its links is not known"
    damage = [what for what in tables.damage if what.startswith("frames: ")]
    for what in damage[:_MOST_DAMAGES]:
        yield f"  the wire log is not whole: {what.removeprefix('frames: ')}"
    if len(damage) > _MOST_DAMAGES:
        yield f"  and {len(damage) - _MOST_DAMAGES} more damages of it"


def _ends_below(entry: int, versions: Sequence[LedgerRow]) -> list[int]:
    """Entries whose recovery decided an end below this one: the first behind each such end."""
    return sorted(
        {
            row["last_entry"] + 1
            for row in versions
            if row["state"] == LedgerState.CLOSED and row["last_entry"] < entry
        }
    )
