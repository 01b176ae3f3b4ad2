"""BP-46's order of events at one boot, and its rules on ledgers in limbo: a rule a function.

Each yields one result for every boot (or ledger of a boot) of which it could have found a violation: the
finding, or ``KEPT``. A violation that rests on order needs precedence of intervals. Sources: BP-46
("Detecting Data Loss On Boot", "Protection Mechanism", "The Full Boot-Up Sequence"); what each step's
line in a log means, ``DataIntegrityCheckImpl`` and ``BookieServer#start``, 4.15 to 4.18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from checkers.facts.wording import counted
from checkers.servers.evidence import Evidence, LoggedBoot
from evidence.codes import NEVER
from evidence.findings import Finding

PROPERTY = "servers"
Result = Finding | None
KEPT: Result = None
"""The rule applied to the boot and was kept."""


def _finding(kind: str, text: str, proof: list[str], ledger: int = -1) -> Finding:
    return Finding(property=PROPERTY, kind=kind, ledger=ledger, text=text, proof=tuple(proof))


def unclean_unseen(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A boot after an unclean end, of a release that sets markers, that did not see it."""
    crashed = boot.crashed
    if crashed is None or boot.altered_since(crashed) or not boot.has("dirty_created", "dirty_kept"):
        return
    if boot.has("unclean_shutdown"):
        yield KEPT
        return
    marker = crashed.all("dirty_created", "dirty_kept")[-1]
    yield _finding(
        "unclean_unseen",
        f"{boot.name} did not see that {crashed.name} had ended uncleanly",
        [
            evidence.did(crashed, marker, "set its marker"),
            f"{crashed.name} {crashed.record.how} at {evidence.at(crashed.record.ended_ns)}",
            f"the log of {boot.name} shows no unclean shutdown",
        ],
    )


