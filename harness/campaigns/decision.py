"""Whether a campaign passed: its exit code and the reason, from its outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from checkers.facts.wording import counted
from harness.experiments.outcomes import Outcome, Status, counts
from protocol.exit_codes import ExitCode

_CODES = (
    (Status.ANOMALY, ExitCode.ANOMALY),
    (Status.ERROR, ExitCode.HARNESS),
    (Status.HUNG, ExitCode.HARNESS),
    (Status.UNKNOWN, ExitCode.UNKNOWN),
)


def decision(
    outcomes: Sequence[Outcome], *, left: int, unfinished_fails: bool, unknown_warns: bool = False
) -> tuple[ExitCode, str]:
    """The exit code and why; ``left`` runs were not started because the time was over.

    Unknown is never a pass, unless the user chose to be only warned; nor is a campaign in which nothing
    ran.
    """
    found = counts(outcomes)
    for came, code in _CODES:
        if came in found and not (came is Status.UNKNOWN and unknown_warns):
            first = next(one for one in outcomes if one.came is came)
            said = "not proven" if came is Status.UNKNOWN else came.value
            return code, f"{counted(found[came], 'run')} {said}; first {first.name}: {first.why}"
    if left and unfinished_fails:
        return ExitCode.UNKNOWN, f"not proven: {counted(left, 'run')} not started in time"
    if Status.AS_EXPECTED not in found:
        return ExitCode.UNKNOWN, "not proven: no run reached its end"
    return ExitCode.AS_EXPECTED, "as expected"
