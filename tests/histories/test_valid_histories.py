"""Valid histories of every source have no anomaly; `scripts/bench valid` judges 10,000 of them."""

import pytest
from click.testing import CliRunner

from tests.histories.trial.__main__ import trial
from tests.histories.trial.valid import RUNS, SOURCES


@pytest.mark.parametrize("source", SOURCES)
def test_none_is_flagged(source):
    one, _ = SOURCES[source]
    verdicts = set()
    for seed in range(50_000, 50_000 + 3 * len(RUNS)):
        found, verdict, rows = one(seed)
        assert not found, seed
        assert rows
        verdicts.add(verdict)
    assert "valid" in verdicts


@pytest.mark.parametrize("seed", [1500, 1726, 2974])
def test_a_run_that_was_once_flagged_is_not(seed):
    """A plain V2 read was taken for a recovery read; a version before a removal that was not seen."""
    found, verdict, _ = SOURCES["simulated runs"][0](seed)
    assert (found, verdict == "anomaly") == (frozenset(), False)


def test_the_command_line_counts_them():
    result = CliRunner().invoke(trial, ["valid", "--histories", "10", "--first-seed", "5"])
    assert result.exit_code == 0, result.output
    assert "0 of 10 valid histories were flagged" in result.output
