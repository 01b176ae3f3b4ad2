"""The metadata store's records about repair: votes for the auditor, under-replicated ledgers, locks.

Paths of ``ZkLedgerAuditorManager`` and ``ZkLedgerUnderreplicationManager``. Keeps no state, and handles no
processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cluster.metadata import ROOT, ZooKeeperMetadata
from protocol.addresses import name_of_id

_BASE = f"{ROOT}/underreplication"
_ELECTION = f"{_BASE}/auditorelection"
_FIRST_CHECK = "checkallledgersctime"
_SWITCHED_OFF = "disable"
_NAMED = re.compile(r'\bbookieId: "([^"]+)"')
_LEDGER = re.compile(r"urL(\d+)")


class ZooKeeperElections:
    """The part of the metadata store that is about repair."""

    def __init__(self, metadata: ZooKeeperMetadata) -> None:
        self._metadata = metadata

    def votes(self) -> dict[str, str]:
        """Every candidate's vote and who cast it, the oldest first: the first of them is the auditor."""
        found = sorted(name for name in self._metadata.children(_ELECTION) if name.startswith("V_"))
        told = {vote: _name(self._metadata.text(f"{_ELECTION}/{vote}")) for vote in found}
        return {vote: name for vote, name in told.items() if name is not None}

    def forget(self, vote: str) -> None:
        """Remove a vote that a killed process left; it would count until its session expires."""
        self._metadata.remove(f"{_ELECTION}/{vote}")

    def auditor(self) -> str | None:
        """Who was elected, None as long as the first candidate has not said that it is."""
        votes = self.votes()
        elected = _name(self._metadata.text(_ELECTION))
        return elected if votes and next(iter(votes.values())) == elected else None

    def checked(self) -> bool:
        """Whether an auditor has checked all ledgers once, or will not because repair is switched off.

        An auditor that finds no recorded time of such a check starts one
        (``Auditor#scheduleCheckAllLedgersTask``).
        """
        return not {_FIRST_CHECK, _SWITCHED_OFF}.isdisjoint(self._metadata.children(_BASE))

    def under_replicated(self) -> list[int]:
        """Ledgers that are marked as lacking copies, ascending."""
        return sorted(self._below(f"{_BASE}/ledgers"))

    def under_repair(self) -> list[int]:
        """Ledgers that a worker has locked, ascending."""
        return sorted(self._below(f"{_BASE}/locks"))

    def _below(self, path: str) -> Iterator[int]:
        for child in self._metadata.children(path):
            ledger = _LEDGER.fullmatch(child)
            if ledger:
                yield int(ledger[1])
            else:
                yield from self._below(f"{path}/{child}")


def _name(text: str | None) -> str | None:
    found = _NAMED.search(text or "")
    return name_of_id(found[1]) if found else None
