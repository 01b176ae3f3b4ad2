"""BookKeeper settings as a plan writes them, and the text that BookKeeper reads.

A plan may write numbers and truth values; BookKeeper's files have text only. The run decides where a
bookie's folders are; a plan names its ledger, index and journal directories and gives their order.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

LEDGER_DIRECTORIES = "ledgerDirectories"
"""BookKeeper's key for a bookie's ledger directories; in a plan they are names joined by commas."""
JOURNAL_DIRECTORIES = "journalDirectories"
"""The same for its journals, whose names begin with ``journal``."""
INDEX_DIRECTORIES = "indexDirectories"
"""The same for its index, whose names begin with ``index``; none unless a plan names some."""
JOURNAL, LEDGERS, INDEX = "journal", "ledgers", "index"
"""The folders that every bookie has, unless a plan names other directories."""
_DIRECTORY = re.compile(r"[a-z][a-z0-9]{0,15}")


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value


SettingText = Annotated[
    str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]

Settings = dict[str, SettingText]
"""Property name to value, both text; truth values become ``true`` and ``false``."""


def ledger_directories(settings: Settings) -> tuple[str, ...]:
    """The names of the ledger directories in their order; ``ValueError`` for what is no such list."""
    names = settings.get(LEDGER_DIRECTORIES, LEDGERS)
    return _directories(names, "a ledger", "`ledgers` or `more`", begins="")


def journal_directories(settings: Settings) -> tuple[str, ...]:
    """The names of the journal directories in their order; ``ValueError`` for what is no such list."""
    names = settings.get(JOURNAL_DIRECTORIES, JOURNAL)
    return _directories(names, "a journal", "`journal2`", begins=JOURNAL)


def index_directories(settings: Settings) -> tuple[str, ...]:
    """The names of the separate index directories; none where the index is in the ledger directories."""
    names = settings.get(INDEX_DIRECTORIES)
    return () if names is None else _directories(names, "an index", "`index`", begins=INDEX)


def _directories(listed: str, kind: str, such_as: str, *, begins: str) -> tuple[str, ...]:
    names = tuple(listed.split(","))
    for name in names:
        found = JOURNAL if of_journal(name) else INDEX if of_index(name) else ""
        if not _DIRECTORY.fullmatch(name) or found != begins:
            raise ValueError(f"`{name}` is no name of {kind} directory, such as {such_as}: names, not paths")
    if len(set(names)) != len(names):
        raise ValueError(f"{kind} directory is named twice: {', '.join(names)}")
    return names


def of_journal(place: str) -> bool:
    """Whether a folder of a bookie has this name because it is one of its journals."""
    return place.startswith(JOURNAL)


def of_index(place: str) -> bool:
    """Whether a folder of a bookie has this name because it is a separate directory of its index."""
    return place.startswith(INDEX)


def _with_directories(settings: Settings) -> Settings:
    ledger_directories(settings)
    journal_directories(settings)
    index_directories(settings)
    return settings


BookieSettings = Annotated[Settings, AfterValidator(_with_directories)]
"""Settings of a bookie; ``ledgerDirectories``, ``indexDirectories`` and ``journalDirectories`` are names."""
