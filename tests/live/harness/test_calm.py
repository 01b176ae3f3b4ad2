"""One live run without faults, by the bench: it is valid, has no findings and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.calm import command


@pytest.mark.long
def test_a_live_run_without_faults_is_valid_and_leaves_nothing(tmp_path: Path) -> None:
    words = ["--times", "1", "--for-s", "5", "--results", str(tmp_path / "calm")]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    assert "0 of 1 live runs without faults were flagged, 0 met a known defect; 1 valid" in result.output
    assert not list((tmp_path / "calm").rglob("run.json"))
