"""BP-46's order of events at one boot, and its rules on ledgers in limbo: a rule a function.

Each yields one result for every boot (or ledger of a boot) of which it could have found a violation. A
violation that rests on order needs precedence of intervals. Sources: BP-46
("Detecting Data Loss On Boot", "Protection Mechanism", "The Full Boot-Up Sequence"); what each step's
line in a log means, ``DataIntegrityCheckImpl`` and ``BookieServer#start``, 4.15 to 4.18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from checkers.servers.evidence import DIRTY, LoggedBoot
from evidence.codes import NEVER
from protocol.wording import counted


@dataclass(frozen=True, slots=True)
class Broken:
    """A violation of one rule, by a boot or (if not -1) about one ledger: what is said of it, its proof."""

    text: str
    proof: tuple[str, ...]
    ledger: int = -1


Result = bool | Broken
"""True where the rule applied and was kept."""


def broken(boot: LoggedBoot, what: str, *proof: str, ledger: int = -1) -> Broken:
    """``b1 boot 2`` did something wrong, to one ledger if it is given."""
    about = f"{boot.run.ledger_text(ledger)}: " if ledger >= 0 else ""
    return Broken(f"{about}{boot.name} {what}", proof, ledger)


def unclean_unseen(boot: LoggedBoot) -> Iterator[Result]:
    """A boot after an unclean end, of a release that sets markers, that did not see it."""
    crashed = boot.crashed
    if crashed is None or boot.altered_since(crashed) or not boot.has(*DIRTY):
        return
    yield boot.has("unclean_shutdown") or broken(
        boot,
        f"did not see that {crashed.name} had ended uncleanly",
        crashed.did(crashed.all(*DIRTY)[-1], "set its marker"),
        crashed.end,
        f"the log of {boot.name} shows no unclean shutdown",
    )


def clean_seen_unclean(boot: LoggedBoot) -> Iterator[Result]:
    """A boot that saw an unclean shutdown, after a boot that was running and was shut down gracefully."""
    last = boot.before[-1] if boot.before else None
    if last is None or boot.altered_since(last) or not boot.has(*DIRTY, "unclean_shutdown"):
        return
    if last.record.unclean or last.record.ended_ns == NEVER or not last.has("component_started"):
        return
    seen = boot.first("unclean_shutdown")
    yield seen is None or broken(
        boot,
        f"took the clean shutdown of {last.name} for an unclean one",
        last.end,
        boot.did(seen, "saw an unclean shutdown"),
    )


def unchecked(boot: LoggedBoot) -> Iterator[Result]:
    """A guarded bookie that had reason to, and was available without a preboot check that ended well."""
    if not boot.suspects or boot.available_ns == NEVER:
        return
    failed = boot.first("preboot_error")
    well = boot.has("preboot_start") and (failed is None or boot.has("preboot_end"))
    yield well or broken(
        boot,
        "became available without a preboot check",
        boot.suspicion,
        boot.did(failed, "gave up its preboot check") if failed else "it ran no preboot check",
        _available(boot),
    )


def available_unchecked(boot: LoggedBoot) -> Iterator[Result]:
    """Available while the preboot check went on."""
    if not boot.suspects or boot.available_ns == NEVER or not boot.has("preboot_start"):
        return
    late = [ledger for ledger, mark in boot.marks.items() if mark.earliest_ns > boot.available_ns]
    yield boot.available_ns >= boot.checked_ns or broken(
        boot,
        f"was available before its preboot check had marked {counted(len(late), 'ledger')}",
        boot.suspicion,
        _available(boot),
        *(_marked(boot, ledger) for ledger in late[:1]),
    )


def denied_unchecked(boot: LoggedBoot) -> Iterator[Result]:
    """An explicit negative on the wire while the preboot check went on."""
    if not boot.suspects or not boot.has("preboot_start"):
        return
    denials = boot.answers("denied")
    early = {ledger: one for ledger, one in denials.items() if one.received_ns < boot.checked_ns}
    if denials and not early:
        yield True
    for ledger, answer in early.items():
        last = max(boot.checking, key=lambda event: event.earliest_ns)
        still = "still marked a ledger" if last.ledger >= 0 else "began its preboot check"
        yield broken(
            boot,
            "denied an entry before its preboot check ended",
            boot.suspicion,
            boot.denied(ledger, answer),
            f"{boot.name} {still} not before {boot.run.time_text(last.earliest_ns)}",
            *([_marked(boot, ledger)] if ledger in boot.marks else []),
            ledger=ledger,
        )


def flag_cleared_early(boot: LoggedBoot) -> Iterator[Result]:
    """The flag was cleared although no full check had ended without a ledger to retry."""
    cleared = boot.first("clear_integcheck_flag")
    if cleared is None:
        return
    ends = [end for end in boot.all("full_check_end") if end.earliest_ns <= cleared.latest_ns]
    last = "no full check had ended"
    if ends:
        left = counted(int(ends[-1].detail.get("ledgersToRetry", -1)), "ledger")
        last = boot.did(ends[-1], f"ended a full check with {left} to retry")
    yield any(end.detail.get("ledgersToRetry") == 0 for end in ends) or broken(
        boot, "cleared the flag of its integrity check too early", last, boot.did(cleared, "cleared the flag")
    )


def full_check_early(boot: LoggedBoot) -> Iterator[Result]:
    """A full check began while the preboot check went on."""
    begun = boot.first("full_check_init", "full_check_start")
    if begun is None or not boot.has("preboot_start"):
        return
    yield begun.latest_ns >= boot.checked_ns or broken(
        boot,
        "began its full check before its preboot check had ended",
        boot.did(begun, "began a full check"),
        _checking(boot),
    )


def stamped_unchecked(boot: LoggedBoot) -> Iterator[Result]:
    """An invalid cookie was replaced before the preboot check had ended."""
    stamped, mismatch, ended = map(boot.first, ("cookie_stamped", "cookie_mismatch", "preboot_end"))
    if stamped is None or mismatch is None:
        return
    yield (ended is not None and stamped.latest_ns >= boot.checked_ns) or broken(
        boot,
        "stamped its cookie before its preboot check had ended",
        boot.did(mismatch, "found a cookie that does not match"),
        boot.did(stamped, "had stamped the cookie in ZooKeeper"),
        _checking(boot) if ended else "its preboot check never ended",
    )


def unmarked(boot: LoggedBoot) -> Iterator[Result]:
    """A ledger that was open and the bookie's own all through the preboot check, and got no mark."""
    started, ended = boot.first("preboot_start"), boot.first("preboot_end")
    if started is None or ended is None or not boot.guarded:
        return
    span, when = (started.earliest_ns, ended.latest_ns), boot.run.time_text
    for ledger in boot.ledgers.versions:
        due = boot.ledgers.open_all_the_while(ledger, *span)
        if not due or not all(boot.bookie in names for names in boot.ledgers.last_ensembles(ledger, *span)):
            continue
        name = boot.run.ledger_text(ledger)
        yield ledger in boot.marks or broken(
            boot,
            "did not put it in limbo",
            f"{name} was not closed and had {boot.bookie} in its last ensemble "
            f"from before {when(span[0])} until after {when(span[1])}",
            boot.did(started, "began its preboot check"),
            boot.did(ended, "ended it"),
            f"no line of its log marks {name}",
            ledger=ledger,
        )


