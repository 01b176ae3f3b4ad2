"""What bookies' disks held when boots of them died uncleanly: the table ``holdings`` and its events.

Only of a boot with an event ``disk_read`` is a missing entry an absence. Knows the bookies' boots and the
faults; no frame, no census.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.facts.alterations import changes_since, hit, injected, loses_of
from checkers.facts.boots import Boot, bookie_of, boot_events, boots_of
from checkers.facts.wire import boot_ids
from checkers.judging.contract import Batch, RunFacts
from checkers.sets.spans import Spans
from evidence.codes import NEVER
from evidence.schemas import FaultRow
from protocol.faults import UNPLANNED, Loses, effects_of

_READ, _UNREADABLE = "disk_read", "disk_unreadable"


@dataclass(frozen=True, slots=True)
class Copied:
    """When a disk was copied after a death (ns); ``why_not`` it could not be read, empty when it was."""

    earliest_ns: int
    latest_ns: int
    why_not: str = ""


def on_disks(batch: Batch) -> dict[int, Spans]:
    """Boot -> the entries that its disk held when it died. Ask for them by ``batch.memo``."""
    disks, whose = batch.holdings, boot_ids(batch.holdings)
    return {
        boot_id: Spans.from_ranges(*(disks[name][whose == boot_id] for name in ("ledger", "entry", "last")))
        for boot_id in np.unique(whose).tolist()
    }


def copied_disks(run: RunFacts) -> Mapping[int, Copied]:
    """Boot -> its copy, of every boot whose disk was copied."""
    found = {}
    for boot_id, event in boot_events(run, _READ, _UNREADABLE):
        why = event.detail.get("why", "") if event.name == _UNREADABLE else ""
        found[boot_id] = Copied(event.earliest_ns, event.latest_ns, str(why))
    return found


def fallen(run: RunFacts) -> frozenset[int]:
    """Boots that a recorded fault ended, uncleanly, by a fault that may take what they had acknowledged.

    It was in course when they died. A kill takes no journaled add, a loss of power none that was synced.
    """
    ending: dict[str, list[FaultRow]] = {name: [] for name in run.bookies}
    for fault in injected(run):
        if effects_of(fault["kind"]).ends:
            for name in ending.keys() & fault["target"].split(","):
                ending[name].append(fault)
    return frozenset(
        boot.id
        for bookie, boots in boots_of(run).items()
        for boot in boots
        if boot.unclean and any(_ended_by(fault, boot, run) for fault in ending[run.bookie_name(bookie)])
    )


def _ended_by(fault: FaultRow, boot: Boot, run: RunFacts) -> bool:
    """Whether a fault of its bookie that may take that much was being injected as the boot died.

    Not where an unplanned end of the bookie was recorded.
    """
    if boot.least_loss is None or loses_of(fault) < boot.least_loss:
        return False
    times = (fault["injected_ns"], fault["confirmed_ns"])
    done_ns = max(at_ns for at_ns in times if at_ns != NEVER)
    in_course = fault["planned_ns"] <= boot.ended_ns and boot.dying_ns <= done_ns
    return in_course and not any(
        (one["kind"], one["target"]) == (UNPLANNED, run.bookie_name(boot.bookie))
        and boot.dying_ns <= one["confirmed_ns"] <= boot.ended_ns
        for one in run.faults
    )


def altered(run: RunFacts) -> frozenset[int]:
    """Boots after whose death something may have been taken from the disk that had been copied."""
    # A loss of power takes what was never synced; the copy after it shows what it has left.
    lost = [fault for fault in injected(run) if loses_of(fault) is Loses.UNSYNCED]
    return frozenset(
        boot_id
        for boot_id, copied in copied_disks(run).items()
        for bookie in [bookie_of(boot_id)]
        if any(changes_since(copied.earliest_ns, bookie, run))
        or any(fault["planned_ns"] > copied.latest_ns and bookie in hit(fault, run) for fault in lost)
    )
