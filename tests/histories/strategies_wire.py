"""Random histories with a wire log, in three families that bear on different rules.

Two or three ledgers of few entries on few bookies, so that what happens, happens to the same.
"""

from __future__ import annotations

from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Holding, Kind, Message, Outcome, Proof, Status
from protocol.faults import Loses
from tests.histories.boots import fault
from tests.histories.exchanges import frame
from tests.histories.random_rows import SHAPES, Dice, Row, answer, boots, numbered, versions
from tests.histories.story import (
    OBSERVER,
    READER,
    WRITER,
    Fact,
    answered,
    deleted,
    metadata,
    operation,
    run_facts,
)

# Adds, and what bookies answered to them: of about every second add AQ bookies answered in time.

FAR = 2**45  # far enough apart that ledgers have to be ranked
SAID = (*(Status.EOK,) * 12, *Status, 100_042)
DAMAGE = (*((),) * 17, ("frames: torn",), ("ledgers: torn",), ("census: torn",))


def random_acks(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    dice = Dice(seed)
    facts: list[Fact] = []
    for ledger in dice.sample((1, 2, 2 + FAR), dice.choice((1, 2, 3))):
        facts += _quorums(dice, ledger, dice.choice((1, 2, 2, 3)))
        for entry in range(dice.randint(0, 12)):
            facts += [_acked(dice, ledger, entry) for _ in range(dice.choice((0, 1, 1, 1, 1, 1, 1, 2)))]
            for _ in range(dice.randint(0, 6)):
                kind = dice.choice((*(Message.ADD,) * 8, Message.RECOVERY_ADD, Message.READ))
                source, bookie = dice.choice((*(WRITER,) * 8, READER, 2)), dice.choice((1, 2, 3, 4))
                where = {"ledger": ledger, "source": source, "bookie": bookie}
                facts.append(answer(dice, kind, entry, dice.choice(SAID), dice.randint(5, 45), **where))
            facts += [_lac(dice, ledger, entry)] * dice.chance(0.2)
    whole = {"wire": dice.chance(0.95), "complete": dice.chance(0.95), "damage": dice.choice(DAMAGE)}
    return numbered(facts), run_facts(**whole)


def _quorums(dice: Dice, ledger: int, quorum: int) -> list[Fact]:
    """Versions that give the ack quorum, perhaps hidden, perhaps with other bookies."""
    columns = {"ledger": ledger, "ack_quorum": quorum}
    found = [metadata(0, 1, **columns), metadata(1, 1, **columns)]
    if dice.chance(0.65):
        bookies = {0: ("b1", "b2", "b3"), dice.choice((0, 0, 1)): dice.sample(("b1", "b4", "b5", "b6"), 3)}
        times = {"earliest_ns": 15, "latest_ns": dice.choice((18, 18, 18, 30))}
        return [found[0], metadata(1, 1, fragments=bookies, **times, **columns)]
    if dice.chance(0.1):
        found.append(metadata(2, 0, ledger=ledger, ack_quorum=0))
    elif dice.chance(0.05):
        found.append(metadata(2, 1, put_back=True, **columns))
    if dice.chance(0.2):
        found[1] = metadata(1, 2, earliest_ns=dice.choice((15, 30, 50)), **columns)
    return found[: dice.choice((0, 1, 1, 1, 4, 4, 4, 4))]


def _acked(dice: Dice, ledger: int, entry: int) -> Fact:
    return operation(
        Kind.ADD,
        ledger=ledger,
        entry=entry,
        client=dice.choice((WRITER, WRITER, WRITER, READER)),
        outcome=dice.choice((*(Outcome.OK,) * 6, *Outcome)),
        completed_ns=dice.choice((20, 30, 30, 40, NEVER)),
        lac=dice.choice((-1, entry, entry, entry, entry + 1)),
    )


def _lac(dice: Dice, ledger: int, entry: int) -> Fact:
    """A LAC that some client received; mostly late enough."""
    return operation(
        dice.choice((Kind.LAC, Kind.LAC, Kind.OPEN, Kind.READ, Kind.FORCE, Kind.WATCHED)),
        ledger=ledger,
        client=dice.choice((READER, READER, WRITER)),
        outcome=dice.choice((*(Outcome.OK,) * 6, Outcome.UNKNOWN)),
        completed_ns=dice.choice((20, 30, 40, 50, 60)),
        lac=dice.choice((-1, entry - 1, entry, entry)),
    )


# Closes, fences, losses and last looks. Final opens and reads begin at LOOK_NS, a census is on either side.

NUMBERS = {"b1": 1, "b2": 2, "b3": 3, "b4": 4}
ENTRIES = range(5)
LOOK_NS = 100
FENCING = (Message.FENCING_LAC_READ, Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.LAC_READ)
FENCED = (Status.EOK,) * 5 + (Status.ENOENTRY, Status.ENOLEDGER, Status.EFENCED, Status.EIO)
FATES = ([1, 3], [1, 2, 3], [1, 2, 3, 3], [1, 2], [1, 2], [1, 2], [1], [1], [3], [1, 3, 0])


def random_fates(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    dice = Dice(seed)
    facts: list[Fact] = []
    for ledger in (1, 2):
        shape, end = dice.choice(SHAPES), dice.choice((-1, -1, 0, 2, 4))
        names = dice.sample(sorted(NUMBERS), shape[0])
        facts += versions(dice, ledger, dice.choice(FATES), shape, end, names=names, of=sorted(NUMBERS))
        facts += [_add(dice, ledger) for _ in range(dice.randint(0, 8))]
        facts += [_open(dice, ledger) for _ in range(dice.randint(0, 3))]
        facts += [_took(dice, ledger) for _ in range(dice.randint(0, 14))]
        facts += [_fenced(dice, ledger) for _ in range(dice.randint(0, 5))]
        facts += _last_look(dice, ledger)
        facts += _census(dice, ledger)
        facts += _long_open(Dice(f"long open {ledger} {seed}"), ledger)
        if dice.chance(0.1):
            facts.append(deleted(ledger=ledger, outcome=dice.choice((Outcome.OK, Outcome.FAIL))))
    return numbered(facts), run_facts(
        bookies=NUMBERS,
        wire=dice.chance(0.9),
        servers=tuple(boots(dice, NUMBERS.values())[not dice.chance(0.95) :]),
        faults=tuple(_faults(dice)),
        damage=dice.mostly((), ("frames: something is missing",)),
    )


def _add(dice: Dice, ledger: int) -> Fact:
    outcome = dice.choice((Outcome.OK, Outcome.OK, Outcome.OK, *Outcome))
    at_ns = dice.randint(1, 80)
    columns = {"ledger": ledger, "entry": dice.choice(ENTRIES), "outcome": outcome}
    flags = dice.choice((0, 0, 0, Flag.DEFERRED_SYNC))
    return operation(Kind.ADD, flags=flags, invoked_ns=at_ns, completed_ns=at_ns + 3, **columns)


def _open(dice: Dice, ledger: int) -> Fact:
    times = {"invoked_ns": 1, "completed_ns": dice.choice((*range(10, 70), NEVER))}
    flags, outcome = (
        dice.choice((Flag.RECOVERY, Flag.RECOVERY, 0)),
        dice.choice((Outcome.OK, Outcome.UNKNOWN)),
    )
    columns = {"ledger": ledger, "result": dice.choice((-1, 0, 2, 4)), "flags": flags, "outcome": outcome}
    return operation(Kind.OPEN, client=READER, **columns, **times)


def _said(dice: Dice, kind: Message, ledger: int, entry: int, **columns: Any) -> Fact:
    who = {"bookie": dice.choice((1, 2, 3, 4)), "source": dice.choice((WRITER, READER, 2))}
    row = {"ledger": ledger, **who, **columns}
    return answer(dice, kind, entry, row.pop("status", dice.choice(FENCED)), dice.randint(1, 80), **row)


def _took(dice: Dice, ledger: int) -> Fact:
    kind = dice.choice((Message.ADD, Message.ADD, Message.ADD, Message.RECOVERY_ADD, Message.READ))
    return _said(dice, kind, ledger, dice.choice(ENTRIES))


def _fenced(dice: Dice, ledger: int) -> Fact:
    """An answer to fencing, or a denial that a fault rule sent to a recoverer."""
    if dice.chance(0.5):
        flags = FrameFlag.FORGED | FrameFlag.FENCING | FrameFlag.RECOVERY
        denial = dice.choice((Status.ENOENTRY, Status.ENOLEDGER, Status.EIO))
        made = {"status": dice.choice((Status.NONE, Status.EOK)), "delivered": denial}
        return _said(
            dice, Message.RECOVERY_READ, ledger, dice.choice((0, 0, 1, 3, 5)), flags=flags, rule=1, **made
        )
    kind = dice.choice(FENCING)
    return _said(dice, kind, ledger, -1 if kind != Message.RECOVERY_READ else dice.choice(ENTRIES))


def _last_look(dice: Dice, ledger: int) -> list[Fact]:
    known = {"ledger": ledger, "client": OBSERVER, "invoked_ns": LOOK_NS}
    known["completed_ns"] = LOOK_NS + dice.choice((5, 9))
    found = []
    for _ in range(dice.randint(0, 2)):
        ok = dice.chance(0.3)
        outcome = Outcome.OK if ok else dice.choice((*(Outcome.UNKNOWN,) * 5, Outcome.PENDING))
        error = 0 if ok else dice.choice((-10, -10, -10, -23, -13, -25))
        row = {"outcome": outcome, "error": error, "result": dice.choice((-1, 2, 4))}
        found.append(operation(Kind.OPEN, flags=Flag.FINAL | Flag.RECOVERY, **known, **row))
    for entry in ENTRIES:
        row = {**known, "entry": entry, "flags": Flag.FINAL}
        if dice.chance(0.2):
            proof = dice.choice((Proof.PROVES_ITSELF, Proof.PROVES_ITSELF, Proof.DAMAGED))
            size = {"size_bytes": dice.choice((0, 0, 64)), "origin": WRITER}
            found.append(operation(Kind.ENTRY, **row, proof=proof, expected=entry, **size))
        if dice.chance(0.6):
            row["outcome"] = dice.choice((Outcome.OK, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN))
            row["error"] = dice.choice((-13, -13, -7, -23, -108))
            found.append(operation(Kind.READ, **row, last=entry + dice.choice((0, 0, 0, 1))))
    return found


def _long_open(dice: Dice, ledger: int) -> list[Fact]:
    """Sometimes a final open that lasts 6 s, with requests that bookies answer at once or not at all."""
    if dice.chance(0.8):
        return []
    last_ns = LOOK_NS + 6 * 10**9
    row = {"outcome": Outcome.UNKNOWN, "error": -10, "flags": Flag.FINAL | Flag.RECOVERY}
    times = {"invoked_ns": LOOK_NS, "completed_ns": last_ns}
    found = [operation(Kind.OPEN, ledger=ledger, client=OBSERVER, **times, **row)]
    for _ in range(dice.randint(0, 4)):
        at_ns = dice.choice((LOOK_NS - 1, LOOK_NS, LOOK_NS + 5, last_ns - 5 * 10**9, last_ns - 5 * 10**9 - 1))
        columns = {"ledger": ledger, "source": OBSERVER, "bookie": dice.choice((1, 2, 3, 4))}
        found.append(frame(Message.RECOVERY_READ, entry=3, received_ns=at_ns, **columns))
        if dice.chance(0.8):
            asked_ns = dice.mostly(at_ns, NEVER)
            times = {"way": Direction.ANSWER, "asked_ns": asked_ns, "received_ns": at_ns + 1}
            found.append(frame(Message.RECOVERY_READ, entry=3, **times, **columns))
    return found


def _census(dice: Dice, ledger: int) -> list[Fact]:
    found = []
    mood = dice.choice(((Holding.ABSENT,) * 6, (Holding.PRESENT,) * 2, (Holding.PRESENT, Holding.ABSENT)))
    for number in dice.choice(((1, 2), (1, 2), (2,), (1, 2, 3), ())):
        at_ns = {1: 90, 2: dice.choice((106, 120)), 3: 140}[number]
        for entry in ENTRIES:
            for bookie in NUMBERS.values():
                holding = dice.choice((*mood, *mood, *Holding))
                times = {"asked_ns": at_ns, "answered_ns": at_ns + dice.choice((1, 5))}
                if dice.chance(0.95):
                    found.append(answered(entry, bookie, holding, number=number, ledger=ledger, **times))
    return found


def _faults(dice: Dice) -> list[Row]:
    return [
        fault(
            number,
            dice.choice(("kill", "hold", "forge", "garble", "wipe", "unplanned")),
            dice.choice(("b1", "b2", "zk1", "writer-b1")),
            injected_ns=dice.choice((10, 10, 10, NEVER)),
            confirmed_ns=20,
            healed_ns=dice.choice((50, 50, 50, 50, 99, 103, NEVER)),
        )
        for number in range(1, dice.choice((0, 0, 0, 0, 1, 2)) + 1)
    ]


# Recoveries: half lawful, half nonsense, with all excuses of anomalies.

WIDER = (*SHAPES, (3, 3, 3), (2, 2, 1))
SOURCES, BOOKIES = (102, 102, 250, 101, 2, 4), (1, 2, 3, 4, 5)
STATUSES = (Status.EOK, Status.ENOENTRY, Status.ENOLEDGER, Status.EIO, Status.EUNKNOWNLEDGERSTATE)
READING = (Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.READ, Message.LAC_READ)
LAST_NS = 120
RECOVERED = ([1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 2, 3], [1, 3], [1, 2], [1, 2, 3, 3], [1, 1, 2, 3, 0])


class Tale:
    """A history while it is made, with a clock."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.facts: list[Fact] = []
        self.now_ns = 10

    def tick(self) -> int:
        self.now_ns += self.dice.randint(0, 2)
        return self.now_ns

    def ask(self, source: int, bookie: int, kind: Message, entry: int, ledger: int) -> None:
        where = {"source": source, "bookie": bookie, "entry": entry, "ledger": ledger}
        at_ns = self.tick()
        self.facts.append(frame(kind, **where, received_ns=at_ns, forwarded_ns=at_ns, way=Direction.REQUEST))

    def answer(
        self, source: int, bookie: int, kind: Message, entry: int, status: Status, ledger: int
    ) -> None:
        lac = self.dice.choice((-1, 0, 0, 1)) if entry < 0 else -1
        where = {"source": source, "bookie": bookie, "ledger": ledger, "lac": lac}
        self.facts.append(answer(self.dice, kind, entry, status, self.tick(), **where))


def random_recoveries(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    tale = Tale(seed)
    dice = tale.dice
    for ledger in (1, 2):
        shape, end = dice.choice(WIDER), dice.choice((-1, 0, 1, 2, 2))
        names = [f"b{number}" for number in dice.sample(BOOKIES, shape[0])]
        tale.now_ns = 10
        _writer(tale, ledger)
        for _ in range(dice.choice((0, 1, 1, 2))):
            _recovery(tale, ledger, shape, names, end)
        others = [f"b{number}" for number in BOOKIES]
        known = {"names": names, "of": others, "busy_ns": tale.now_ns}
        tale.facts += versions(dice, ledger, dice.choice(RECOVERED), shape, end, **known)
        for _ in range(dice.randint(0, 25)):
            _nonsense(tale, ledger)
    for bookie in BOOKIES:
        tale.answer(WRITER, bookie, Message.FORCE, -1, Status.EOK, dice.choice((1, 2)))
    for status in (Status.EOK, Status.EOK, Status.ENOENTRY, Status.ENOENTRY):
        tale.now_ns += 25
        tale.answer(READER, 5, dice.choice((Message.READ, Message.RECOVERY_READ)), 7, status, 2)
    guarded = frozenset(f"b{number}" for number in dice.sample(BOOKIES, dice.choice((0, 2, 5))))
    loss = dice.choice((Loses.MEMORY, *(Loses.UNSYNCED,) * 4))
    least = dict.fromkeys((f"b{number}" for number in BOOKIES), loss)
    servers = tuple(boots(dice, BOOKIES))
    return numbered(tale.facts), run_facts(wire=True, guarded=guarded, servers=servers, least_loss=least)


def _writer(tale: Tale, ledger: int) -> None:
    """Perhaps a create, adds that some bookies acknowledge, a close, a delete; at any times."""
    dice, facts = tale.dice, tale.facts
    if dice.chance(0.5):
        facts.append(operation(Kind.CREATE, ledger=ledger, outcome=dice.choice((1, 1, 3))))
    for entry in range(dice.choice((0, 0, 2, 4))):
        late = dice.mostly(0, Flag.DEFERRED_SYNC, but=0.1)
        outcome = dice.choice((Outcome.OK, Outcome.OK, Outcome.UNKNOWN, Outcome.FAIL))
        columns = {"outcome": outcome, "flags": late, "invoked_ns": dice.randint(1, LAST_NS)}
        facts.append(operation(Kind.ADD, entry=entry, ledger=ledger, result=entry, **columns))
        for bookie in dice.sample(BOOKIES, dice.randint(0, 3)):
            tale.answer(WRITER, bookie, Message.ADD, entry, Status.EOK, ledger)
    if dice.chance(0.2):
        facts.append(operation(Kind.CLOSE, ledger=ledger, invoked_ns=dice.randint(1, LAST_NS)))
    if dice.chance(0.1):
        outcome = dice.choice((Outcome.OK, Outcome.FAIL))
        facts.append(deleted(ledger=ledger, outcome=outcome, invoked_ns=dice.randint(1, LAST_NS)))


def _recovery(tale: Tale, ledger: int, shape: tuple[int, int, int], names: list[str], end: int) -> None:
    """As it should be, less what is lost on the way."""
    dice, bookies = tale.dice, [int(name[1:]) for name in names]
    source, mood = dice.choice(SOURCES), dice.choice((0.8, 0.9, 1.0))
    for bookie in bookies:
        tale.ask(source, bookie, Message.FENCING_LAC_READ, -1, ledger)
        if dice.chance(mood):
            status = dice.choice((Status.EOK, Status.EOK, Status.ENOENTRY, Status.EIO))
            tale.answer(source, bookie, Message.FENCING_LAC_READ, -1, status, ledger)
    for entry in range(max(end - 1, 0), end + 1):
        if dice.chance(0.7):
            tale.answer(source, dice.choice(bookies), Message.RECOVERY_READ, entry, Status.EOK, ledger)
        for bookie in dice.sample(bookies, 2)[: dice.choice((1, 2, 2))]:
            tale.ask(source, bookie, Message.RECOVERY_ADD, entry, ledger)
            tale.answer(source, bookie, Message.RECOVERY_ADD, entry, Status.EOK, ledger)
    for step in range(shape[1]):
        bookie = bookies[(end + 1 + step) % shape[0]]
        tale.ask(source, bookie, Message.RECOVERY_READ, end + 1, ledger)
        if dice.chance(mood):
            tale.answer(source, bookie, Message.RECOVERY_READ, end + 1, Status.ENOENTRY, ledger)


def _nonsense(tale: Tale, ledger: int) -> None:
    dice = tale.dice
    tale.now_ns = dice.randint(1, LAST_NS)
    kind = dice.choice((*READING, *READING, Message.ADD, Message.RECOVERY_ADD))
    entry = -1 if kind in (Message.FENCING_LAC_READ, Message.LAC_READ) else dice.choice((0, 1, 2, 3, -1))
    where = dice.choice(SOURCES), dice.choice(BOOKIES), kind, entry
    if dice.chance(0.1):
        tale.ask(*where, ledger)
    else:
        tale.answer(*where, dice.choice(STATUSES), ledger)