def cleared_unrecovered(boot: LoggedBoot) -> Iterator[Result]:
    """A marked ledger was treated as out of limbo before any close of it can have been in force."""
    denials, copied = boot.answers("denied"), boot.by_ledger("ledger_check_and_copy_start")
    for ledger, mark in boot.marks.items():
        signs = {}
        copy, denial = copied.get(ledger), denials.get(ledger)
        if copy and copy.earliest_ns > mark.latest_ns:
            signs[boot.did(copy, "began to check its entries, out of limbo")] = copy.latest_ns
        if denial and denial.asked_ns > mark.latest_ns:
            signs[boot.denied(ledger, denial)] = denial.received_ns
        early = [sign for sign, at_ns in signs.items() if boot.ledgers.surely_open_at(ledger, at_ns)]
        if signs:
            yield not early or broken(
                boot,
                "ended its limbo before it was recovered",
                boot.did(mark, f"marked {boot.run.ledger_text(ledger)}"),
                *early,
                _open(boot, ledger),
                ledger=ledger,
            )


def protection_lost(boot: LoggedBoot) -> Iterator[Result]:
    """After a crash in limbo the next boot denied an entry of a ledger that was still to be in it."""
    last = boot.before[-1] if boot.before else None
    if last is None or not last.record.unclean or boot.altered_since(last) or not boot.guarded:
        return
    denials, open_at = boot.answers("denied"), boot.ledgers.surely_open_at
    for ledger, mark in last.marks.items():
        if boot.available_ns == NEVER or not open_at(ledger, boot.record.started_ns):
            continue
        denial = denials.get(ledger)
        if denial is None or not open_at(ledger, denial.received_ns):
            yield True
            continue
        ensembles = boot.ledgers.last_ensembles(ledger, mark.latest_ns, denial.received_ns)
        if all(boot.bookie in names for names in ensembles):
            yield broken(
                boot,
                f"denied what {last.name} had put in limbo",
                last.did(mark, f"marked {boot.run.ledger_text(ledger)}"),
                last.end,
                boot.denied(ledger, denial),
                _open(boot, ledger),
                ledger=ledger,
            )