def clean_seen_unclean(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A boot that saw an unclean shutdown, after a boot that was running and was shut down gracefully."""
    if not boot.before or boot.altered_since(boot.before[-1]):
        return
    last = boot.before[-1]
    reached = boot.has("dirty_created", "dirty_kept", "unclean_shutdown")
    if (
        last.record.unclean
        or last.record.ended_ns == NEVER
        or not last.has("component_started")
        or not reached
    ):
        return
    seen = boot.first("unclean_shutdown")
    if seen is None:
        yield KEPT
        return
    yield _finding(
        "clean_seen_unclean",
        f"{boot.name} took the clean shutdown of {last.name} for an unclean one",
        [
            f"{last.name} {last.record.how} at {evidence.at(last.record.ended_ns)}",
            evidence.did(boot, seen, "saw an unclean shutdown"),
        ],
    )


def unchecked(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A guarded bookie that had reason to, and was available without a preboot check that ended well."""
    if not _suspects(evidence, boot) or boot.available_ns == NEVER:
        return
    started, failed = boot.first("preboot_start"), boot.first("preboot_error")
    if started and not (failed and not boot.has("preboot_end")):
        yield KEPT
        return
    why = evidence.did(boot, failed, "gave up its preboot check") if failed else "it ran no preboot check"
    yield _finding(
        "unchecked",
        f"{boot.name} became available without a preboot check",
        [evidence.crash(boot), why, f"{boot.name} was available by {evidence.at(boot.available_ns)}"],
    )


def available_unchecked(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """Available while the preboot check went on."""
    if not _suspects(evidence, boot) or boot.available_ns == NEVER or not boot.has("preboot_start"):
        return
    if boot.available_ns >= boot.checked_ns:
        yield KEPT
        return
    late = [ledger for ledger, mark in boot.marks.items() if mark.earliest_ns > boot.available_ns]
    yield _finding(
        "available_unchecked",
        f"{boot.name} was available before its preboot check had marked {counted(len(late), 'ledger')}",
        [
            evidence.crash(boot),
            f"{boot.name} was available by {evidence.at(boot.available_ns)}",
            *(_mark(evidence, boot, ledger) for ledger in late[:1]),
        ],
    )


def denied_unchecked(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """An explicit negative on the wire while the preboot check went on."""
    if not _suspects(evidence, boot) or not boot.has("preboot_start"):
        return
    denials = evidence.answers("denied", boot)
    early = [(ledger, one) for ledger, one in denials.items() if one.received_ns < boot.checked_ns]
    if not early and denials:
        yield KEPT
    for ledger, answer in early:
        last = max(boot.all("preboot_start", "mark_limbo"), key=lambda event: event.earliest_ns)
        still = "still marked a ledger" if last.ledger >= 0 else "began its preboot check"
        yield _finding(
            "denied_unchecked",
            f"{evidence.ledger_name(ledger)}: {boot.name} denied an entry before its preboot check ended",
            [
                evidence.crash(boot),
                evidence.denied(boot, ledger, answer),
                f"{boot.name} {still} not before {evidence.at(last.earliest_ns)}",
                *([_mark(evidence, boot, ledger)] if ledger in boot.marks else []),
            ],
            ledger,
        )


def flag_cleared_early(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """The flag was cleared although no full check had ended without a ledger to retry."""
    for cleared in boot.all("clear_integcheck_flag")[:1]:
        ends = boot.all("full_check_end")
        good = [end for end in ends if end.detail.get("ledgersToRetry") == 0]
        if any(end.earliest_ns <= cleared.latest_ns for end in good):
            yield KEPT
            continue
        before = [end for end in ends if end.earliest_ns <= cleared.latest_ns]
        last = "no full check had ended"
        if before:
            left = int(before[-1].detail.get("ledgersToRetry", -1))
            last = evidence.did(
                boot, before[-1], f"ended a full check with {counted(left, 'ledger')} to retry"
            )
        yield _finding(
            "flag_cleared_early",
            f"{boot.name} cleared the flag of its integrity check too early",
            [last, evidence.did(boot, cleared, "cleared the flag")],
        )


def full_check_early(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A full check began while the preboot check went on."""
    begun = boot.first("full_check_init", "full_check_start")
    if begun is None or not boot.has("preboot_start"):
        return
    if begun.latest_ns >= boot.checked_ns:
        yield KEPT
        return
    yield _finding(
        "full_check_early",
        f"{boot.name} began its full check before its preboot check had ended",
        [
            evidence.did(boot, begun, "began a full check"),
            f"its preboot check went on until {evidence.at(boot.checked_ns)} at least",
        ],
    )


def stamped_unchecked(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """An invalid cookie was replaced before the preboot check had ended."""
    stamped = boot.first("cookie_stamped")
    mismatch = boot.first("cookie_mismatch")
    if stamped is None or mismatch is None:
        return
    if boot.has("preboot_end") and stamped.latest_ns >= boot.checked_ns:
        yield KEPT
        return
    done = f"its preboot check went on until {evidence.at(boot.checked_ns)} at least"
    yield _finding(
        "stamped_unchecked",
        f"{boot.name} stamped its cookie before its preboot check had ended",
        [
            evidence.did(boot, mismatch, "found a cookie that does not match"),
            evidence.did(boot, stamped, "had stamped the cookie in ZooKeeper"),
            done if boot.has("preboot_end") else "its preboot check never ended",
        ],
    )


def unmarked(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A ledger that was open and the bookie's own all through the preboot check, and got no mark."""
    started, ended = boot.first("preboot_start"), boot.first("preboot_end")
    if started is None or ended is None or not evidence.guarded(boot):
        return
    name = evidence.run.bookie_name(boot.record.bookie)
    span = started.earliest_ns, ended.latest_ns
    for ledger in evidence.ledgers.known():
        due = evidence.ledgers.open_all_the_while(ledger, *span)
        if not due or not evidence.ledgers.mine_all_the_while(ledger, name, *span):
            continue
        if ledger in boot.marks:
            yield KEPT
            continue
        yield _finding(
            "unmarked",
            f"{evidence.ledger_name(ledger)}: {boot.name} did not put it in limbo",
            [
                f"{evidence.ledger_name(ledger)} was not closed and had {name} in its last ensemble "
                f"from before {evidence.at(span[0])} until after {evidence.at(span[1])}",
                evidence.did(boot, started, "began its preboot check"),
                evidence.did(boot, ended, "ended it"),
                f"no line of its log marks {evidence.ledger_name(ledger)}",
            ],
            ledger,
        )


def cleared_unrecovered(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """A marked ledger was treated as out of limbo before any close of it can have been in force."""
    denials = evidence.answers("denied", boot)
    copied = boot.by_ledger("ledger_check_and_copy_start")
    for ledger, mark in boot.marks.items():
        signs = []
        copy, denial = copied.get(ledger), denials.get(ledger)
        if copy and copy.earliest_ns > mark.latest_ns:
            signs.append(
                (copy.latest_ns, evidence.did(boot, copy, "began to check its entries, out of limbo"))
            )
        if denial and denial.asked_ns > mark.latest_ns:
            signs.append((denial.received_ns, evidence.denied(boot, ledger, denial)))
        early = [said for at_ns, said in signs if evidence.ledgers.surely_open_at(ledger, at_ns)]
        if signs and not early:
            yield KEPT
        if early:
            yield _finding(
                "cleared_unrecovered",
                f"{evidence.ledger_name(ledger)}: {boot.name} ended its limbo before it was recovered",
                [
                    evidence.did(boot, mark, f"marked {evidence.ledger_name(ledger)}"),
                    *early,
                    f"no version of {evidence.ledger_name(ledger)} was CLOSED by then",
                ],
                ledger,
            )


def protection_lost(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """After a crash in limbo the next boot denied an entry of a ledger that was still to be in it."""
    last = boot.before[-1] if boot.before else None
    if last is None or not last.record.unclean or boot.altered_since(last) or not evidence.guarded(boot):
        return
    denials = evidence.answers("denied", boot)
    name = evidence.run.bookie_name(boot.record.bookie)
    for ledger, mark in last.marks.items():
        since, until = mark.latest_ns, boot.record.started_ns
        if boot.available_ns == NEVER or not evidence.ledgers.surely_open_at(ledger, until):
            continue
        denial = denials.get(ledger)
        still = denial is not None and evidence.ledgers.surely_open_at(ledger, denial.received_ns)
        if denial is None or not still:
            yield KEPT
            continue
        if not evidence.ledgers.mine_all_the_while(ledger, name, since, denial.received_ns):
            continue
        yield _finding(
            "protection_lost",
            f"{evidence.ledger_name(ledger)}: {boot.name} denied what {last.name} had put in limbo",
            [
                evidence.did(last, mark, f"marked {evidence.ledger_name(ledger)}"),
                f"{last.name} {last.record.how} at {evidence.at(last.record.ended_ns)}",
                evidence.denied(boot, ledger, denial),
                f"no version of {evidence.ledger_name(ledger)} was CLOSED by then",
            ],
            ledger,
        )


def denied_repaired(evidence: Evidence, boot: LoggedBoot) -> Iterator[Result]:
    """After its full check an entry denied that it should have copied: in limbo before, or closed."""
    cleared, began = boot.first("clear_integcheck_flag"), boot.first("preboot_start")
    if cleared is None:
        return
    closed_at = evidence.ledgers.surely_closed_at
    for ledger, answer in evidence.answers("repaired", boot).items():
        due = ledger in boot.marks or (began is not None and closed_at(ledger, began.earliest_ns))
        changed = any(
            first <= answer.received_ns and last >= cleared.earliest_ns for first, last in boot.alterations
        )
        if not due or changed or not closed_at(ledger, cleared.latest_ns):
            continue
        name = evidence.ledger_name(ledger)
        yield _finding(
            "denied_repaired",
            f"{name}: {boot.name} denied an entry that its full check should have copied",
            [
                *([_mark(evidence, boot, ledger)] if ledger in boot.marks else []),
                evidence.did(boot, cleared, "ended its full check and cleared the flag"),
                evidence.denied(boot, ledger, answer),
                f"{name} was CLOSED by then, and its metadata give the bookie the entry",
            ],
            ledger,
        )


def _suspects(evidence: Evidence, boot: LoggedBoot) -> bool:
    return evidence.guarded(boot) and boot.suspicious


def _mark(evidence: Evidence, boot: LoggedBoot, ledger: int) -> str:
    mark = boot.marks[ledger]
    return f"{boot.name} marked {evidence.ledger_name(ledger)} not before {evidence.at(mark.earliest_ns)}"


RULES: Mapping[str, Callable[[Evidence, LoggedBoot], Iterator[Result]]] = {
    "unclean_unseen": unclean_unseen,
    "clean_seen_unclean": clean_seen_unclean,
    "unchecked": unchecked,
    "available_unchecked": available_unchecked,
    "denied_unchecked": denied_unchecked,
    "flag_cleared_early": flag_cleared_early,
    "full_check_early": full_check_early,
    "stamped_unchecked": stamped_unchecked,
    "unmarked": unmarked,
    "cleared_unrecovered": cleared_unrecovered,
    "protection_lost": protection_lost,
    "denied_repaired": denied_repaired,
}
"""By the kind of what each finds."""
