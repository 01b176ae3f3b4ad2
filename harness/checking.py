"""Where BP-46's checks of a bookie's present boot stand.

No bookie answers that question; its log does (the tokens of ``datainteg/Events.java``).
"""

from __future__ import annotations

from cluster.waiting import wait_until
from harness.stage import Stage
from protocol.errors import NotReadyError

_PREBOOT_BEGINS = (b"PREBOOT_START",)
_PREBOOT_ENDS = (b"PREBOOT_END", b"PREBOOT_ERROR")
_CHECK_BEGINS = (b"PREBOOT_START", b"FULL_CHECK_INIT")
_CHECK_ENDS = (b"CLEAR_INTEGCHECK_FLAG",)


def repairing(stage: Stage, bookie: str) -> bool:
    """Whether the boot has begun to check and repair its entries and not ended it."""
    return _goes_on(stage, bookie, _CHECK_BEGINS, _CHECK_ENDS)


def await_preboot_check(stage: Stage, bookie: str, timeout_s: float) -> None:
    """Return once the preboot check that the boot has begun, if any, has ended, well or with an error.

    A bookie does not wait for it (docs/findings/preboot-not-awaited.md). ``NotReadyError`` after the time.
    """

    def ended() -> tuple[bool, str]:
        stage.assert_alive()
        return not _goes_on(stage, bookie, _PREBOOT_BEGINS, _PREBOOT_ENDS), f"{bookie} marks its ledgers"

    try:
        wait_until(ended, timeout_s, f"the end of {bookie}'s preboot check")
    except NotReadyError as error:
        raise NotReadyError(
            str(error), remedy="`timeout_s` of the start says how long, `checked: false` goes on without"
        ) from error


def _goes_on(stage: Stage, bookie: str, begins: tuple[bytes, ...], ends: tuple[bytes, ...]) -> bool:
    log = stage.cluster.log(bookie).read_bytes()
    return max(map(log.rfind, begins)) > max(map(log.rfind, ends))
