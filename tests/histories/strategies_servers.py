"""Histories of boots: two bookies, two ledgers, boots of any events at any times, near each other.

A seed decides everything. Half of the boots follow BP-46's order and are then disturbed; the others are
a heap of events. What a rule needs is drawn often enough that each rule is both broken and excused.
"""

from __future__ import annotations

import random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Message, Status
from tests.histories.boots import boot as boot_rows
from tests.histories.boots import fault, repairer, said, server
from tests.histories.story import OBSERVER, READER, Fact, metadata, run_facts

BOOKIES = {"b1": 1, "b2": 2}
ORDER = (
    ("unclean_shutdown", 3),
    ("cookie_mismatch", 4),
    ("preboot_start", 6),
    ("mark_limbo", 10),
    ("mark_limbo", 12),
    ("preboot_end", 16),
    ("cookie_stamped", 18),
    ("registered", 20),
    ("dirty_kept", 22),
    ("component_started", 24),
    ("answering", 24),
    ("full_check_init", 26),
    ("ledger_check_and_copy_start", 50),
    ("full_check_end", 54),
    ("clear_integcheck_flag", 56),
)
SPAN = 70
"""Time units of one boot."""
OF_LEDGERS = ("mark_limbo", "ledger_check_and_copy_start")


def random_boots(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    dice = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for bookie in BOOKIES.values():
        for number in range(1, dice.randint(1, 4) + 1):
            rows += _boot(dice, bookie, number)
    facts = [fact for ledger in (1, 2) for fact in _versions(dice, ledger)]
    facts += [_answer(dice) for _ in range(dice.choice((0, 0, 8, 16)))]
    repairs, cuts = _repairs(random.Random(f"repairs {seed}"))
    rows += repairs
    dice.shuffle(rows)
    return [(name, {**row, "seq": at} if "seq" in row else row) for at, (name, row) in enumerate(facts, 1)], (
        run_facts(
            bookies=BOOKIES,
            wire=dice.random() < 0.9,
            servers=tuple(rows),
            guarded=frozenset(dice.choice((("b1", "b2"), ("b1", "b2"), ("b1",), ()))),
            faults=(*_faults(dice), *cuts),
            may_end={"ar1": 1} if seed % 50 == 0 else {},
            damage=("servers: something is missing",) if dice.random() < 0.04 else (),
            required=("servers",) if dice.random() < 0.2 else (),
        )
    )


def _repairs(dice: random.Random) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    """Sometimes a boot of autorecovery that ends, and a fault that may be why."""
    if dice.random() < 0.8:
        return (), ()
    logged = [(name, dice.randint(2, 40)) for name in ("session_lost", "worker_died") if dice.random() < 0.3]
    times = {"injected_ns": dice.randint(30, 50), "healed_ns": 60}
    near = [fault(2, dice.choice(("cut", "stop")), dice.choice(("ar1", "ar1-zk1", "b1-b2")), **times)]
    cuts = tuple(near) if dice.random() < 0.3 else ()
    return repairer(*logged, ended=40, read=dice.random() < 0.9), cuts


def _boot(dice: random.Random, bookie: int, number: int) -> list[dict[str, Any]]:
    began = (number - 1) * SPAN + 1
    ended = {dice.choice(("killed", "killed", "stopped")): began + SPAN - 2} if dice.random() < 0.95 else {}
    rows = boot_rows(bookie, number, began=began, **ended)
    orderly, exact = dice.random() < 0.75, dice.random() < 0.4
    kept = 0.98 if exact else 0.85
    chosen = [one for one in ORDER if dice.random() < kept] if orderly else dice.choices(ORDER, k=12)
    chosen = [one for one in chosen if not exact or "cookie" not in one[0]]
    if number == 1 and dice.random() < 0.8:
        chosen = [("dirty_created", 20), ("component_started", 24), ("answering", 24)]
    for name, at in chosen:
        late = dice.choice((0, 0, 0, 0, 12, -12, 25)) if orderly else dice.randint(-20, 20)
        late = 0 if exact else late
        rows.append(_event(dice, bookie, number, name, min(max(began + at + late, began), began + SPAN - 3)))
    if dice.random() < 0.03:
        rows.append(server(bookie, number, "preboot_error", began + 15, began + 15))
    read = dice.random() < 0.98
    return rows + [server(bookie, number, "log_read", began + SPAN - 3, began + SPAN - 3, lines=9)] * read


def _event(dice: random.Random, bookie: int, number: int, name: str, at: int) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    if name in OF_LEDGERS:
        detail = {"ledgerId": dice.choice((1, 2))}
    if name == "full_check_end":
        detail = {"ledgersToRetry": dice.choice((0, 0, 0, 1))}
    return server(bookie, number, name, at - dice.choice((0, 0, 2)), at, **detail)


def _versions(dice: random.Random, ledger: int) -> list[Fact]:
    names, at = ["b1", "b2", "b3"], dice.choice((0, 0, 0, 60))
    found = []
    for number, state in enumerate(dice.choice(([1], [1], [1, 2], [1, 2, 3], [1, 3], [1, 2, 0]))):
        if dice.random() < 0.2:
            names = dice.choice((["b1", "b3", "b4"], ["b3", "b4", "b5"]))
        late = dice.choice((at, at + 5, NEVER if number else at + 2))
        columns = {"ledger": ledger, "last_entry": 2 if state == 3 else -2, "earliest_ns": at}
        found.append(metadata(number, state, latest_ns=late, fragments={0: names}, **columns))
        at += dice.choice((5, 40, 90))
    return found if dice.random() < 0.95 else found[1:]


def _answer(dice: random.Random) -> Fact:
    kind = dice.choice((Message.READ, Message.READ, Message.RECOVERY_READ, Message.ADD))
    status = dice.choice((Status.ENOENTRY, Status.ENOLEDGER, Status.EOK, Status.EUNKNOWNLEDGERSTATE))
    at = dice.randint(1, 4 * SPAN)
    columns = {"ledger": dice.choice((1, 2)), "entry": dice.choice((-1, 0, 1, 2)), "status": status}
    return said(
        kind,
        dice.choice((1, 2)),
        at,
        source=dice.choice((READER, OBSERVER)),
        boot=dice.choice((at // SPAN + 1, at // SPAN + 1, 0)),
        **columns,
    )


def _faults(dice: random.Random) -> tuple[dict[str, Any], ...]:
    if dice.random() < 0.7:
        return ()
    target = dice.choice(("b1", "b2", "somewhere"))
    injected = dice.choice((NEVER, *range(0, 4 * SPAN, 20)))
    times = {"injected_ns": injected, "healed_ns": dice.choice((NEVER, injected, injected + 60))}
    return (fault(kind=dice.choice(("wipe", "read_only", "power_loss", "cut")), target=target, **times),)
