"""Settings of bookies as a plan writes them: ledger directories are names, in an order."""

from __future__ import annotations

import pytest

from plans.settings import ledger_directories
from plans.steps import Start


def test_without_a_word_there_is_one() -> None:
    assert ledger_directories({}) == ("ledgers",)
    assert Start(target="b1", conf={"ledgerDirectories": "more,ledgers"}).conf == {
        "ledgerDirectories": "more,ledgers"
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/mnt/one", "`/mnt/one` is no name of a ledger directory"),
        ("ledgers,", "`` is no name"),
        ("ledgers, more", "` more` is no name"),
        ("ledgers,journal", "`journal` is no name"),
        ("more,more", "named twice: more, more"),
    ],
)
def test_paths_and_repeats_are_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Start(target="b1", conf={"ledgerDirectories": text})
