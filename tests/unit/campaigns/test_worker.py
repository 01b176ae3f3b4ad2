"""A worker's answer for a run that could not start; nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.experiments import worker
from harness.experiments.outcomes import Came
from protocol.errors import FencepostError, IncapableError, PrerequisiteError, ServerError

ORDER: dict[str, Any] = {
    "file": None,
    "scenario": "bp46/truncation",
    "mode": "protected",
    "seed": 1,
    "version": None,
    "settings": [],
    "rounds": None,
    "defects": [],
}


@pytest.mark.parametrize(
    ("error", "came"),
    [
        (IncapableError("mounting needs root, this is user 1000"), Came.IMPOSSIBLE),
        (PrerequisiteError("the disk under results has 3 MB of free space"), Came.ERROR),
        (ServerError("b1 did not start"), Came.ERROR),
    ],
)
def test_only_what_the_machine_can_never_do_is_no_failure(
    error: FencepostError, came: Came, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(worker, "prepare", refuse)
    told = worker._record(ORDER, tmp_path)
    assert (told["came"], told["why"]) == (came, str(error))
