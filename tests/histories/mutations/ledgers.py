"""What became of a ledger, changed: its end, its versions, its life."""

from itertools import pairwise

from evidence.codes import Holding, Kind, Outcome
from protocol.metadata import LedgerState
from tests.histories.lawful import lawful
from tests.histories.mutations.edits import denied_by_all, final, lost_of, replaced, without, wrong_length
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span
from tests.histories.story import SIZE, deleted, vanished
from tests.histories.twins_recovery import recovery


@operator("it lies below a promise", of=lawful)
def close_lowered(case, dice):
    """Illegal only below a promise; the final reads stop at the lower end."""
    end = dice.randint(-1, case.end)
    lower = []
    for table, row in case.history:
        new = dict(row)
        if table == "ledgers" and row["state"] == 3:
            new.update(last_entry=end, length_bytes=(end + 1) * SIZE)
        if table == "operations" and row["kind"] in (Kind.OPEN, Kind.CLOSE):
            new.update(result=end, lac=min(row["lac"], end))
        lower.append((table, new))
    lower = without(
        lower, lambda t, r: t == "operations" and r["kind"] == Kind.ENTRY and r["entry"] > end and final(r)
    )
    cut = range(end + 1, case.promised)
    broken = {*span("closing/closed_below", end + 1, case.promised - 1), *lost_of(lower, case.run, *cut)}
    begin = [
        max(part["first_entry"] for part in r["fragments"]) for r in case.rows("ledgers") if r["state"] == 3
    ]
    malformed = [Sign("metadata/malformed") for first in begin if first > end + 1]
    # A recoverer was perhaps not denied the entry that now follows the end: by the naive twin.
    wrong, _ = recovery(lower, case.run)
    too_soon = [Sign(f"recovery/{kind}", entry, entry) for kind, _, entry in wrong.elements()]
    return lower, [*broken, *malformed, *too_soon]


@operator("always", of=lawful)
def close_reported_before_it_is_written(case, dice):
    """The writer's close, or the recovery, ends before any CLOSED version can have been in force."""
    written_ns = min(row["earliest_ns"] for row in case.rows("ledgers") if row["state"] == 3)
    row = dice.choice([row for row in case.operations(Kind.OPEN, Kind.CLOSE) if not final(row)])
    history = [*case.history, ("operations", {**case.operations(Kind.CREATE)[0], "ledger": 1})]
    return replaced(history, row, completed_ns=written_ns - dice.choice([1, 9])), {
        Sign("closing/closed_unwritten")
    }


@operator("always", of=lawful)
def recoverers_disagree(case, dice):
    row = case.operations(Kind.OPEN)[-1]
    return replaced(case.history, row, result=case.end + 1), span(
        "closing/two_ends", case.end + 1, case.end + 1
    )


@operator("never", of=lawful)
def metadata_version_not_observed(case, dice):
    """A version was not seen; what a close or a recovery followed is unknown without the one before it."""
    row, following = dice.choice(list(pairwise(case.rows("ledgers"))))
    history = without(case.history, lambda _, other: other is row)
    return history, {UNKNOWN} if following["state"] != LedgerState.OPEN else set()


@operator("always", of=lawful)
def closed_end_moved(case, dice):
    last = case.rows("ledgers")[-1]
    later = ("ledgers", {**last, "version": last["version"] + 1, "last_entry": case.end + 1})
    history, more = [*case.history, later], case.end + 1
    broken = {Sign("metadata/illegal_move"), *span("closing/two_ends", more, more)}
    due = {name for row in case.rows("ledgers") for name in row["fragments"][-1]["bookies"]}
    rows = [r for r in case.rows("census") if (r["entry"], r["pass_number"]) == (more, 2)]
    denied = [row["holding"] == Holding.ABSENT for row in rows if f"b{row['bookie']}:3181" in due]
    return history, broken | (lost_of(history, case.run, more) if denied and all(denied) else set())


