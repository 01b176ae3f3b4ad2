"""The findings of ``servers``: one crash (or stop) of b1, and a boot after it that does one wrong thing."""

from __future__ import annotations

from typing import Any

from evidence.codes import Message, Status
from tests.histories.boots import boot, repairer, said, server
from tests.histories.literals import LITERALS, Says
from tests.histories.story import READER, closed, created, recovering

__all__ = ("LITERALS",)
OPEN = created(earliest_ns=2, latest_ns=3)
MENDED = [OPEN, recovering(1, earliest_ns=22, latest_ns=24), closed(2, 2, earliest_ns=25, latest_ns=28)]
CHECK: dict[str, Any] = {
    "unclean_shutdown": 12,
    "preboot_start": 13,
    "mark_limbo": 15,
    "preboot_end": 17,
    "registered": 19,
    "dirty_kept": 19,
    "answering": 20,
}
REPAIR: dict[str, Any] = {
    "full_check_init": 21,
    "full_check_start": 21,
    "ledger_check_and_copy_start": 30,
    "ledger_check_and_copy_end": 32,
    "full_check_end": 33,
    "clear_integcheck_flag": 34,
}
DETAIL: dict[str, dict[str, Any]] = {
    "mark_limbo": {"ledgerId": 1},
    "ledger_check_and_copy_start": {"ledgerId": 1},
    "ledger_check_and_copy_end": {"ledgerId": 1, "entries": 3},
    "full_check_end": {"ledgersToRetry": 0},
}
When = int | tuple[int, int]


def boot_with(
    number: int, events: dict[str, When], *, read: bool = True, **ends: int
) -> list[dict[str, Any]]:
    """One boot of b1 with its log: events with their times, or (earliest, latest)."""
    rows = [*boot(1, number, **ends)]
    for name, when in events.items():
        times = when if isinstance(when, tuple) else (when, when)
        rows.append(server(1, number, name, *times, **DETAIL.get(name, {})))
    end = ends.get("killed") or ends.get("stopped") or 999
    return rows + [server(1, number, "log_read", end, end)] * read


UP = {"dirty_created": 4, "component_started": 5, "answering": 5}
CRASHED, STOPPED = boot_with(1, UP, began=1, killed=10), boot_with(1, UP, began=1, stopped=10)


def second(
    events: dict[str, When], first: Any = None, *, killed: int = 0, stopped: int = 0, **changed: When | None
) -> tuple[Any, ...]:
    """The boot before and this one; ``changed`` moves events to other times, or takes them away."""
    times = {name: at for name, at in {**events, **changed}.items() if at is not None}
    return (*(first or CRASHED), *boot_with(2, times, began=11, killed=killed, stopped=stopped))


guarded = Says({"wire": True, "guarded": frozenset({"b1"})})
GOOD = second(CHECK)
guarded(
    "servers/unclean_unseen",
    OPEN,
    servers=second(UP),
    guarded=frozenset(),
    lawful_servers=second(UP, STOPPED),
)
guarded("servers/clean_seen_unclean", OPEN, servers=second(CHECK, STOPPED), lawful_servers=GOOD)
UNCHECKED = {"preboot_start": None, "mark_limbo": None, "preboot_end": None}
guarded("servers/unchecked", OPEN, servers=second(CHECK, **UNCHECKED), lawful_servers=GOOD)
guarded(
    "servers/available_unchecked",
    OPEN,
    servers=second(CHECK, mark_limbo=21, preboot_end=22),
    lawful_servers=GOOD,
)
EARLY = said(Message.READ, 1, 20, entry=3, status=Status.ENOENTRY, boot=2, source=READER)
MARKED_LATE = {"mark_limbo": 30, "preboot_end": 31, "registered": 40, "answering": 40}
guarded(
    "servers/denied_unchecked",
    [OPEN, EARLY],
    servers=second(CHECK, **MARKED_LATE),
    beside={"answers/limbo_not_shown"},
    lawful=OPEN,
)
guarded("servers/unmarked", OPEN, servers=second(CHECK, mark_limbo=None), lawful_servers=GOOD)
WHOLE_BOOT = second(CHECK | REPAIR)
guarded(
    "servers/cleared_unrecovered",
    MENDED,
    servers=second(CHECK | REPAIR, ledger_check_and_copy_start=24),
    lawful_servers=WHOLE_BOOT,
)
guarded(
    "servers/flag_cleared_early",
    MENDED,
    servers=second(CHECK | REPAIR, full_check_end=35),
    lawful_servers=WHOLE_BOOT,
)
REPAIRED = said(Message.READ, 1, 40, entry=2, status=Status.ENOENTRY, boot=2, source=READER)
guarded(
    "servers/denied_repaired",
    [MENDED, REPAIRED],
    servers=WHOLE_BOOT,
    lawful=[MENDED, said(Message.READ, 1, 40, entry=3, status=Status.ENOENTRY, boot=2, source=READER)],
)
guarded(
    "servers/full_check_early",
    MENDED,
    servers=second(CHECK | REPAIR, full_check_init=14),
    lawful_servers=WHOLE_BOOT,
)
STAMPED = {**CHECK, "cookie_mismatch": 12, "cookie_stamped": 18}
del STAMPED["unclean_shutdown"]
guarded(
    "servers/stamped_unchecked",
    OPEN,
    servers=second(STAMPED, STOPPED, cookie_stamped=14),
    lawful_servers=second(STAMPED, STOPPED),
)
AGAIN = {name: at + 40 for name, at in CHECK.items()}
CRASHED_AGAIN = (*CRASHED, *boot_with(2, CHECK, began=11, killed=50))
LATER = said(Message.READ, 1, 70, entry=3, status=Status.ENOENTRY, boot=3, source=READER)
guarded(
    "servers/protection_lost",
    [OPEN, LATER],
    servers=(*CRASHED_AGAIN, *boot_with(3, AGAIN, began=51)),
    beside={"answers/limbo_not_shown", "servers/cleared_unrecovered"},
    lawful=OPEN,
)
guarded(
    "servers/repair_ended",
    OPEN,
    servers=repairer(("worker_died", 8), ended=10),
    lawful_servers=repairer(("session_lost", 8), ended=10),
)
