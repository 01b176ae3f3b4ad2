"""BookKeeper's own admin commands: their names, their requirements, and the meaning of their exit codes.

Source: ``bookie/BookieShell.java`` and ``tools/cli/commands`` of 4.14.7 to 4.18.0. A command exits with 0
on success, and with other codes (-1 is seen as 255) on failure; where a release exits with 0 in spite of a
failure, ``failure`` matches the error message in its output. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

BOOKIE = "{bookie}"
"""Stands for the id of the command's target."""
_STACK = r"^[\w.$]+(?:Exception|Error)\b"


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command; ``needs_down`` says that its target must be down, as BookKeeper's documents ask.

    ``local`` commands work on the target's own files, the others on the metadata store and the bookies.
    ``failure`` matches output that means failure, whatever the exit code is.
    """

    name: str
    about: str
    arguments: tuple[str, ...]
    needs_down: bool = False
    local: bool = False
    failure: str | None = None

    @property
    def targeted(self) -> bool:
        """Whether it is about one bookie."""
        return self.local or BOOKIE in self.arguments

    def words(self, bookie_id: str) -> tuple[str, ...]:
        """The shell's arguments for a target."""
        return tuple(word.replace(BOOKIE, bookie_id) for word in self.arguments)

    def failed(self, output: str) -> str | None:
        """The first line of the output that reports a failure, or None."""
        found = re.search(self.failure, output, re.MULTILINE) if self.failure else None
        return output[found.start() :].partition("\n")[0] if found else None


COMMANDS: Mapping[str, ShellCommand] = {
    command.name: command
    for command in (
        ShellCommand(
            "decommission",
            "let autorecovery copy what a bookie that is down held, wait for that, delete its cookie",
            ("decommissionbookie", "-bookieid", BOOKIE),
            needs_down=True,
        ),
        ShellCommand(
            "recover",
            "copy what a bookie that is down held to others, without autorecovery",
            ("recover", "-force", BOOKIE),
            needs_down=True,
        ),
        ShellCommand(
            "recover_and_forget",
            "the same, and delete its cookie",
            ("recover", "-force", "-deleteCookie", BOOKIE),
            needs_down=True,
        ),
        ShellCommand(
            "rebuild_index",
            "rebuild a bookie's index of entry locations from its entry logs",
            ("rebuild-db-ledger-locations-index",),
            needs_down=True,
            local=True,
            failure=_STACK,  # RebuildDBLedgerLocationsIndexCommand prints what was thrown, and is done
        ),
        ShellCommand(
            "rebuild_ledgers_index",
            "rebuild a bookie's index of ledgers from journal and entry logs (since 4.15)",
            ("rebuild-db-ledgers-index", "-v"),
            needs_down=True,
            local=True,
        ),
        ShellCommand(
            "convert_to_db_storage",
            "convert a bookie's index, but not its setting, from the default storage to DbLedgerStorage",
            ("convert-to-db-storage",),
            needs_down=True,
            local=True,
        ),
        ShellCommand(
            "convert_to_interleaved_storage",
            "convert a bookie's index, but not its setting, from DbLedgerStorage to the default storage",
            ("convert-to-interleaved-storage",),
            needs_down=True,
            local=True,
        ),
        ShellCommand(
            "cookie_delete", "delete a bookie's cookie in the metadata store", ("cookie_delete", BOOKIE)
        ),
        ShellCommand("cookie_get", "show a bookie's cookie in the metadata store", ("cookie_get", BOOKIE)),
        ShellCommand(
            "list_under_replicated",
            "list the ledgers that are marked as lacking copies",
            ("listunderreplicated", "-printmissingreplica"),
        ),
        ShellCommand("trigger_audit", "let the auditor audit now", ("triggeraudit",)),
        ShellCommand("who_is_auditor", "name the auditor", ("whoisauditor",)),
        ShellCommand("repair_disable", "let no ledger be repaired", ("autorecovery", "-disable")),
        ShellCommand("repair_enable", "let ledgers be repaired again", ("autorecovery", "-enable")),
    )
}
"""Every command that a plan may give, by its name there."""