@operator("the pass began after the last delivery, and each version is dated before it", of=lawful)
def read_entry_denied_by_all(case, dice):
    """All bookies deny an entry in one more census pass, after the final reads or before they ended."""
    if case.end < 0:
        return case.history, set()
    entry, after, dated = dice.randint(0, case.end), dice.random() < 0.7, dice.random() < 0.7
    ended_ns = max(row["completed_ns"] for row in case.operations(Kind.ENTRY))
    versions, census = case.rows("ledgers"), case.rows("census")
    begins_ns = max(ended_ns, *(row["earliest_ns"] for row in versions)) + 1 if after else ended_ns
    last = max(row["pass_number"] for row in census)
    times = {"pass_number": last + 1, "asked_ns": begins_ns, "answered_ns": begins_ns + 1}
    gone = {"holding": int(Holding.ABSENT), "origin": 0, "size_bytes": 0}
    again = [
        ("census", {**row, **times, **(gone if row["entry"] == entry else {})})
        for row in census
        if row["pass_number"] == last
    ]
    seen = [{**row, "latest_ns": row["earliest_ns"]} if dated else row for row in versions]
    history = [
        *without(case.history, lambda table, _: table == "ledgers"),
        *(("ledgers", row) for row in seen),
    ]
    known = all(row["latest_ns"] < begins_ns for row in seen[1:])
    broken = lost_of([*history, *again], case.run, entry) if known else {UNKNOWN}
    return [*history, *again], broken if after else set()


@operator("the delete failed before it was sent", of=lawful)
def ledger_deleted(case, dice):
    """Whatever is gone after a delete that may have taken effect was released."""
    outcome = dice.choice(list(Outcome))
    history = denied_by_all(case.history, 0)
    sent = outcome is not Outcome.FAIL
    return [*history, deleted(outcome=outcome, invoked_ns=1)], {UNKNOWN} if sent else lost_of(
        history, case.run, 0
    )


@operator("no client invoked a delete", of=lawful)
def metadata_removed(case, dice):
    number = len(case.rows("ledgers"))
    by_delete = dice.random() < 0.5
    history = [*case.history, vanished(number), *([deleted()] if by_delete else [])]
    history = without(history, lambda t, r: t == "operations" and final(r))
    return history, {UNKNOWN} if by_delete else span("durability/vanished", 0, case.end)


@operator("always", of=lawful)
def length_changed_after_close(case, dice):
    last = case.rows("ledgers")[-1]
    length = last["length_bytes"] + dice.choice([-1, 1])
    later = {**last, "version": last["version"] + 1, "length_bytes": length}
    history = [*case.history, ("ledgers", later)]
    return history, {Sign("metadata/illegal_move"), *wrong_length(history)}


@operator("no add is deferred: a close cuts such adds off, and keeps their bytes in the length", of=lawful)
def closed_length_changed(case, dice):
    """The ledger is closed with the bytes of more entries than it has, or of fewer, or nearly right."""
    off = dice.choice([-(case.end + 1) * SIZE, -SIZE, -1, 1, SIZE])
    history = [
        (
            table,
            {**row, "length_bytes": row["length_bytes"] + off}
            if row.get("state") == LedgerState.CLOSED
            else row,
        )
        for table, row in case.history
    ]
    return history, wrong_length(history)


@operator("always", of=lawful)
def closed_ledger_reopened(case, dice):
    """A ledger is resurrected: a version that is OPEN, or in recovery, follows the close."""
    last = case.rows("ledgers")[-1]
    again = {**last, "version": last["version"] + 1, "state": dice.choice([1, 2]), "last_entry": -2}
    return [*case.history, ("ledgers", again)], {Sign("metadata/illegal_move")}


@operator("it names other bookies than before", of=lawful)
def metadata_version_written_twice(case, dice):
    """One version number gets two contents, or the same one again."""
    row = dice.choice(case.rows("ledgers"))
    first, *rest = row["fragments"]
    other = {**first, "bookies": first["bookies"][::-1]}
    twin = dice.choice([row, {**row, "fragments": [other, *rest]}])
    differs = twin["fragments"] != row["fragments"]
    return [*case.history, ("ledgers", {**twin})], {Sign("metadata/two_versions")} if differs else set()


@operator("always", of=lawful)
def metadata_version_malformed(case, dice):
    """The last version loses a bookie, names one twice, or begins at another entry than 0."""
    row = case.rows("ledgers")[-1]
    first, *rest = row["fragments"]
    one, two, three = first["bookies"]
    worse = dice.choice([{"bookies": [one, two]}, {"bookies": [one, two, two]}, {"bookies": [one, three]}])
    history = replaced(case.history, row, fragments=[{**first, **worse}, *rest])
    return history, {Sign("metadata/malformed")}
