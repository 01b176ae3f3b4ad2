"""Conditions on what bookies answer, and whether they check and repair their entries.

Limbo is recognised by the bookie's own answer to a plain read of an entry that cannot exist (507: limbo).
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.waiting import wait_until
from harness.recording.context import RunContext
from harness.registry import condition
from plans.grammar.names import BookieName, LedgerName
from plans.grammar.steps import Condition, Quiet
from protocol.errors import NotReadyError
from protocol.wire import EOK, NO_ENTRY, NO_LEDGER, UNKNOWN_STATE

_NO_SUCH_ENTRY_ID = 2**40
_MEANING = {
    None: "no answer",
    EOK: "has the entry",
    NO_LEDGER: "no such ledger",
    NO_ENTRY: "no such entry",
    UNKNOWN_STATE: "limbo",
}
_PREBOOT_CHECK = {"preboot_start": True, "preboot_end": False, "preboot_error": False}
_CHECK = {"preboot_start": True, "full_check_init": True, "clear_integcheck_flag": False}
"""The log events that show whether BP-46's check of a boot is in progress; the last one counts.

A bookie does not answer that question (its events are declared in ``datainteg/Events.java``).
"""


class _OfLedger(Condition):
    target: BookieName
    ledger: LedgerName


class Limbo(_OfLedger):
    """The bookie answers "unknown" (status 507) for the ledger."""


@condition(Limbo)
def limbo(context: RunContext, wanted: Limbo) -> tuple[bool, str]:
    status, answer = _answer(context, wanted)
    return status == UNKNOWN_STATE, answer


class NotLimbo(_OfLedger):
    """The bookie answers, and not with status 507, for the ledger."""


@condition(NotLimbo)
def not_limbo(context: RunContext, wanted: NotLimbo) -> tuple[bool, str]:
    status, answer = _answer(context, wanted)
    return status not in (None, UNKNOWN_STATE), answer


class Forgotten(_OfLedger):
    """The bookie answers "no such ledger" (status 402), or has collected it as garbage.

    A deleted ledger is forgotten once its garbage was collected, every ``gcWaitTime``.
    """


@condition(Forgotten)
def forgotten(context: RunContext, wanted: Forgotten) -> tuple[bool, str]:
    status, answer = _answer(context, wanted)
    return status == NO_LEDGER, answer


def _answer(context: RunContext, wanted: _OfLedger) -> tuple[int | None, str]:
    status = context.cluster.answer(wanted.target, context.ledgers.id(wanted.ledger), _NO_SUCH_ENTRY_ID)
    return status, f"{wanted.target} {_answer_text(status)}"


@condition(Quiet)
def quiet(context: RunContext, wanted: Quiet) -> tuple[bool, str]:  # noqa: ARG001  # takes no parameters
    present = context.cluster.metadata.registered()
    for name in context.cluster.bookies:
        if name not in present:
            return False, f"{name} is not registered"
        for ledger in context.cluster.metadata.ledgers() or [0]:
            status = context.cluster.answer(name, ledger, _NO_SUCH_ENTRY_ID)
            if status in (None, UNKNOWN_STATE):
                return False, f"{name} {_answer_text(status)} for ledger {ledger}"
        if repairing(context, name):
            return False, f"{name} is checking and repairing its entries"
    return (
        True,
        f"all {len(context.cluster.bookies)} bookies registered, answering, none in limbo or repairing",
    )


def _answer_text(status: int | None) -> str:
    return f"answers {_MEANING.get(status, status)}" if status is not None else "does not answer"


def repairing(context: RunContext, bookie: str) -> bool:
    """Whether the boot has begun to check and repair its entries and has not finished."""
    return _goes_on(context, bookie, _CHECK)


def await_preboot_check(context: RunContext, bookie: str, timeout_s: float) -> None:
    """Wait until the boot's preboot check, if any, has ended, well or with an error.

    A bookie does not wait for it (docs/findings/preboot-not-awaited.md). ``NotReadyError`` after the time.
    """

    def ended() -> tuple[bool, str]:
        context.assert_alive()
        return not _goes_on(context, bookie, _PREBOOT_CHECK), f"{bookie} marks its ledgers"

    try:
        wait_until(ended, timeout_s, f"the end of {bookie}'s preboot check")
    except NotReadyError as error:
        raise NotReadyError(
            str(error), remedy="`timeout_s` of the start says how long, `checked: false` continues without it"
        ) from error


def _goes_on(context: RunContext, bookie: str, tells: Mapping[str, bool]) -> bool:
    return next((tells[one.event] for one in reversed(context.boot_log(bookie)) if one.event in tells), False)
