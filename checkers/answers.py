"""Answers: a bookie that must have an entry does not deny it.

Only explicit negatives to reads of an entry are denials. They count as the bookie gave them, in one known
boot, whatever became of them on their way. A denial lasts from when its request was passed on at the earliest
until the proxy had it. An acknowledgement or an answer that shows it had been given when the proxy had it.

A clean shutdown flushes everything, so the boots after it have what a bookie acknowledged, where nothing else
happened to the bookie or its disk. So have the boots after a crash or a loss of power what the journal kept:
adds, but deferred ones only if the bookie had acknowledged them before it was asked to force their ledger.

A bookie may forget a ledger whose metadata is gone, and a closed ledger that names the bookie no more
(``ScanAndCompareGarbageCollector``); a delete that was invoked releases its ledger. After an unclean end a
protected bookie must not deny what it may have lost, of every ledger that is not closed and names the
bookie in its last ensemble: the bookie marks these before it serves, and a mark goes only when its ledger
was recovered, whatever restarts there are. Sources: *Closing Ledgers Safely* ("Beware of Ledger
Truncation": one wrong "no such entry" is enough), BP-46 ("A note on Response Codes", "Protection
Mechanism"; ``DataIntegrityCheckImpl#processPreBoot``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.alterations import changes_since, garbled
from checkers.facts.boots import Boot, bookie_of, boot_events, boot_id_of, boot_name, boots_of
from checkers.facts.disks import altered, on_disks
from checkers.facts.keeping import (
    durable_since,
    durable_until,
    flushed_since,
    flushed_until,
    forgotten_ns,
)
from checkers.facts.ledgers import RELEASED, histories
from checkers.facts.versions import in_force
from checkers.facts.wire import ADDS, FORCED, boot_ids, denies, proven_answers_about_entries, synced
from checkers.facts.wording import entries_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.judging.found import Found, Row, capped_rows, first_rows
from checkers.sets.spans import Spans, ints
from evidence.codes import NEVER, Message, Status
from evidence.findings import Finding, Judgement

_OWN, _FLUSHED, _DURABLE = "denied_own_ack", "denied_flushed", "denied_durable"
_HELD, _LIMBO, _SHOWN = "denied_held", "limbo_not_shown", "denied_own_show"
_TEXTS = {
    _OWN: "that it had acknowledged",
    _FLUSHED: "that it had acknowledged before a clean shutdown",
    _DURABLE: "that it had acknowledged as durable",
    _HELD: "that its disk had held",
    _LIMBO: "where limbo was due",
    _SHOWN: "that it had shown",
}
_READS = {Message.READ: "read", Message.RECOVERY_READ: "recovery read"}
_ENTRY = ("ledger", "entry")
_WORDS = {Status.ENOENTRY: "no such entry", Status.ENOLEDGER: "no such ledger"}
_RESTS_ON = ("frames", "ledgers", "operations", "holdings", "servers", "faults")


def _granted(frames: Rows, kinds: Iterable[Message]) -> list[Rows]:
    """What bookies acknowledged, by kind of add, or showed, by kind of read."""
    return [proven_answers_about_entries(frames, kind).where(status=Status.EOK) for kind in kinds]


def _denials(frames: Rows) -> tuple[Rows, ...]:
    """What bookies denied, by kind of read."""
    reads = (proven_answers_about_entries(frames, kind) for kind in _READS)
    return tuple(part.filter(denies(part["status"])) for part in reads)


def _serving(batch: Batch) -> list[Columns]:
    parts = (*_granted(batch.frames, ADDS), *batch.frames.memo(_denials))
    return [{"ledger": part["ledger"], "boot_id": boot_ids(part)} for part in parts]


SERVED = LedgerFact("served", "frames", _serving, key=("ledger", "boot_id"))
"""Which boots of bookies acknowledged or denied an entry of each ledger."""


class Denied(NamedTuple):
    """What every proof begins with: of neighbouring denials by one boot the first."""

    boot_id: int
    received_ns: int
    asked_ns: int
    kind: int
    status: int
    source: int


class Acked(NamedTuple):
    """The acknowledgement that was denied, by the kind of its add; or the answer that had shown the entry."""

    added: int
    acked_ns: int
    acked_by: int


class Answers(Checker):
    """Finds boots that deny what they acknowledged or showed or their disk held, or where limbo was due."""

    name = "answers"
    tables = ("frames", "ledgers", "operations", "holdings")
    needed = "whole evidence with a wire log, and an answer to a read from a known boot of a bookie"
    kinds = (_OWN, _FLUSHED, _DURABLE, _HELD, _LIMBO, _SHOWN)
    figures = ("acknowledged", "read", "denied")
    facts = (SERVED, FORCED, RELEASED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The denials that no bookie may give; neighbouring entries that one boot denied are one row."""
        frames = batch.frames
        denied = _table(frames.memo(_denials), *Denied._fields[1:])
        wrong = _wrong(denied, batch, facts, run) if denied.num_rows else ()
        return Found.from_tables(
            *wrong,
            acknowledged=sum(part.num_rows for part in _granted(frames, ADDS)),
            read=sum(proven_answers_about_entries(frames, kind).num_rows for kind in _READS),
            denied=denied.num_rows,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002  # by contract
        """Needs an answer to a read from a known boot of a bookie."""
        rows = {kind: found.firsts(kind, 1) if _judged(kind, run) else [] for kind in self.kinds}
        lacking, read = run.shortcomings(_RESTS_ON), found.count("read")
        no_log = "the run kept no wire log, so what bookies answered is unknown"
        return self.judgement(
            run,
            [_finding(kind, row, run) for kind in self.kinds for row in capped_rows(rows[kind])],
            seen={name: found.count(name) for name in self.figures},
            enough=read,
            lacking=lacking if run.wire else [no_log],
            idle=not (run.wire and (read or lacking)),
            counts={kind: sum(row.last - row.first + 1 for row in rows[kind]) for kind in self.kinds},
        )


def _judged(kind: str, run: RunFacts) -> bool:
    """Whether evidence is complete enough for this kind: nothing missing could excuse a denial."""
    excuses = ("ledgers", "servers", *(("faults",) if kind != _OWN else ()))
    excuses += ("operations",) if kind == _DURABLE else ()  # whether an add was deferred
    return run.wire and not run.damage_to(excuses) and (run.complete or kind != _LIMBO)


def _table(parts: Sequence[Rows], *names: str) -> pa.Table:
    """Answers as (ledger, entry, boot_id) and these columns."""
    keys = ("ledger", "entry", *names)
    return pa.concat_tables(
        pa.table({name: ints(part[name]) for name in keys} | {"boot_id": boot_ids(part)}) for part in parts
    )


def _wrong(denied: pa.Table, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Iterator[pa.Table]:
    """What each rule finds among the denials of a batch, with what it needs for its proof.

    What was durable is left to the disk and to a clean shutdown, what was shown to all other rules.
    """
    owing = facts.memo(_owing, run)

    @cache
    def forgotten(ledger: int, bookie: int) -> int:
        return forgotten_ns(ledger, bookie, facts, run)

    def known(ledger: int, boot_id: int) -> tuple[int, ...]:
        return (forgotten(ledger, bookie_of(boot_id)),)

    def unhit(until_ns: Mapping[int, int], ledger: int, boot_id: int) -> tuple[int, ...]:
        bookie = bookie_of(boot_id)
        return (min(forgotten(ledger, bookie), until_ns.get(bookie, NEVER)),)

    @cache
    def marked(ledger: int, boot_id: int) -> tuple[int, ...]:
        return max(
            (_marked_until_ns(ledger, boot, facts, run), boot.number, crashed.number)
            for boot, crashed in owing[boot_id]
        )

    acked = _with_answers(denied, _granted(batch.frames, ADDS))
    own, held = _said_before(acked), _on_disk(denied, batch.memo(on_disks), run)
    in_order = partial(unhit, run.memo(flushed_until))
    flushed = _in_time(_kept(acked, run.memo(flushed_since)), in_order)
    durable = _in_time(_kept(acked, run.memo(durable_since)), partial(unhit, run.memo(durable_until)))
    durable = _others(durable, held, flushed)
    ledger, entry, boot_id, acked_ns = (ints(durable[name]) for name in (*_ENTRY, "acked_by", "acked_ns"))
    durable = durable.filter(pa.array(synced(ledger, entry, boot_id, acked_ns, batch, facts)))
    limbo = _in_time(_of_boots(denied, owing), marked, "marking", "crashed")
    shown = denied.slice(0, 0) if garbled(run) else _in_time(denied, in_order)
    shown = _others(shown, own, flushed, durable, held, limbo)
    shown = _said_before(_with_answers(shown, _granted(batch.frames, _READS)))
    for kind, wrong in {_OWN: own, _FLUSHED: flushed, _DURABLE: durable, _SHOWN: shown}.items():
        yield _rows(kind, _in_time(wrong, known), *Acked._fields)
    yield _rows(_HELD, _in_time(held, known), "died")
    yield _rows(_LIMBO, limbo, "marking", "crashed")


def _of_boots(denied: pa.Table, boots: Iterable[int]) -> pa.Table:
    return denied.filter(pc.is_in(denied["boot_id"], pa.array([*boots], pa.int64())))


def _with_answers(denied: pa.Table, answers: Sequence[Rows]) -> pa.Table:
    """Each denial with the first answer of each kind that each boot of a bookie gave about the entry."""
    said = _table(answers, "kind", "received_ns")
    said = said.group_by([*_ENTRY, "boot_id", "kind"], use_threads=False).aggregate([("received_ns", "min")])
    said = said.rename_columns([*_ENTRY, "acked_by", "added", "acked_ns"])
    return said.join(denied, [*_ENTRY], join_type="inner", use_threads=False)


def _said_before(answered: pa.Table) -> pa.Table:
    """The denials asked for after the same boot's answer had been received."""
    same = pc.equal(answered["acked_by"], answered["boot_id"])
    return answered.filter(pc.and_(same, pc.less(answered["acked_ns"], answered["asked_ns"])))


def _kept(acked: pa.Table, since: Mapping[int, int]) -> pa.Table:
    """The denials of what an earlier boot acknowledged, if all boots from that one on kept what they had."""
    boot_id, acked_by = np.asarray(acked["boot_id"]), np.asarray(acked["acked_by"])
    first = ints([since.get(one, one) for one in boot_id.tolist()])
    return acked.filter(pa.array((first <= acked_by) & (acked_by < boot_id)))


def _others(denied: pa.Table, *known: pa.Table) -> pa.Table:
    """The denials of entries by boots that no other rule has already."""
    keys = [*_ENTRY, "boot_id"]
    have = pa.concat_tables(one.select(keys) for one in known)
    return denied.join(have, keys, join_type="left anti", use_threads=False)


def _on_disk(denied: pa.Table, disks: Mapping[int, Spans], run: RunFacts) -> pa.Table:
    """Denials of what the bookie's disk held when an earlier boot of it, ``died``, ended.

    What the index lists is there, and what the journal has from its mark on is replayed before the next boot
    serves. A disk that a fault may have changed since, or that lost power again, proves nothing any more.
    """
    parts = [denied.slice(0, 0).append_column("died", pa.array([], pa.int64()))]
    ledger, entry, boot_id = (np.asarray(denied[name]) for name in (*_ENTRY, "boot_id"))
    for died in disks.keys() - run.memo(altered):
        later = (boot_id > died) & (boot_id < boot_id_of(bookie_of(died) + 1, 0))
        both = denied.filter(pa.array(later & disks[died].has(ledger, entry)))
        parts.append(both.append_column("died", pa.array(np.full(both.num_rows, died))))
    return pa.concat_tables(parts)


def _in_time(denied: pa.Table, due: Callable[[int, int], tuple[int, ...]], *why: str) -> pa.Table:
    """The denials received before a time; ``due`` gives it and the columns ``why``, by ledger and boot."""
    keys = (denied[name].to_pylist() for name in ("ledger", "boot_id"))
    dues = [due(*one) for one in zip(*keys, strict=True)]
    until_ns, *columns = np.array(dues, dtype=np.int64).reshape(-1, 1 + len(why)).T
    for name, column in zip(why, columns, strict=True):
        denied = denied.append_column(name, pa.array(column))
    return denied.filter(pc.less(denied["received_ns"], pa.array(until_ns)))


def _rows(kind: str, wrong: pa.Table, *why: str) -> pa.Table:
    names = ("ledger", "entry", *Denied._fields, *why)
    ledger, entry, boot_id, *proof = (np.asarray(wrong[name]) for name in names)
    return first_rows(kind, ledger, entry, like=[boot_id], proof=proof)


def _marked_until_ns(ledger: int, boot: Boot, facts: LedgerFacts, run: RunFacts) -> int:
    """Until when a mark that this boot set on the ledger had to stay; 0 where it set none."""
    chain, name = facts.memo(histories).versions.get(ledger, ()), run.bookie_name(boot.bookie)
    if not chain or chain[0].latest_ns >= boot.started_ns:
        return 0
    ends = [forgotten_ns(ledger, boot.bookie, facts, run)]
    for version in in_force(chain, boot.started_ns):
        if version.closed or name not in version.last_ensemble:
            ends.append(version.earliest_ns)
    return min(ends)


def _owing(facts: LedgerFacts, run: RunFacts) -> Mapping[int, list[tuple[Boot, Boot]]]:
    """Boot -> the boots whose marks it had to have, each with the boot whose unclean end it saw.

    A boot that never served may not have finished marking. A disk that was wiped or altered since
    the unclean end has no marker and no mark, and owes nothing.
    """
    ready = (boot_id for boot_id, _ in boot_events(run, "answering"))
    served = {*facts.columns(SERVED)["boot_id"].tolist(), *ready}
    owing: dict[int, list[tuple[Boot, Boot]]] = {}
    for bookie, boots in boots_of(run).items():
        if run.bookie_name(bookie) not in run.guarded:
            continue
        crashed = [_crashed(boots[:at], served) for at in range(len(boots))]
        for at, boot in enumerate(boots):
            for earlier, crash in zip(boots[: at + 1], crashed, strict=False):
                if crash is None or not (earlier is boot or earlier.id in served):
                    continue
                changes = changes_since(crash.started_ns, boot.bookie, run)
                if not any(change.began_ns <= boot.ended_ns for change in changes):
                    owing.setdefault(boot.id, []).append((earlier, crash))
    return owing


def _crashed(earlier: Sequence[Boot], served: set[int]) -> Boot | None:
    """The boot whose marker of an unclean end was still there: a bookie writes it before it serves."""
    for boot in reversed(earlier):
        if not boot.unclean:
            return None
        if boot.id in served:
            return boot
    return None


def _finding(kind: str, row: Row, run: RunFacts) -> Finding:
    common = len(Denied._fields)
    denied, why = Denied(*row.proof[:common]), row.proof[common:]
    boot_id = denied.boot_id
    who = f"{run.bookie_name(bookie_of(boot_id))} (boot {boot_id - boot_id_of(bookie_of(boot_id), 0)})"
    return run.finding(
        f"answers/{kind}",
        row[:3],
        f"{who} denied {entries_text(row.first, row.last)} {_TEXTS[kind]}",
        _why(kind, row, boot_id, why, run),
        f"{who} answered {_WORDS[Status(denied.status)]} to {run.source_name(denied.source)}'s "
        f"{_READS[Message(denied.kind)]} of entry {row.first}: "
        f"asked not before {run.time_text(denied.asked_ns)}, "
        f"received by {run.time_text(denied.received_ns)}",
    )


def _why(kind: str, row: Row, boot_id: int, why: Sequence[int], run: RunFacts) -> str:
    """Why the first entry of a row must not be denied; ``why`` are the columns that are the kind's own."""
    if kind in (_OWN, _SHOWN, _FLUSHED, _DURABLE):
        ack = Acked(*why)
        word, by = "add" if ack.added == Message.ADD else "recovery add", run.time_text(ack.acked_ns)
    if kind == _SHOWN:
        return f"the same boot showed entry {row.first} in an answer to a read, received by {by}"
    if kind == _OWN:
        return f"the same boot answered EOK to the {word} of entry {row.first}, received by {by}"
    if kind in (_FLUSHED, _DURABLE):
        since = "was shut down cleanly" if kind == _FLUSHED else "ended so that it lost nothing journaled"
        return (
            f"{boot_name(run, ack.acked_by)} answered EOK to the {word} of entry {row.first}, "
            f"received by {by}; each boot from that one on {since}"
        )
    if kind == _HELD:
        [died] = why
        held = f"its disk held entry {row.first} when {boot_name(run, died)} died"
        return f"{held}, and nothing changed it since"
    marking, crashed = why
    return (
        f"boot {crashed} had not shut down cleanly; {run.ledger_text(row.ledger)} was not closed and had "
        f"{run.bookie_name(bookie_of(boot_id))} in its last ensemble since boot {marking} began: "
        "limbo was due"
    )
