"""Every finding of every checker once, as a small literal history that must have it.

``LITERALS`` maps ``property/kind`` to one history and to all of its findings, itself included:
one deed often breaks two rules. A finding without a history here fails a test, so does a history
of an unknown finding. ``neighbour`` is the same history with one fact of it changed to what is lawful.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import Direction, Flag, Holding, Kind, Message, Outcome, Proof, Status
from protocol.faults import Loses
from tests.histories.asking import ENOENTRY, add, fencing, force, plain_read, recovery, write_back
from tests.histories.asking import answered as answer
from tests.histories.asking import recovered as recovered_ledger
from tests.histories.boots import boot, copied, fault, fenced, on_disk, server, took
from tests.histories.repairs import quiet, shown
from tests.histories.story import (
    OBSERVER,
    READER,
    Fact,
    acked,
    answered,
    closed,
    created,
    deferred,
    delivered,
    facts,
    forced,
    found,
    kept,
    lac_read,
    lost,
    metadata,
    opened,
    operation,
    recovered,
    recovering,
    refused,
    run_facts,
    unsure,
    vanished,
)


@dataclass(frozen=True)
class Literal:
    """A history, what it is judged with, all of its findings, and its lawful neighbour."""

    history: list[Fact]
    run: RunFacts
    found: frozenset[str]
    neighbour: list[Fact]
    neighbour_run: RunFacts

    @property
    def both(self) -> tuple[tuple[list[Fact], RunFacts], ...]:
        """The history and its neighbour, each with its run."""
        return (self.history, self.run), (self.neighbour, self.neighbour_run)


LITERALS: dict[str, Literal] = {}


@dataclass(frozen=True)
class Says:
    """``says(kind, ...)`` enters one history; ``lawful`` the parts of its neighbour, ``run`` its run."""

    common: dict[str, Any] = field(default_factory=dict)

    def __call__(
        self,
        name: str,
        *parts: Any,
        beside: Iterable[str] = (),
        lawful: Any = None,
        lawful_servers: Any = None,
        **run: Any,
    ) -> None:
        assert name not in LITERALS, name
        assert lawful is not None or lawful_servers, name
        about = {**self.common, **run}
        about_neighbour = {**about, "servers": tuple(lawful_servers)} if lawful_servers else about
        LITERALS[name] = Literal(
            history=facts(parts),
            run=run_facts(**about),
            found=frozenset({name, *beside}),
            neighbour=facts(parts if lawful is None else lawful),
            neighbour_run=run_facts(**about_neighbour),
        )


says, on_the_wire = Says(), Says({"wire": True})

# durability, closing

WHOLE = [acked(0), created(), closed(0), opened(0), kept(0)]
says("durability/lost", acked(0), created(), closed(0), opened(0), lost(0), lawful=[WHOLE, found(0)])
DAMAGED = [answered(0, bookie, Holding.DAMAGED) for bookie in (1, 2, 3)]
says(
    "durability/corrupt",
    [acked(0), created(), closed(0), opened(0), DAMAGED],
    lawful=[WHOLE, found(0)],
)
says(
    "content/damaged_copy",
    [WHOLE, DAMAGED[:1], found(0, bookies=(2, 3))],
    lawful=[WHOLE, found(0, bookies=(2, 3))],
)
says(
    "durability/vanished",
    [acked(0), created(), vanished(1)],
    lawful=[acked(0), created(), operation(Kind.DELETE), vanished(1)],
)
says(
    "closing/closed_below",
    [acked(0), acked(1), created(), closed(0)],
    beside={"durability/lost"},
    lawful=[acked(0), acked(1, outcome=Outcome.UNKNOWN, lac=-1), created(), closed(0)],
)
says(
    "closing/two_ends",
    [acked(0), created(), closed(0), recovered(1, lac=0)],
    lawful=[acked(0), created(), closed(0), recovered(0)],
)
says(
    "closing/closed_unwritten",
    [created(), closed(0, earliest_ns=7, latest_ns=9), recovered(0, completed_ns=6)],
    lawful=[created(), closed(0, earliest_ns=7, latest_ns=9), recovered(0, completed_ns=7)],
)

# fencing

CLOSED = [created(), closed(-1, 2, latest_ns=100)]
says(
    "fencing/added_after_close",
    [CLOSED, acked(0, lac=-1, invoked_ns=101, completed_ns=106)],
    beside={"durability/lost", "closing/closed_below"},
    lawful=[CLOSED, acked(0, invoked_ns=101, completed_ns=106, outcome=Outcome.UNKNOWN, lac=-1)],
)
on_the_wire(
    "fencing/accepted_when_fenced",
    [fenced(1, 10), took(0, 1, 20)],
    lawful=[fenced(1, 10), took(0, 1, 20, boot=2)],
)

# order, lac, content

says("order/added_out_of_order", acked(0), acked(2, expected=1), lawful=[acked(0), acked(1)])
says("order/read_out_of_order", [delivered(0), delivered(2, expected=1)], lawful=[delivered(0), delivered(1)])
says("order/acked_twice", acked(0), acked(0, seq=2), lawful=acked(0))
READ = operation(Kind.READ, client=READER, entry=0, last=1, result=1)
says(
    "order/ended_short",
    [acked(0), acked(1), READ],
    lawful=[acked(0), acked(1), ("operations", {**READ[1], "result": 2})],
)
says("lac/went_back", lac_read(0, lac_before=3), lawful=lac_read(3, lac_before=3))
says(
    "lac/beyond_close",
    [created(), closed(3, latest_ns=10), lac_read(4, invoked_ns=11, completed_ns=12)],
    beside={"durability/lost", "closing/closed_below"},
    lawful=[created(), closed(3, latest_ns=10), lac_read(3, invoked_ns=11, completed_ns=12)],
)
says(
    "lac/covers_unsent",
    [created(), acked(0), refused(1), lac_read(1)],
    lawful=[created(), acked(0), refused(1), lac_read(0)],
)
# Two bookies are AQ; the second's acknowledgement was passed on at 22, when the writer had got ok at 21.
IN_A_HURRY = [created(), took(0, 1, 10), took(0, 2, 20)]
on_the_wire(
    "lac/acked_too_soon",
    [IN_A_HURRY, acked(0, completed_ns=21)],
    lawful=[IN_A_HURRY, acked(0, completed_ns=22)],
)
# b1 and b2 had answered, and b4 had replaced b2 by 40; the writer got ok then, or later.
MOVED = [created(), metadata(1, 1, fragments={0: ("b1", "b4", "b3")}, earliest_ns=30, latest_ns=40)]
on_the_wire(
    "lac/acked_by_replaced",
    [MOVED, took(0, 1, 10), took(0, 2, 20), acked(0, completed_ns=41)],
    lawful=[MOVED, took(0, 1, 10), took(0, 2, 20), acked(0, completed_ns=40)],
)
LONG_AFTER = 40 + 10**10
on_the_wire(
    "lac/acked_by_former",
    [MOVED, took(0, 1, 10), took(0, 2, 20), acked(0, invoked_ns=LONG_AFTER + 1, completed_ns=LONG_AFTER + 9)],
    lawful=[MOVED, took(0, 1, 10), took(0, 4, 20), acked(0, completed_ns=LONG_AFTER + 9)],
)
# The reader has LAC 0 at 21, the second acknowledgement of entry 0 was passed on at 22.
on_the_wire(
    "lac/covers_unacked",
    [IN_A_HURRY, acked(0, completed_ns=22), lac_read(0, completed_ns=21)],
    lawful=[IN_A_HURRY, acked(0, completed_ns=22), lac_read(0, completed_ns=22)],
)
# No version of the metadata names b4.
on_the_wire("lac/acked_outside", [created(), took(0, 4, 10)], lawful=[created(), took(0, 3, 10)])
# Two bookies are AQ; the second's confirmation was passed on at 32, when the writer had got ok at 31.
CONFIRMED = [answer("writer", bookie, force(), at=at) for bookie, at in (("b1", 31), ("b2", 32))]
on_the_wire(
    "lac/forced_too_soon",
    [IN_A_HURRY, deferred(0, completed_ns=22), CONFIRMED, forced(0, invoked_ns=30, completed_ns=31)],
    lawful=[IN_A_HURRY, deferred(0, completed_ns=22), CONFIRMED, forced(0, invoked_ns=30, completed_ns=32)],
)
for kind, proof in (("damaged", Proof.DAMAGED), ("foreign", Proof.FOREIGN), ("not_a_payload", Proof.NONE)):
    says(f"content/{kind}", acked(0), delivered(0, proof=proof), lawful=[acked(0), delivered(0)])
says("content/two_writings", [acked(0), delivered(0, size_bytes=77)], lawful=[acked(0), delivered(0)])

# metadata

says("metadata/malformed", created(fragments={0: ("b1", "b2")}), lawful=created())
says(
    "metadata/illegal_move",
    [created(), closed(4), closed(3, 2)],
    beside={"closing/two_ends"},
    lawful=[created(), closed(4), closed(4, 2, fragments={0: ("b1", "b2", "b4")})],
)
says("metadata/two_versions", created(), closed(4, 0), lawful=[created(), created()])
says(
    "metadata/wrong_length",
    [acked(0), acked(1), unsure(2), created(), recovering(), closed(1, 2, length_bytes=300)],
    lawful=[acked(0), acked(1), created(), recovering(), closed(1, 2, length_bytes=200)],
)
says(
    "metadata/impossible_length",
    [acked(0), acked(1), created(), recovering(), closed(1, 2, length_bytes=300)],
    lawful=[acked(0), acked(1), created(), recovering(), closed(1, 2, length_bytes=200)],
)
says(
    "metadata/wrong_own_length",
    [acked(0), acked(1), created(), closed(1, length_bytes=300)],
    lawful=[acked(0), acked(1), created(), closed(1, length_bytes=200)],
)

# recovery, answers

on_the_wire(
    "recovery/ended_too_soon",
    [recovered_ledger(11), recovery(11, denied=("b1",))],
    lawful=[recovered_ledger(11), recovery(11)],
)
on_the_wire(
    "recovery/fenced_too_few",
    [recovered_ledger(11), recovery(11, fenced=("b1",))],
    lawful=[recovered_ledger(11), recovery(11)],
)
NOT_BACK = [
    fact
    for fact in recovery(11, found=(11,))
    if (fact[1]["kind"], fact[1]["way"]) != (Message.RECOVERY_ADD, Direction.ANSWER)
]
on_the_wire(
    "recovery/not_written_back",
    [recovered_ledger(11), NOT_BACK, answer("reader", "b1", write_back(11), at=23)],
    lawful=[recovered_ledger(11), recovery(11, found=(11,))],
)
LAC_9 = answer("reader", "b1", fencing(), at=11, lac=9)
on_the_wire(
    "recovery/not_read",
    [recovered_ledger(11), LAC_9, recovery(11, found=(11,))],
    lawful=[recovered_ledger(11), LAC_9, recovery(11, found=(10, 11))],
)
GIVEN = [answer("reader", bookie, fencing(), at=11, lac=lac) for bookie, lac in (("b1", 12), ("b2", 9))]
on_the_wire(
    "recovery/closed_below_lac",
    [recovered_ledger(11), GIVEN, recovery(11, fenced=(), found=(10, 11))],
    lawful=[
        recovered_ledger(11),
        GIVEN,
        answer("reader", "b3", fencing(), at=11, lac=9),
        recovery(11, fenced=(), found=(10, 11)),
    ],
)
UNREAD = [
    one
    for one in recovery(11, found=(11,))
    if one[1]["kind"] != Message.RECOVERY_READ or one[1]["entry"] != 11
]
on_the_wire(
    "recovery/wrote_back_unread",
    [recovered_ledger(11), UNREAD],
    lawful=[recovered_ledger(11), recovery(11, found=(11,))],
)
ACK, DENIAL = answer("writer", "b1", add(3), at=10), answer("reader", "b1", plain_read(3), ENOENTRY, at=20)
NEW = created()
on_the_wire(
    "answers/denied_own_ack",
    [NEW, ACK, DENIAL],
    lawful=[NEW, ACK, answer("reader", "b1", plain_read(3), at=20)],
)
SHOW = answer("reader", "b1", plain_read(3), at=10)
on_the_wire(
    "answers/denied_own_show",
    [NEW, SHOW, DENIAL],
    lawful=[NEW, answer("reader", "b2", plain_read(3)), DENIAL],
)
LATE = answer("reader", "b1", plain_read(3), ENOENTRY, at=100, boot=2)
on_the_wire(
    "answers/denied_flushed",
    [NEW, ACK, LATE],
    servers=(*boot(1, stopped=50), *boot(1, 2, began=90)),
    lawful=[NEW, answer("writer", "b1", add(4), at=10), LATE],
)
ALONE = created(ensemble=1, write_quorum=1, ack_quorum=1, fragments={0: ["b1"]})
DEFERRED = deferred(3, completed_ns=15)
on_the_wire(
    "answers/denied_durable",
    [ALONE, DEFERRED, ACK, answer("writer", "b1", force(), at=20), LATE],
    servers=(*boot(1, killed=50), *boot(1, 2, began=90)),
    least_loss={"b1": Loses.STORED},
    lawful=[ALONE, DEFERRED, ACK, answer("writer", "b2", force(), at=20), LATE],
)
DIED = (*boot(1, killed=50), copied(1, at=60), *boot(1, 2, began=90))
KILL = fault(1, "kill", "b1", planned_ns=45, injected_ns=70, confirmed_ns=71, healed_ns=95)
on_the_wire(
    "answers/denied_held",
    [NEW, on_disk(1, 0, 9), LATE],
    servers=DIED,
    faults=(KILL,),
    lawful=[NEW, on_disk(1, 4, 9), LATE],
)
SERVED = (*boot(1, killed=50), server(1, 1, "answering", 5, 5), *boot(1, 2, began=90))
on_the_wire(
    "answers/limbo_not_shown",
    [created(earliest_ns=2, latest_ns=3), LATE],
    servers=SERVED,
    guarded=frozenset({"b1"}),
    lawful=[
        created(earliest_ns=2, latest_ns=3),
        answer("reader", "b1", plain_read(3), Status.EUNKNOWNLEDGERSTATE, at=100, boot=2),
    ],
)

# availability

THREE = {"b1": 1, "b2": 2, "b3": 3}
alive = Says({"bookies": THREE, "servers": (*boot(1), *boot(2), *boot(3))})
NO_RECOVERY = {"outcome": Outcome.UNKNOWN, "error": -10, "invoked_ns": 100, "completed_ns": 109}
alive(
    "availability/stuck",
    [created(), recovering(), opened(-1, **NO_RECOVERY)],
    lawful=[created(), recovering(), closed(-1, 2), opened(-1, invoked_ns=100, completed_ns=109)],
)
NOT_READ = operation(
    Kind.READ,
    entry=0,
    last=0,
    client=OBSERVER,
    flags=Flag.FINAL,
    outcome=Outcome.UNKNOWN,
    error=-13,
    invoked_ns=100,
    completed_ns=109,
)
SHOWN = [
    answered(0, 1, Holding.PRESENT, number=number, asked_ns=at_ns, answered_ns=at_ns + 10)
    for number, at_ns in ((1, 50), (2, 150))
]
alive(
    "availability/unreadable",
    [created(), closed(0, latest_ns=10), opened(0), NOT_READ, SHOWN],
    lawful=[created(), closed(0, latest_ns=10), opened(0), NOT_READ, SHOWN[1:]],
)

# replicas, placement

BEFORE = {"earliest_ns": 10, "latest_ns": 12}
MADE = [created(**BEFORE), closed(1, earliest_ns=20, latest_ns=22)]
repaired = Says({"bookies": {**THREE, "b4": 4}, "servers": quiet()})
BOTH = (0, 1)
EVERYWHERE = [MADE, shown({1: BOTH, 2: BOTH, 3: BOTH}, last=1)]
OTHER = [
    (table, {**row, "size_bytes": 77} if (row["bookie"], row["entry"]) == (3, 1) else row)
    for table, row in shown({1: BOTH, 2: BOTH, 3: BOTH}, last=1)
]
repaired("replicas/under_replicated", MADE, shown({1: BOTH, 2: (0,), 3: BOTH}, last=1), lawful=EVERYWHERE)
repaired(
    "replicas/hole",
    [MADE, shown({1: (0,), 2: (0,), 3: (0,)}, last=1)],
    beside={"durability/lost"},
    lawful=EVERYWHERE,
)
repaired("replicas/differing", [MADE, OTHER], beside={"content/two_writings"}, lawful=EVERYWHERE)
RACKS = {"b1": "r1", "b2": "r1", "b3": "r1", "b4": "r2"}
says(
    "placement/too_few_racks",
    created(),
    racks=RACKS,
    min_racks=2,
    lawful=created(fragments={0: ("b1", "b2", "b4")}),
)
