"""Which exit code a series of runs ends with, and the reason that the last line gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.experiments.series import exit_code
from plans.comparison import Comparison
from reports.results import ModeResult


def came_out(verdict: Verdict, *, met: bool, reason: str = "because", **more: bool) -> ModeResult:
    judged = RunVerdict("s", "m", verdict, "headline", {})
    comparison = Comparison(met, (reason,), **more)
    return ModeResult("m", RunFolder(Path("nowhere/m")), judged, comparison)


AS_EXPECTED = came_out(Verdict.ANOMALY, met=True)
UNEXPECTED = came_out(Verdict.ANOMALY, met=False, reason="lost main", unexpected=True)
NOT_WHOLE = came_out(Verdict.ANOMALY, met=False, reason="the evidence is not whole")
UNKNOWN = came_out(Verdict.UNKNOWN, met=False)
DECIDED_OTHERWISE = came_out(Verdict.VALID, met=False, reason="fig9: the document says", contradicted=True)
CONTROL_DID_NOT_BITE = came_out(Verdict.VALID, met=False, reason="expected, but not found")


@pytest.mark.parametrize(
    ("modes", "code"),
    [
        ([AS_EXPECTED], 0),
        ([AS_EXPECTED, UNKNOWN], 3),
        ([UNKNOWN, UNEXPECTED], 4),
        ([UNEXPECTED, UNKNOWN], 4),
        ([CONTROL_DID_NOT_BITE], 3),
        ([NOT_WHOLE], 3),
        ([UNKNOWN, DECIDED_OTHERWISE], 4),
    ],
)
def test_the_worst_mode_decides(modes: list[ModeResult], code: int) -> None:
    assert exit_code(modes)[0] == code


def test_the_reason_names_the_mode_and_what_was_wrong() -> None:
    assert exit_code([AS_EXPECTED, UNEXPECTED])[1] == "m: lost main"
