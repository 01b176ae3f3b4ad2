"""Modes: named overlays of bookies' settings.

Source: BP-46 for ``journalWriteData``; the property names are the names that BookKeeper reads
(``dataIntegrityChecking``; every release ignores a key ``dataIntegrityCheckingEnabled``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from protocol.faults import Loses

JOURNALING = ("journalWriteData", "journalSyncData")
"""The settings that decide what may take an entry that a bookie has acknowledged."""
INTEGRITY = "dataIntegrityChecking"
_FALSE = ("false", "f", "no", "n", "off", "0")
_TRUE = ("true", "t", "yes", "y", "on", "1")
"""How a setting may say it, in any case (``BooleanUtils#toBooleanObject`` of Apache Commons Lang)."""
STORAGE = "ledgerStorageClass"
DEFAULT_STORAGE = "org.apache.bookkeeper.bookie.SortedLedgerStorage"
"""BookKeeper's own default, which no mode has."""
DB_STORAGE = "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"


@dataclass(frozen=True, slots=True)
class Mode:
    """One overlay: ``bookie`` are BookKeeper properties, text to text."""

    name: str
    about: str
    bookie: dict[str, str]


def _mode(name: str, about: str, *, written: bool = True, synced: bool = True, checked: bool = False) -> Mode:
    flags = {"journalWriteData": written, "journalSyncData": synced, INTEGRITY: checked}
    settings = {key: str(value).lower() for key, value in flags.items()}
    return Mode(name, about, {STORAGE: DB_STORAGE, **settings})


def flag(conf: Mapping[str, str], key: str, *, default: bool) -> bool:
    """A boolean as BookKeeper's configuration library reads it; another word counts as the default."""
    word = conf.get(key, "").strip().lower()
    return word not in _FALSE if default else word in _TRUE


def is_boolean(value: str) -> bool:
    """Whether BookKeeper's configuration library reads the value as a boolean."""
    return value.lower() in {*_TRUE, *_FALSE}


def mode_of(conf: Mapping[str, str]) -> str:
    """The mode that bookies with these settings run in; BookKeeper's defaults where they are silent."""
    written, synced = (flag(conf, key, default=True) for key in JOURNALING)
    if written:
        return "journal" if synced else "nosync"
    return "protected" if flag(conf, INTEGRITY, default=False) else "unprotected"


def least_loss(conf: Mapping[str, str]) -> Loses:
    """The smallest loss by which a bookie with these settings can lose an entry that it has acknowledged.

    Memory where adds are not journaled, unsynced data where the journal is not synced, else stored
    data. Source: BP-46 ("The journal"); BookKeeper's defaults are true.
    """
    written, synced = (flag(conf, key, default=True) for key in JOURNALING)
    if not written:
        return Loses.MEMORY
    return Loses.STORED if synced else Loses.UNSYNCED


MODES: dict[str, Mode] = {
    mode.name: mode
    for mode in (
        _mode(
            "journal",
            "every add is journaled and synced before it is acknowledged (the default)",
        ),
        _mode(
            "nosync", "adds are journaled, the journal is synced later (journalSyncData=false)", synced=False
        ),
        _mode(
            "unprotected",
            "adds skip the journal (journalWriteData=false), lost entries go unnoticed",
            written=False,
        ),
        _mode(
            "protected",
            "adds skip the journal, BP-46's data integrity checking is on",
            written=False,
            checked=True,
        ),
    )
}
