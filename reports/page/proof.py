"""Which ledger or entry gets a diagram, and the few moments that prove what was judged.

The first entry of the most serious finding that names entries, else a ledger: a recovery ends a ledger at
the first entry that it does not find. Without findings it is the last acknowledged entry of the first ledger,
so that a valid run shows how it kept its promise. The moments are taken from
``fencepost explain``, without unrelated ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from evidence.codes import Kind, Outcome
from protocol.addresses import OBSERVER
from reports.explain.moments import METADATA, NEMESIS, Event, Moment, joined
from reports.explain.story import story_of
from reports.page.stored import StoredMode

MOST_MOMENTS = 48
_ENDS = (Event.ENDED, Event.KILLED)
_OF_BOOT = (*_ENDS, Event.BEGAN, Event.BOOTING, Event.LACKED)


@dataclass(frozen=True)
class Proof:
    """The life of one entry (or ledger): why it was chosen, its lanes from left to right, its moments.

    ``gaps`` says how many moments are left out before the one at an index.
    """

    title: str
    subject: str
    why: str
    lanes: Sequence[str]
    moments: Sequence[Moment]
    gaps: Mapping[int, int]


def proof_of(mode: StoredMode) -> Proof | None:
    """The picture's content; None when nothing happened to any ledger."""
    chosen = _chosen(mode)
    if chosen is None:
        return None
    ledger, entry, why = chosen
    story = story_of(mode, ledger, entry)
    moments = _with_part(joined(story.moments), frozenset(mode.run["bookies"]))
    if not moments:
        return None
    moments, gaps = shortened(moments, MOST_MOMENTS)
    subject = mode.ledgers.get(ledger, str(ledger))
    named = subject if entry is None else f"{subject}:{entry}"
    return Proof(story.title, named, why, _lanes(moments, mode), moments, gaps)


def shortened(moments: Sequence[Moment], most: int) -> tuple[list[Moment], dict[int, int]]:
    """At most ``most`` moments, and how many are left out before each index.

    Moments that decide stay: those nearest to the version that closed the ledger, where they are too
    many. Of the others the first and the last stay.
    """
    if len(moments) <= most:
        return list(moments), {}
    closed_ns = next((one.at_ns for one in moments if one.event is Event.CLOSED), 0)
    deciding = [at for at, one in enumerate(moments) if one.decides]
    nearest = sorted(deciding, key=lambda at: abs(moments[at].at_ns - closed_ns))[: most - most // 4]
    others = [at for at in range(len(moments)) if at not in set(deciding)]
    left = most - len(nearest)
    ends = others if len(others) <= left else [*others[: left // 2], *others[len(others) - (left + 1) // 2 :]]
    kept = sorted({*nearest, *ends})
    gaps = {
        place: at - before - 1
        for place, (before, at) in enumerate(zip([-1, *kept], [*kept, len(moments)], strict=True))
        if at - before > 1
    }
    return [moments[at] for at in kept], gaps


def lane_of(who: str) -> str:
    """``b1`` of ``b1 boot 2``."""
    return who.split(" boot ")[0]


def lanes_in(moment: Moment) -> list[str]:
    """Every participant of a moment: senders, receivers, targets of a fault."""
    if moment.who == NEMESIS:
        return list(moment.targets)
    return [lane_of(one) for one in [*moment.who.split(", "), *moment.to.split(", ")] if one]


def _chosen(mode: StoredMode) -> tuple[int, int | None, str] | None:
    # A finding that names no entry comes last, because only an entry has known holders.
    for finding in sorted(mode.findings, key=lambda one: one.ledger < 0 or one.first_entry < 0):
        if finding.ledger >= 0:
            entry = finding.first_entry if finding.first_entry >= 0 else None
            return finding.ledger, entry, f"{finding.property}: {finding.kind.replace('_', ' ')}"
    return _kept(mode)


def _kept(mode: StoredMode) -> tuple[int, int, str] | None:
    acked = (pc.field("kind") == Kind.ADD) & (pc.field("outcome") == Outcome.OK)
    table = mode.table("operations", acked, columns=["ledger", "entry"])
    if not table.num_rows:
        return None
    named = [ledger for ledger in mode.ledgers if pc.any(pc.equal(table["ledger"], ledger)).as_py()]
    ledger = named[0] if named else pc.min(table["ledger"]).as_py()
    entry = pc.max(table.filter(pc.equal(table["ledger"], ledger))["entry"]).as_py()
    return ledger, entry, "no finding; the last entry of its first ledger that was acknowledged"


def _with_part(moments: Sequence[Moment], bookies: frozenset[str]) -> list[Moment]:
    """Without the observer's own doings, earlier census passes, and what hit others or happened before."""
    last_pass = max((one.census_pass for one in moments), default=0)
    own = [
        one
        for one in moments
        if lane_of(one.who) != OBSERVER and OBSERVER not in one.to and one.census_pass in (0, last_pass)
    ]
    acts = [one for one in own if one.who != NEMESIS and one.event not in (*_ENDS, Event.BEGAN)]
    taking_part = {lane for one in acts for lane in (*lanes_in(one), *one.targets)}
    first_ns = min((one.at_ns for one in acts), default=0)
    # Only bookies among a fault's targets are a reason to leave it out.
    near = [
        one
        for one in own
        if one in acts or (one.at_ns >= first_ns and taking_part >= bookies.intersection(lanes_in(one)))
    ]
    return list(without_later_deaths(near))


def without_later_deaths(moments: Sequence[Moment]) -> Iterator[Moment]:
    """A bookie that died without the entry may die again and again: no news, until it acts."""
    lacking: set[str] = set()
    dead_again: set[str] = set()
    for one in moments:
        lane = _hit(one)
        if lane is None:
            lacking -= set(lanes_in(one))
            dead_again -= set(lanes_in(one))
            yield one
            continue
        if one.event in _ENDS and lane in lacking:
            dead_again.add(lane)
        if one.event is Event.LACKED:
            lacking.add(lane)
        if lane not in dead_again:
            yield one


def _hit(moment: Moment) -> str | None:
    """Whose death or boot a moment belongs to; None of any other moment."""
    if moment.who == NEMESIS:
        lanes = lanes_in(moment)
        return lanes[0] if len(lanes) == 1 else None
    return lane_of(moment.who) if moment.event in _OF_BOOT else None


def _lanes(moments: Sequence[Moment], mode: StoredMode) -> list[str]:
    """First client, bookies, other clients, metadata: a writer asks to the right, a recoverer to the left."""
    bookies = list(mode.run["bookies"])
    clients = [*mode.run["clients"], *mode.run.get("others", {})]
    seen = list(dict.fromkeys(lane for one in moments if one.who != NEMESIS for lane in lanes_in(one)))
    acting = [lane for lane in seen if lane in clients]
    rest = [lane for lane in seen if lane not in (*bookies, *clients, METADATA)]
    middle = [bookie for bookie in bookies if bookie in seen]
    last = [METADATA] if METADATA in seen else []
    return [*acting[:1], *middle, *acting[1:], *rest, *last]
