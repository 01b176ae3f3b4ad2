"""The end of a run: heal everything, wait until quiet, census, final reads, census again.

These are the observations without which no run can be ``valid``. The observer's links are never
faulted; every bookie that ever held a ledger is asked directly, past every cache of a client.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cluster.commands import R
from cluster.interface import ProcessState
from evidence.codes import ErrorCode
from evidence.folder import RunFolder
from harness.recording.context import RunContext, noted
from harness.registry import await_condition
from harness.steps.loads import end_load
from nemesis.processes import READY_TIMEOUT_S, restart
from plans.grammar.steps import Quiet
from protocol.errors import ClientError, NotReadyError

NOT_QUIET = "not quiet"
"""The record among the steps that says why the cluster did not become quiet at the end."""
_OBSERVATION_TIMEOUT_S = 1800
_MOST_ASKED = 50_000_000  # entries of a ledger: as many as bookies answer for in that time
_CENSUS_OUTSTANDING = 500
_FINAL_ATTEMPTS = 20
_FINAL_TIMEOUT_S = 60
_MEANING: dict[int, str] = {
    ErrorCode.OK: "present",
    ErrorCode.NO_SUCH_ENTRY: "no such entry",
    ErrorCode.NO_SUCH_LEDGER: "no such ledger",
    ErrorCode.DATA_UNKNOWN: "unknown (limbo)",
}


def heal_everything(context: RunContext) -> None:
    """End all loads, undo all faults, start bookies that died, and wait for the quiet state."""
    for name in list(context.loads):
        with noted(context):
            context.narrator.event(end_load(context, name))
    with noted(context):
        healed = context.nemesis.heal()
        context.narrator.event(f"heal {', '.join(healed)}" if healed else "heal: no fault in force")
    _bring_back(context)
    with noted(context):
        try:
            context.narrator.event(f"quiet: {await_quiet(context)}")
        except NotReadyError as error:
            context.narrator.event(f"not quiet: {error}", style="yellow")
            context.steps.write({"step": NOT_QUIET, "error": str(error)})


def _bring_back(context: RunContext) -> None:
    """Start each bookie once more that has ended on its own, so that it can be asked."""
    under_fault = {name for fault in context.nemesis.in_force() for name in fault.target.split(",")}
    for name, bookie in context.cluster.bookies.items():
        if bookie.state is ProcessState.DOWN and name not in under_fault:
            with noted(context):
                context.narrator.event(f"start {name}, which ended on its own")
                restart(bookie, timeout_s=READY_TIMEOUT_S)


def await_quiet(context: RunContext) -> str:
    """Wait for the quiet state and describe it; ``NotReadyError`` when it is not reached."""
    return await_condition(context, Quiet(timeout_s=context.plan.plan.limits.quiet_s), "the quiet state")


def observe(context: RunContext) -> None:
    """A census, final reads with recovery, a census again.

    An observation that the servers prevent is noted, and the others are made nevertheless.
    """
    with noted(context):
        context.narrator.event(take_census(context))
    with noted(context):
        _final_reads(context)
    with noted(context):
        context.narrator.event(take_census(context))


def _final_reads(context: RunContext) -> None:
    ledgers = context.cluster.metadata.ledgers()
    observer = context.commands(context.cluster.observer, _OBSERVATION_TIMEOUT_S)
    found = observer.final(ledgers, attempts=_FINAL_ATTEMPTS, timeout_s=_FINAL_TIMEOUT_S)
    finals = _done(found, "final").ledgers
    opened = sum(1 for final in finals.values() if "error" not in final)
    entries = sum(int(final["read"]) for final in finals.values())
    context.narrator.event(
        f"observer opens {opened} of {len(ledgers)} ledgers with recovery, reads {entries:,} entries"
    )


def take_census(context: RunContext, only: int | None = None) -> str:
    """Ask every bookie for each entry that may exist (of ledger ``only``, or of all), directly."""
    context.censuses += 1
    number = context.censuses
    spans = _spans(context, [one for one in context.cluster.metadata.ledgers() if only in (None, one)])
    observer = context.commands(context.cluster.observer, _OBSERVATION_TIMEOUT_S)
    counts = _done(observer.census(number, spans, _CENSUS_OUTSTANDING), "census")
    context.not_asked += counts.skipped
    codes = sorted(counts.codes.items())
    parts = [f"{count:,} {_MEANING.get(code, f'error {code}')}" for code, count in codes]
    others = {"damaged": counts.damaged, "skipped": counts.skipped}
    parts += [f"{count:,} {what}" for what, count in others.items() if count]
    return f"census {number} of {len(spans)} ledgers: {', '.join(parts) or 'nothing to ask'}"


def _done(result: R, do: str) -> R:
    """The result of a command of the observer; ``ClientError`` when it was refused."""
    if not result.ok:
        raise ClientError(f"the observer could not do {do!r}: {result.refusal} {result.message}".rstrip())
    return result


def _spans(context: RunContext, ledgers: Iterable[int]) -> list[dict[str, object]]:
    """For each ledger: entries 0..highest id that a client tried to add, asked of every bookie."""
    highest = _highest_attempts(context.folder, context.attempts)
    bookies = sorted(context.cluster.bookies)
    spans: list[dict[str, object]] = []
    for ledger in ledgers:
        found = context.cluster.metadata.ledger(ledger)
        closed_at = found[0].last_entry if found is not None else None
        last = max(highest.get(ledger, -1), -1 if closed_at is None else closed_at)
        if last >= _MOST_ASKED:
            context.note(f"no census of ledger {ledger}: its ids go up to {last:,}, beyond {_MOST_ASKED:,}")
        elif last >= 0:
            spans.append({"ledger": ledger, "first": 0, "last": last, "bookies": bookies})
    return spans


def _highest_attempts(folder: RunFolder, known: dict[Path, dict[int, int]]) -> dict[int, int]:
    """Ledger id -> highest id of an add that was invoked, or of an entry that was delivered.

    Read from the clients' histories on the disk, so that a killed client counts too. ``known`` keeps what
    files hold that are full and have every outcome, for the next census.
    """
    import pyarrow.compute as pc

    from evidence.codes import Kind
    from evidence.collect.histories import segment_files
    from evidence.raw.history import SLOTS, decode

    highest: dict[int, int] = {}
    run_id, named = int(folder.run()["run_id"]), pc.field("kind").isin([Kind.ADD, Kind.ENTRY])
    for file in segment_files(folder.operations):
        found = known.get(file.path)
        if found is None:
            segment = decode(file.path.read_bytes(), run_id=run_id)
            table = segment.table("operations").filter(named)
            rows = table.group_by("ledger").aggregate([("entry", "max")])
            found = dict(zip(rows["ledger"].to_pylist(), rows["entry_max"].to_pylist(), strict=True))
            if segment.ended == SLOTS:
                known[file.path] = found
        for ledger, entry in found.items():
            highest[ledger] = max(entry, highest.get(ledger, -1))
    return highest
