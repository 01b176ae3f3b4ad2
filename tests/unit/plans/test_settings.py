"""Settings of bookies as a plan writes them: ledger and journal directories are names, in an order."""

from __future__ import annotations

import pytest

from plans.cluster import index_directories, journal_directories, ledger_directories
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
        ("ledgers,journal2", "`journal2` is no name"),
        ("ledgers,index", "`index` is no name"),
        ("more,more", "named twice: more, more"),
    ],
)
def test_paths_and_repeats_are_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Start(target="b1", conf={"ledgerDirectories": text})


def test_journals_are_named_like_journals() -> None:
    assert journal_directories({}) == ("journal",)
    conf = Start(target="b1", conf={"journalDirectories": "journal2,journal"}).conf
    assert journal_directories(conf) == ("journal2", "journal")
    with pytest.raises(ValueError, match="`more` is no name of a journal directory"):
        Start(target="b1", conf={"journalDirectories": "journal,more"})
    with pytest.raises(ValueError, match="named twice: journal, journal"):
        Start(target="b1", conf={"journalDirectories": "journal,journal"})


def test_an_index_has_a_directory_only_where_a_plan_names_one() -> None:
    assert index_directories({}) == ()
    assert index_directories(Start(target="b1", conf={"indexDirectories": "index"}).conf) == ("index",)
    with pytest.raises(ValueError, match="`more` is no name of an index directory"):
        Start(target="b1", conf={"indexDirectories": "more"})
