"""The state of BP-46's checks in a bookie's present boot.

A bookie does not answer that question; its log does (the events of ``datainteg/Events.java``).
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.waiting import wait_until
from harness.stage import Stage
from protocol.errors import NotReadyError

_PREBOOT = {"preboot_start": True, "preboot_end": False, "preboot_error": False}
_CHECK = {"preboot_start": True, "full_check_init": True, "clear_integcheck_flag": False}
"""The events that show whether the check is in progress; the last one counts."""


def repairing(stage: Stage, bookie: str) -> bool:
    """Whether the boot has begun to check and repair its entries and has not finished."""
    return _goes_on(stage, bookie, _CHECK)


def await_preboot_check(stage: Stage, bookie: str, timeout_s: float) -> None:
    """Wait until the boot's preboot check, if any, has ended, well or with an error.

    A bookie does not wait for it (docs/findings/preboot-not-awaited.md). ``NotReadyError`` after the time.
    """

    def ended() -> tuple[bool, str]:
        stage.assert_alive()
        return not _goes_on(stage, bookie, _PREBOOT), f"{bookie} marks its ledgers"

    try:
        wait_until(ended, timeout_s, f"the end of {bookie}'s preboot check")
    except NotReadyError as error:
        raise NotReadyError(
            str(error), remedy="`timeout_s` of the start says how long, `checked: false` continues without it"
        ) from error


def _goes_on(stage: Stage, bookie: str, tells: Mapping[str, bool]) -> bool:
    return next((tells[one.event] for one in reversed(stage.heard(bookie)) if one.event in tells), False)
