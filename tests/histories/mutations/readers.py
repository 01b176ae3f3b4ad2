"""What readers got and bookies showed, changed: bytes, places, copies."""

from evidence.codes import Flag, Holding, Kind, Outcome, Proof
from tests.histories.lawful import lawful
from tests.histories.mutations.edits import (
    Row,
    census_of,
    changed,
    denied_by_all,
    final,
    is_final_entry,
    lost_of,
    replaced,
    without,
    wrong_length,
)
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span
from tests.histories.story import READER, operation


def read_at_the_end(case) -> list[Row]:
    return [row for row in case.operations(Kind.ENTRY) if final(row)]


@operator("never", of=lawful)
def final_read_removed(case, dice):
    entry = dice.randint(0, case.end)
    return without(case.history, is_final_entry(entry)), {UNKNOWN}


@operator("the entry is not beyond the end", of=lawful)
def entry_denied_everywhere(case, dice):
    """An add is dropped: every bookie denies the entry, acknowledged or not."""
    entry = dice.randint(0, case.tried - 1)
    history = denied_by_all(case.history, entry)
    return history, lost_of(history, case.run, entry) if entry <= case.end else set()


@operator("never", of=lawful)
def entry_not_denied_by_one_bookie(case, dice):
    """An add is dropped, but one bookie in limbo says "unknown"."""
    entry, bookie = dice.randint(0, case.end), 2  # it is in every ensemble of these histories
    history = denied_by_all(case.history, entry)
    return changed(
        history,
        lambda t, r: census_of(entry)(t, r) and r["pass_number"] == 2 and r["bookie"] == bookie,
        holding=int(Holding.UNKNOWN),
    ), {UNKNOWN}


@operator("always", of=lawful)
def reader_received_damaged_bytes(case, dice):
    row = dice.choice(read_at_the_end(case))
    history = replaced(case.history, row, proof=int(Proof.DAMAGED))
    return history, span("content/damaged", row["entry"], row["entry"])


@operator("the entry was acknowledged, or the census shows it", of=lawful)
def reader_received_another_entry(case, dice):
    """Without an acknowledgement and without a copy in the census there is nothing to differ from.

    Where no acknowledgement shows the size of the entry, that of the other writing counts for the length.
    """
    entry = dice.randint(0, case.end)
    known = entry < case.acked or any(row["entry"] == entry and row["origin"] for row in case.rows("census"))
    history = changed(case.history, is_final_entry(entry), size_bytes=77)
    sized = set() if entry < case.acked else wrong_length(history)
    return history, {*span("content/two_writings", entry, entry), *sized} if known else {UNKNOWN}


@operator("always", of=lawful)
def reader_skipped_an_entry(case, dice):
    row = dice.choice(read_at_the_end(case))
    history = replaced(case.history, row, expected=row["entry"] + 1)
    return history, span("order/read_out_of_order", row["entry"], row["entry"])


@operator("always", of=lawful)
def byte_of_read_entry_changed(case, dice):
    """One byte is changed: of the header's names (foreign), of its magic (no payload), or of the rest."""
    proof, kind = dice.choice(
        [(Proof.FOREIGN, "foreign"), (Proof.NONE, "not_a_payload"), (Proof.DAMAGED, "damaged")]
    )
    row = dice.choice(case.operations(Kind.ENTRY))
    return replaced(case.history, row, proof=int(proof)), span(f"content/{kind}", row["entry"], row["entry"])


@operator("on more bookies than one, or on the only one", of=lawful)
def byte_of_copies_changed(case, dice):
    """One byte is changed: in the copies of an entry on all bookies, or on all that hold it but one."""
    entry = dice.randint(0, case.end)
    shown = [row for row in case.rows("census") if row["entry"] == entry and row["pass_number"] == 2]
    whole = [row["bookie"] for row in shown if row["holding"] == Holding.PRESENT]
    spared = dice.choice([0, dice.choice(whole)])
    history = [
        (table, {**row, "holding": int(Holding.DAMAGED)} if row in shown and hit(row, spared) else row)
        for table, row in without(case.history, is_final_entry(entry))
    ]
    if not spared:
        return history, span("durability/corrupt", entry, entry)
    return history, span("content/damaged_copy", entry, entry) if len(whole) > 1 else {UNKNOWN}


def hit(row: Row, spared: int) -> bool:
    """Whether the answer shows a copy, of another bookie than the spared one."""
    return row["holding"] == Holding.PRESENT and row["bookie"] != spared


@operator("always", of=lawful)
def entries_swapped(case, dice):
    """Two entries are swapped: the last reader gets one in the other's place."""
    rows = read_at_the_end(case)
    if len(rows) < 2:
        return case.history, set()
    one, two = dice.sample(rows, 2)
    names = ("entry", "size_bytes", "origin", "digest")
    history = replaced(case.history, one, **{name: two[name] for name in names})
    return replaced(history, two, **{name: one[name] for name in names}), {
        Sign("order/read_out_of_order", *sorted((one["entry"], two["entry"])), 2)
    }


@operator("always", of=lawful)
def entry_repeated(case, dice):
    """An entry is repeated: the last reader gets it a second time, where another was due."""
    row = dice.choice(read_at_the_end(case))
    again = {**row, "seq": 700, "expected": row["expected"] + 1}
    return [*case.history, ("operations", again)], span("order/read_out_of_order", row["entry"], row["entry"])


@operator("it ended ok, and was no batch read", of=lawful)
def read_ends_early(case, dice):
    """A read of everything ends with fewer entries than it was asked for."""
    outcome = dice.choice([Outcome.OK, Outcome.OK, Outcome.UNKNOWN])
    flags = dice.choice([0, int(Flag.UNCONFIRMED), int(Flag.BATCH)])
    short = {"last": case.end, "result": dice.randint(0, case.end), "outcome": outcome, "flags": flags}
    read = operation(Kind.READ, client=READER, seq=700, handle=70, entry=0, **short)
    illegal = outcome is Outcome.OK and flags != Flag.BATCH
    return [*case.history, read], span("order/ended_short", short["result"], case.end) if illegal else set()
