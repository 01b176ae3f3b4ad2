"""The page on verdicts has every property and every finding; log.md has the findings of logs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkers.judging.contract import Checker
from checkers.judging.judge import CHECKERS


@pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)
def test_every_property_and_every_finding_is_explained(root: Path, checker: Checker) -> None:
    page = (root / "docs" / "verdicts.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", page + (root / "docs" / "log.md").read_text()))
    named |= {f"{name}-realtime" for name in named}  # log.md has one row for a class and its suffixes
    assert {checker.name, *checker.kinds} <= named
    rows = re.findall(rf"^\| `{checker.name}` \|", page, flags=re.M)
    assert len(rows) == 2, "one row has the anomalies, one the evidence"
