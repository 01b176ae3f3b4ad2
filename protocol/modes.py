"""Modes: named overlays of server and client settings.

Source: BP-46 for ``journalWriteData``; the property names are the names that BookKeeper reads
(``dataIntegrityChecking``; every release ignores a key ``dataIntegrityCheckingEnabled``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from protocol.faults import Loses

JOURNALING = ("journalWriteData", "journalSyncData")
"""The settings that decide what may take an entry that a bookie has acknowledged."""
DB_STORAGE = "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage"


@dataclass(frozen=True, slots=True)
class Mode:
    """One overlay: ``bookie`` and ``client`` are BookKeeper properties, text to text."""

    name: str
    about: str
    bookie: dict[str, str]
    client: dict[str, str] = field(default_factory=dict)


def _bookie(*, journal_data: bool, journal_sync: bool, integrity: bool) -> dict[str, str]:
    return {
        "ledgerStorageClass": DB_STORAGE,
        "journalWriteData": str(journal_data).lower(),
        "journalSyncData": str(journal_sync).lower(),
        "dataIntegrityChecking": str(integrity).lower(),
    }


def least_loss(conf: Mapping[str, str]) -> Loses:
    """The smallest loss by which a bookie with these settings can lose an entry that it has acknowledged.

    Memory where adds are not journaled, unsynced data where the journal is not synced, else stored
    data. Source: BP-46 ("The journal"); BookKeeper's defaults are true.
    """
    written, synced = (conf.get(key, "true").strip().lower() != "false" for key in JOURNALING)
    if not written:
        return Loses.MEMORY
    return Loses.STORED if synced else Loses.UNSYNCED


MODES: dict[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(
            "journal",
            "every add is journaled and synced before it is acknowledged (the default), in DbLedgerStorage",
            _bookie(journal_data=True, journal_sync=True, integrity=False),
        ),
        Mode(
            "nosync",
            "adds are journaled, the journal is synced later (journalSyncData=false)",
            _bookie(journal_data=True, journal_sync=False, integrity=False),
        ),
        Mode(
            "unprotected",
            "adds skip the journal (journalWriteData=false), lost entries go unnoticed",
            _bookie(journal_data=False, journal_sync=True, integrity=False),
        ),
        Mode(
            "protected",
            "adds skip the journal, BP-46's data integrity checking is on",
            _bookie(journal_data=False, journal_sync=True, integrity=True),
        ),
    )
}
