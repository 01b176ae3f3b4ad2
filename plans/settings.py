"""BookKeeper settings as a plan writes them, and the text that BookKeeper reads.

A plan may write numbers and truth values; BookKeeper's files have text only. The run decides where a
bookie's folders are; a plan names its ledger and journal directories and gives their order.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

LEDGER_DIRECTORIES = "ledgerDirectories"
"""BookKeeper's key for a bookie's ledger directories; in a plan they are names joined by commas."""
JOURNAL_DIRECTORIES = "journalDirectories"
"""The same for its journals, whose names begin with ``journal``."""
JOURNAL, LEDGERS = "journal", "ledgers"
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
    return _directories(names, "ledger", "`ledgers` or `more`", journals=False)


def journal_directories(settings: Settings) -> tuple[str, ...]:
    """The names of the journal directories in their order; ``ValueError`` for what is no such list."""
    names = settings.get(JOURNAL_DIRECTORIES, JOURNAL)
    return _directories(names, "journal", "`journal2`", journals=True)


def _directories(listed: str, kind: str, such_as: str, *, journals: bool) -> tuple[str, ...]:
    names = tuple(listed.split(","))
    for name in names:
        if not _DIRECTORY.fullmatch(name) or of_journal(name) is not journals:
            raise ValueError(
                f"`{name}` is no name of a {kind} directory, such as {such_as}: names, not paths"
            )
    if len(set(names)) != len(names):
        raise ValueError(f"a {kind} directory is named twice: {', '.join(names)}")
    return names


def of_journal(place: str) -> bool:
    """Whether a folder of a bookie has this name because it is one of its journals."""
    return place.startswith(JOURNAL)


def _with_directories(settings: Settings) -> Settings:
    ledger_directories(settings)
    journal_directories(settings)
    return settings


BookieSettings = Annotated[Settings, AfterValidator(_with_directories)]
"""Settings of a bookie; ``ledgerDirectories`` and ``journalDirectories`` are names."""