def denied_repaired(boot: LoggedBoot) -> Iterator[Result]:
    """After its full check an entry denied that it should have copied: in limbo before, or closed."""
    cleared, began = boot.first("clear_integcheck_flag"), boot.first("preboot_start")
    if cleared is None:
        return
    closed_at = boot.ledgers.surely_closed_at
    for ledger, answer in boot.answers("repaired").items():
        due = ledger in boot.marks or (began is not None and closed_at(ledger, began.earliest_ns))
        same = not boot.altered(cleared.earliest_ns, answer.received_ns)
        if due and same and closed_at(ledger, cleared.latest_ns) and closed_at(ledger, answer.received_ns):
            yield broken(
                boot,
                "denied an entry that its full check should have copied",
                *([_marked(boot, ledger)] if ledger in boot.marks else []),
                boot.did(cleared, "ended its full check and cleared the flag"),
                boot.denied(ledger, answer),
                f"{boot.run.ledger_text(ledger)} was CLOSED by then, and its metadata give the bookie "
                "the entry",
                ledger=ledger,
            )


def _available(boot: LoggedBoot) -> str:
    return f"{boot.name} was available by {boot.run.time_text(boot.available_ns)}"


def _checking(boot: LoggedBoot) -> str:
    return f"its preboot check went on until {boot.run.time_text(boot.checked_ns)} at least"


def _marked(boot: LoggedBoot, ledger: int) -> str:
    at_ns = boot.marks[ledger].earliest_ns
    return f"{boot.name} marked {boot.run.ledger_text(ledger)} not before {boot.run.time_text(at_ns)}"


def _open(boot: LoggedBoot, ledger: int) -> str:
    return f"no version of {boot.run.ledger_text(ledger)} was CLOSED by then"


_RULES: tuple[Callable[[LoggedBoot], Iterator[Result]], ...] = (
    *(unclean_unseen, clean_seen_unclean, unchecked, available_unchecked, denied_unchecked),
    *(flag_cleared_early, full_check_early, stamped_unchecked),
    *(unmarked, cleared_unrecovered, protection_lost, denied_repaired),
)
RULES: Mapping[str, Callable[[LoggedBoot], Iterator[Result]]] = {rule.__name__: rule for rule in _RULES}
"""By the kind of what each finds."""
