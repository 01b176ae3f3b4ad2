"""Rows of ``frames`` as checkers pick them: what a bookie said, and what a client received.

A bookie is judged by ``status``, what it answered itself; a client decides by ``delivered``,
what reached it. Made answers, answers without a request and unreadable headers prove nothing. An
answer of protocol V2 that fits more than one request is a bound: it may speak for its look-alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np

from checkers.facts.boots import boot_id_of
from checkers.facts.parts import entries_of, flagged
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.sets.ordering import Column
from checkers.sets.spans import Bools, Ints, ints
from evidence.codes import EXPLICIT_NEGATIVES, NEVER, Direction, Flag, FrameFlag, Kind, Message, Status
from protocol.addresses import link_name

ADDS = (Message.ADD, Message.RECOVERY_ADD)
UNPROVEN = FrameFlag.FORGED | FrameFlag.UNCORRELATED | FrameFlag.UNPARSED | FrameFlag.AMBIGUOUS
UNSURE_KIND = FrameFlag.UNCORRELATED | FrameFlag.AMBIGUOUS
LOOK_ALIKE: Mapping[Message, Message] = {
    Message.RECOVERY_READ: Message.READ,
    Message.FENCING_LAC_READ: Message.LAC_READ,
}
"""Requests whose answers cannot be distinguished where two of one key are in flight (protocol V2)."""


def _sources(batch: Batch) -> Columns:
    sources = np.flatnonzero(np.bincount(batch.frames["source"]))
    return {"ledger": np.full(len(sources), -1), "source": sources}


LOGGED = LedgerFact("logged", "frames", _sources, key=("ledger", "source"))
"""Whose frames are in the wire log, of any ledger (-1)."""


def answers(rows: Rows, kind: Message) -> Rows:
    """Answers to requests of one kind, as far as the proxy could tell."""
    return rows.where(way=Direction.ANSWER, kind=kind)


def is_sure(rows: Rows) -> Bools:
    """Which answers a known boot of a bookie gave, to a request that is known."""
    sure: Bools = ((rows["flags"] & int(UNPROVEN)) == 0) & (rows["boot"] > 0) & (rows["asked_ns"] != NEVER)
    return sure


def proven_answers(rows: Rows, kind: Message) -> Rows:
    """Answers to requests of one kind that a known boot of a bookie gave, to a request that is known."""
    return answers(rows, kind).memo(_sure)


def proven_answers_about_entries(rows: Rows, kind: Message) -> Rows:
    """The answers that are about an entry."""
    return proven_answers(rows, kind).memo(_about)


def requests(rows: Rows, kind: Message) -> Rows:
    """Requests of one kind, whether they were passed on or not."""
    return rows.where(way=Direction.REQUEST, kind=kind)


def delivered_answers(rows: Rows, kind: Message) -> Iterator[Rows]:
    """Answers that reached their client and are, or may be, answers to such requests."""
    yield answers(rows, kind).memo(_reached)
    if kind in LOOK_ALIKE:
        alike = answers(rows, LOOK_ALIKE[kind]).memo(_reached)
        yield alike.filter((alike["flags"] & int(UNSURE_KIND)) != 0)


def _sure(rows: Rows) -> Rows:
    return rows.filter(is_sure(rows))


def _about(rows: Rows) -> Rows:
    return rows.filter((rows["ledger"] >= 0) & (rows["entry"] >= 0))


def _reached(rows: Rows) -> Rows:
    return rows.filter((rows["delivered"] != Status.NONE) & (rows["forwarded_ns"] != NEVER))


def denies(status: Column) -> Bools:
    """Explicit negatives (BP-46, "Response Codes")."""
    return np.isin(status, EXPLICIT_NEGATIVES)


def boot_ids(rows: Rows) -> Ints:
    """The boot id of each frame's bookie; meaningless where the boot is not known."""
    return boot_id_of(rows["bookie"].astype(np.int64), rows["boot"].astype(np.int64))


def rule_text(run: RunFacts, source: int, bookie: int, rule: int) -> str:
    """``fault 3 (forge recoverer-b1)`` where the fault is known by its proof, else the rule and its link."""
    link = link_name(run.source_name(source), run.bookie_name(bookie))
    for fault in run.faults:
        phases = json.loads(fault["proof"] or "{}").values()  # of the fault's life
        known = [(phase.get("link"), phase.get("number")) for phase in phases if isinstance(phase, dict)]
        if (link, rule) in known:
            return f"fault {fault['fault']} ({fault['kind']} {fault['target']}, rule {rule} of link {link})"
    return f"rule {rule} of link {link}"


def _forces(batch: Batch) -> Columns:
    forces = proven_answers(batch.frames, Message.FORCE).where(status=Status.EOK)
    return {"ledger": forces["ledger"], "boot_id": boot_ids(forces), "asked_ns": forces["asked_ns"]}


FORCED = LedgerFact("forced", "frames", _forces, key=("ledger", "boot_id"), values={"asked_ns": "max"})
"""The ledgers that each boot of a bookie confirmed as synced, and when it was last asked to."""


def synced(
    ledger: Column, entry: Column, boot_id: Column, acked_ns: Column, batch: Batch, facts: LedgerFacts
) -> Bools:
    """Whether each entry that a boot acknowledged was synced: not deferred, or forced there afterwards."""
    adds = batch.operations.where(kind=Kind.ADD)
    late = entries_of(adds.filter(flagged(adds, Flag.DEFERRED_SYNC))).has(ledger, entry)
    if not late.any():
        return ~late
    forced = facts.memo(_last_forces)
    takers = zip(ledger.tolist(), boot_id.tolist(), strict=True)
    return ~late | (acked_ns < ints([forced.get(one, -1) for one in takers]))


def _last_forces(facts: LedgerFacts) -> Mapping[tuple[int, int], int]:
    return {(ledger, boot_id): asked_ns for ledger, boot_id, asked_ns in facts.rows(FORCED)}
