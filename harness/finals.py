"""The end of a run: heal everything, wait until quiet, census, final reads, census again.

These are the observations without which no run can be ``valid``. The observer's links are never
faulted; every bookie that ever held a ledger is asked, straight past every cache of a client.
"""

from __future__ import annotations

from typing import Any

from evidence.folder import RunFolder
from harness.acts.loads import end_all
from harness.attempts import highest_attempts
from harness.conditions import quiet
from harness.stage import Stage
from harness.waiting import wait_until
from protocol.errors import FencepostError

_QUIET_TIMEOUT_S = 90
_CENSUS_TIMEOUT_S = 1800
_CENSUS_OUTSTANDING = 500
_FINAL_ATTEMPTS = 20
_FINAL_TIMEOUT_S = 60


def heal_everything(stage: Stage) -> None:
    """End all loads, undo all faults, and wait for the quiet state."""
    for text in end_all(stage):
        stage.narrator.event(text)
    healed = stage.faults.heal()
    stage.narrator.event(f"heal {', '.join(healed)}" if healed else "heal: no fault in force")
    try:
        state = wait_until(lambda: quiet(stage, None), _QUIET_TIMEOUT_S, "the quiet state")
        stage.narrator.event(f"quiet: {state}")
    except FencepostError as error:
        stage.narrator.event(f"not quiet: {error}", style="yellow")
        stage.steps.write({"step": "quiet", "error": str(error)})


def observe(stage: Stage, folder: RunFolder) -> dict[str, Any]:
    """Census 1, final reads with recovery, census 2; returns the final state of each ledger."""
    census(stage, folder, 1)
    ledgers = stage.cluster.metadata.ledgers()
    reply = stage.cluster.observer.call(
        "final",
        timeout_s=_CENSUS_TIMEOUT_S,
        ledgers=ledgers,
        attempts=_FINAL_ATTEMPTS,
        timeout_per_ledger_s=_FINAL_TIMEOUT_S,
    )
    finals: dict[str, Any] = reply.get("ledgers", {})
    opened = sum(1 for final in finals.values() if "error" not in final)
    entries = sum(int(final.get("read", 0)) for final in finals.values())
    stage.narrator.event(
        f"observer opens {opened} of {len(ledgers)} ledgers with recovery, reads {entries:,} entries"
    )
    census(stage, folder, 2)
    return finals


def census(stage: Stage, folder: RunFolder, number: int) -> None:
    """Ask every bookie that ever held a ledger for each entry that may exist in it."""
    spans = _spans(stage, folder)
    reply = stage.cluster.observer.call(
        "census",
        timeout_s=_CENSUS_TIMEOUT_S,
        **{"pass": number},
        ledgers=spans,
        outstanding=_CENSUS_OUTSTANDING,
    )
    counts = reply.get("counts", {})
    told = ", ".join(f"{int(count):,} {name}" for name, count in sorted(counts.items()))
    stage.narrator.event(f"census {number} of {len(spans)} ledgers: {told or 'nothing to ask'}")


def _spans(stage: Stage, folder: RunFolder) -> list[dict[str, Any]]:
    """For each ledger: entries 0..highest id that a client tried to add, and its former bookies."""
    highest = highest_attempts(folder)
    spans = []
    for ledger in stage.cluster.metadata.ledgers():
        found = stage.cluster.metadata.ledger(ledger)
        if found is None:
            continue
        last = max(highest.get(ledger, -1), found[0].last_entry if found[0].last_entry is not None else -1)
        if last >= 0:
            spans.append(
                {"ledger": ledger, "first": 0, "last": last, "bookies": sorted(stage.cluster.bookies)}
            )
    return spans
