"""BP-46's order of events at a boot: steps left out, steps at other times, words said too early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from checkers.judging.contract import RunFacts
from evidence.codes import Message, Status
from tests.histories.boots import boot as boot_rows
from tests.histories.boots import repairer, said, server
from tests.histories.mutations.registry import Sign, operator
from tests.histories.story import READER, Fact, closed, created, recovering, run_facts

STEPS = (
    ("unclean_shutdown", 112),
    ("preboot_start", 113),
    ("mark_limbo", 115),
    ("preboot_end", 117),
    ("registered", 119),
    ("dirty_kept", 121),
    ("answering", 122),
    ("full_check_init", 124),
    ("ledger_check_and_copy_start", 150),
    ("full_check_end", 154),
    ("clear_integcheck_flag", 156),
    ("log_read", 190),
)
DETAIL = {"mark_limbo": {"ledgerId": 1}, "ledger_check_and_copy_start": {"ledgerId": 1}}
DETAIL["full_check_end"] = {"ledgersToRetry": 0}
OPEN = created(earliest_ns=2, latest_ns=3)
HISTORY = [
    OPEN,
    recovering(1, earliest_ns=126, latest_ns=128),
    closed(2, 2, earliest_ns=130, latest_ns=133),
    said(Message.READ, 1, 160, entry=3, status=Status.ENOENTRY, boot=2, source=READER),
]
BREAKS = {
    # What is taken away, and what must be found then; nothing where no rule forbids it.
    ("unclean_shutdown",): {"unclean_unseen"},
    ("preboot_start",): {"unchecked"},
    ("mark_limbo",): {"unmarked"},
    ("preboot_end",): set(),
    ("full_check_end",): {"flag_cleared_early"},
    ("clear_integcheck_flag",): set(),
    ("full_check_init", "ledger_check_and_copy_start"): set(),
    ("registered", "answering", "preboot_start"): set(),
}
MOVES = {
    ("mark_limbo", 120): {"available_unchecked"},
    ("mark_limbo", 126): {"available_unchecked", "full_check_early"},
    ("mark_limbo", 119): set(),
    ("ledger_check_and_copy_start", 129): {"cleared_unrecovered"},
    ("ledger_check_and_copy_start", 130): set(),
    ("full_check_init", 114): {"full_check_early"},
    ("full_check_end", 157): {"flag_cleared_early"},
    ("full_check_end", 156): set(),
    ("registered", 114): {"available_unchecked"},
    ("preboot_end", 180): set(),
}
OURS = ("servers",)
OF_LEDGERS = ("unmarked", "cleared_unrecovered", "denied_unchecked", "protection_lost", "denied_repaired")


@dataclass(frozen=True)
class Boots:
    """b1 was killed, and its second boot does what it must, in order."""

    history: list[Fact]
    run: RunFacts


def run_of(steps: tuple[tuple[str, int], ...] = STEPS, *, ends: str = "killed") -> RunFacts:
    """Boot 1 from 1 ns to 100, boot 2 from 110 on with its steps; b1 is protected."""
    rows = [*boot_rows(1, 1, began=1, **{ends: 100}), *boot_rows(1, 2, began=110)]
    up = (("dirty_created", 5), ("component_started", 6), ("log_read", 90))
    rows += [server(1, 1, name, at, at) for name, at in up]
    rows += [server(1, 2, name, at, at, **DETAIL.get(name, {})) for name, at in steps]
    return run_facts(servers=tuple(rows), guarded=frozenset({"b1"}), wire=True)


def lawful_boot(dice: Random) -> Boots:  # by contract
    return Boots(HISTORY, run_of())


def ours(kinds: set[str]) -> set[Sign]:
    return {Sign(f"servers/{kind}", ledger=1 if kind in OF_LEDGERS else -1) for kind in kinds}


@operator("the document asks for it", of=lawful_boot, only=OURS)
def boot_step_removed(case, dice):
    """A step of a boot after a crash is missing."""
    gone = dice.choice(list(BREAKS))
    return case.history, ours(BREAKS[gone]), run_of(tuple(one for one in STEPS if one[0] not in gone))


@operator("the document fixes its place", of=lawful_boot, only=OURS)
def boot_step_moved(case, dice):
    """A step of a boot after a crash comes at another time."""
    (name, at), must = dice.choice(list(MOVES.items()))
    moved = tuple((one, at if one == name else when) for one, when in STEPS)
    return case.history, ours(must), run_of(moved)


@operator("the bookie is protected", of=lawful_boot, only=OURS)
def preboot_check_removed(case, dice):
    """The preboot check never runs; of a bookie without protection none is due."""
    protected = dice.random() < 0.6
    run = run_of(tuple(one for one in STEPS if one[0] not in ("preboot_start", "mark_limbo")))
    names = run.guarded if protected else frozenset()
    return case.history, ours({"unchecked"}) if protected else set(), replace(run, guarded=names)


@operator("always", of=lawful_boot, only=OURS)
def previous_boot_shut_down_cleanly(case, dice):  # by contract
    """The boot before was shut down cleanly, and yet an unclean shutdown is seen."""
    return case.history, ours({"clean_seen_unclean"}), run_of(ends="stopped")


@operator(
    "it came before the marks; after them, before the close, it lifts the limbo", of=lawful_boot, only=OURS
)
def bookie_in_limbo_denies_early(case, dice):
    """A bookie in limbo denies an entry: before the marks, before the close, or after it."""
    at, must = dice.choice([(110, {"denied_unchecked"}), (127, {"cleared_unrecovered"}), (140, set())])
    denial = said(Message.READ, 1, at, entry=3, status=Status.ENOENTRY, boot=2, source=READER)
    return [*case.history[:3], denial], ours(must)


@operator("the check had ended, and the ledger's end covers the entry", of=lawful_boot, only=OURS)
def bookie_denies_around_full_check(case, dice):
    """A bookie denies an entry: before its full check has ended or after, within the ledger or behind it."""
    at, entry = dice.choice([140, 200]), dice.choice([2, 3])
    answer = dice.choice([Status.ENOENTRY, Status.ENOLEDGER, Status.EOK])
    said_so = said(Message.READ, 1, at, entry=entry, status=answer, boot=2, source=READER)
    illegal = at == 200 and entry == 2 and answer is not Status.EOK
    return [*case.history[:3], said_so], ours({"denied_repaired"}) if illegal else set()


@operator("the marks came later, or the check never ended", of=lawful_boot, only=OURS)
def invalid_cookie_stamped(case, dice):
    """An invalid cookie is stamped again: after the check, before the marks, or without an end of it."""
    at, ends = dice.choice([(118, True), (114, True), (118, False)])
    steps = [one for one in STEPS if ends or one[0] != "preboot_end"]
    run = run_of((*steps, ("cookie_mismatch", 112), ("cookie_stamped", at)))
    return case.history, ours({"stamped_unchecked"}) if at == 114 or not ends else set(), run


@operator("the ledger was still open", of=lawful_boot, only=OURS)
def crash_in_limbo(case, dice):
    """b1 is killed in limbo, and its third boot denies an entry: of an open ledger, or of a closed one."""
    open_still = dice.random() < 0.6
    again = [server(1, 3, name, at + 110, at + 110, **DETAIL.get(name, {})) for name, at in STEPS[:7]]
    steps = tuple(one for one in STEPS if one[1] < 124 or one[0] == "log_read")
    second = [row for row in run_of(steps).servers if (row["boot"], row["event"]) != (2, "started")]
    boots = [
        *boot_rows(1, 2, began=110, killed=200),
        *boot_rows(1, 3, began=210),
        server(1, 3, "log_read", 300, 300),
    ]
    run = replace(case.run, servers=(*second, *boots, *again))
    denial = said(Message.READ, 1, 250, entry=3, status=Status.ENOENTRY, boot=3, source=READER)
    must = {"protection_lost", "cleared_unrecovered"} if open_still else set()
    return [*([OPEN] if open_still else case.history[:3]), denial], ours(must), run


@operator("the log names no lost session", of=lawful_boot, only=OURS)
def autorecovery_ends(case, dice):
    """A process of autorecovery ends on its own: with its session, with its worker, or for no reason."""
    event, illegal = dice.choice([("worker_died", True), ("session_lost", False), ("audit_ended", True)])
    run = replace(case.run, servers=(*case.run.servers, *repairer((event, 80), ended=90)))
    return case.history, ours({"repair_ended"}) if illegal else set(), run
