"""Lawful histories of one ledger, drawn piece by piece: whatever they hold, nothing may convict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from evidence.codes import NEVER, Flag, Kind, Outcome
from tests.histories.story import (
    Fact,
    acked,
    closed,
    created,
    deferred,
    delivered,
    facts,
    forced,
    found,
    kept,
    lost,
    metadata,
    opened,
    operation,
    recovered,
    recovering,
    refused,
    told,
    unsure,
)

ENSEMBLES = (("b1", "b2", "b3"), ("b1", "b2", "b4"), ("b5", "b2", "b4"))


@dataclass(frozen=True)
class Lawful:
    """A lawful history, with what its mutations need to know of it.

    ``promised`` is one more than the highest obliged id before the close, ``end`` the last entry
    of the close, ``tried`` the number of adds that were sent.
    """

    history: list[Fact]
    acked: int
    promised: int
    tried: int
    end: int

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [row for name, row in self.history if name == table]

    def operations(self, *kinds: Kind) -> list[dict[str, Any]]:
        return [row for row in self.rows("operations") if row["kind"] in kinds]


@st.composite
def lawful(draw: st.DrawFn) -> Lawful:
    """A writer, perhaps a reader, an end by close or recovery, a census and the final reads."""
    ok = draw(st.integers(1, 6))
    pending = draw(st.integers(0, 3))
    by_recovery = draw(st.booleans())
    late = draw(st.booleans())
    written = draw(st.integers(0, pending)) if by_recovery else 0
    end = ok - 1 + written
    history = facts(
        _adds(draw, ok, pending, late),
        _reader(draw, ok, late),
        _metadata(draw, ok, end, by_recovery),
        recovered(end) if by_recovery else operation(Kind.CLOSE, result=end, seq=90),
        opened(end),
        [kept(entry) for entry in range(end + 1)],
        [_answers(draw, entry, entry <= end) for entry in range(ok + pending)],
    )
    promised = ok if not late else max((r["entry"] + 1 for _, r in history if r.get("kind") == Kind.FORCE))
    return Lawful(history, ok, promised, ok + pending, end)


def _adds(draw: st.DrawFn, ok: int, pending: int, late: bool) -> list[Fact]:
    tail = [draw(st.sampled_from([Outcome.UNKNOWN, Outcome.PENDING])) for _ in range(pending)]
    maker = deferred if late else acked
    before = [{} if late else {"lac_before": entry - 1} for entry in range(ok)]
    return facts(
        operation(Kind.CREATE),
        [maker(entry, **before[entry]) for entry in range(ok)],
        [forced(draw(st.integers(0, ok - 1)))] if late else [],
        [unsure(ok + index, outcome=outcome) for index, outcome in enumerate(tail)],
        [refused(ok + pending)] if draw(st.booleans()) else [],
    )


def _reader(draw: st.DrawFn, ok: int, late: bool) -> list[Fact]:
    """LAC reads whose answers may fall, a confirmed read below the LAC, an unconfirmed one anywhere."""
    if late or draw(st.booleans()):
        return []
    high = draw(st.integers(0, ok - 1))
    low = draw(st.integers(-1, high))
    return facts(
        told(high, seq=50),
        told(high, seq=51, result=low, lac_before=high),
        [delivered(entry) for entry in range(draw(st.integers(0, high + 1)))],
        [delivered(ok - 1, flags=Flag.UNCONFIRMED, seq=99)],
    )


def _metadata(draw: st.DrawFn, ok: int, end: int, by_recovery: bool) -> list[Fact]:
    """In-place changes, new fragments, recovery, replication after the close."""
    fragments: dict[int, tuple[str, ...]] = {0: ENSEMBLES[0]}
    seen = [created(fragments=dict(fragments))]
    for first in sorted(draw(st.lists(st.integers(0, ok), max_size=2))):
        fragments[first] = draw(st.sampled_from(ENSEMBLES))
        seen.append(metadata(len(seen), 1, fragments=dict(fragments)))
    if by_recovery:
        seen.append(recovering(len(seen), fragments=dict(fragments)))
        fragments[max(fragments)] = draw(st.sampled_from(ENSEMBLES))
    at = draw(st.sampled_from([NEVER, 100]))
    seen.append(closed(end, len(seen), fragments=dict(fragments), latest_ns=at))
    if draw(st.booleans()):
        fragments[0] = ENSEMBLES[2]
        seen.append(closed(end, len(seen), fragments=dict(fragments)))
    return seen


def _answers(draw: st.DrawFn, entry: int, there: bool) -> list[Fact]:
    """Bookies 1 to 5 in both passes: some copy of what is there, anything of what was cut off."""
    everyone = {1, 2, 3, 4, 5}
    holders = draw(st.sets(st.sampled_from(sorted(everyone)), min_size=1 if there else 0))
    return facts(
        [
            [found(entry, bookies=holders, number=n), lost(entry, bookies=everyone - holders, number=n)]
            for n in (1, 2)
        ]
    )
