"""The cluster of a plan as data: its servers, their BookKeeper settings, disks and racks.

A plan may write numbers and truth values as settings; BookKeeper's files have text only. The run decides
where a bookie's folders are; a plan names its ledger, index and journal directories and gives their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from plans.defects import Cures, SeedDefects
from plans.grammar.names import BookieName, Bookies, Params, ServerName, bookie_names
from plans.reading.mistakes import checked
from plans.versions import Version
from protocol.addresses import MAX_AUTORECOVERY, MAX_BOOKIES, NAME
from protocol.quorums import Quorums

LEDGER_DIRECTORIES = "ledgerDirectories"
"""BookKeeper's key for a bookie's ledger directories; in a plan they are names joined by commas."""
JOURNAL_DIRECTORIES = "journalDirectories"
"""The same for its journals, whose names begin with ``journal``."""
INDEX_DIRECTORIES = "indexDirectories"
"""The same for its index, whose names begin with ``index``; none unless a plan names some."""
PLACEMENT_POLICY = "ensemblePlacementPolicy"
"""BookKeeper's key for the class that chooses a client's ensembles; Fencepost's takes those of the plan."""
JOURNAL, LEDGERS, INDEX = "journal", "ledgers", "index"
"""The folders that every bookie has, unless a plan names other directories."""
_DIRECTORY = re.compile(r"[a-z][a-z0-9]{0,15}")


def _as_text(value: object) -> object:
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


def ledger_directories(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the ledger directories in their order; ``ValueError`` for what is no such list."""
    names = settings.get(LEDGER_DIRECTORIES, LEDGERS)
    return _directories(names, "a ledger", "`ledgers` or `more`", begins="")


def journal_directories(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the journal directories in their order; ``ValueError`` for what is no such list."""
    names = settings.get(JOURNAL_DIRECTORIES, JOURNAL)
    return _directories(names, "a journal", "`journal2`", begins=JOURNAL)


def index_directories(settings: Mapping[str, str]) -> tuple[str, ...]:
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


def _assert_directories(settings: Settings) -> None:
    ledger_directories(settings)
    journal_directories(settings)
    index_directories(settings)


BookieSettings = Annotated[Settings, checked(_assert_directories)]
"""Settings of a bookie; ``ledgerDirectories``, ``indexDirectories`` and ``journalDirectories`` are names."""

SHARED, OWN = "shared", "own"
_LEAST_XFS_MB = 300
_QUORUMS = re.compile(r"(\d)/(\d)/(\d)")
MOST_ENSEMBLE = 6


def quorums_of(text: str) -> Quorums:
    """The quorums that ``3/3/2`` names; ``ValueError`` for any other text."""
    matched = _QUORUMS.fullmatch(text)
    if matched is None:
        raise ValueError(f"`{text}` is not E/WQ/AQ, as in 3/3/2")
    return Quorums(*(int(part) for part in matched.groups()))


def _assert_small(text: str) -> None:
    if (ensemble := quorums_of(text).ensemble) > MOST_ENSEMBLE:
        raise ValueError(
            f"an ensemble of {ensemble} is more than the {MOST_ENSEMBLE} that one machine carries"
        )


QuorumsText = Annotated[str, checked(_assert_small)]
"""``3/3/2``, of a plan that is made for many runs."""


def quorum_keys(quorums: Quorums) -> dict[str, int]:
    """E, WQ and AQ as steps and loads name them."""
    return {"ensemble": quorums.ensemble, "write_quorum": quorums.write, "ack_quorum": quorums.ack}


DirectoryName = Annotated[str, Field(pattern=f"^{_DIRECTORY.pattern}$")]


class Disks(Params):
    """A dedicated file system of ``size_mb`` for each bookie, and optionally another for its journal.

    ``commit_s`` is how long an ext4 keeps names and sizes in memory when no process syncs (its default is 5).
    ``more`` names further directories of the bookies that have a disk each.
    ``settled`` says that all is synced once when the bookies are first ready, so that a power loss
    finds a cluster that was set up some time ago.
    """

    kind: Literal["ext4", "xfs"] = "ext4"
    size_mb: int = Field(default=256, ge=64, le=65536)
    journal: Literal["shared", "own"] = "shared"
    more: tuple[DirectoryName, ...] | None = None
    commit_s: int | None = Field(default=None, ge=1, le=3600)
    settled: bool = True

    @model_validator(mode="after")
    def _possible(self) -> Disks:
        if self.kind == "xfs" and self.size_mb < _LEAST_XFS_MB:
            raise ValueError(f"an xfs needs size_mb of {_LEAST_XFS_MB} or more, not {self.size_mb}")
        if self.kind == "xfs" and self.commit_s is not None:
            raise ValueError("an xfs has no commit_s; only ext4 has")
        if self.more and self.journal == SHARED:
            raise ValueError("`more` needs `journal: own`; else one disk has all directories")
        more = self.more or ()
        if {JOURNAL, LEDGERS} & set(more):
            raise ValueError(f"{JOURNAL} and {LEDGERS} have a disk without `more`")
        if len(set(more)) != len(more):
            raise ValueError(f"a directory is named twice: {', '.join(more)}")
        return self


def disk_names(journal: str, more: Iterable[str]) -> tuple[str, ...]:
    """The names of a bookie's disks, by whether its journal has a separate one; ``more`` are further ones."""
    return (LEDGERS, JOURNAL, *more) if journal == OWN else ("data",)


def _assert_rack(value: str) -> None:
    if not NAME.fullmatch(value):
        raise ValueError(
            f"`{value}` is no rack's name, such as `r1`: a lower-case letter, then letters or digits"
        )


Racks = dict[BookieName, Annotated[str, checked(_assert_rack)]]
"""Bookie -> its rack."""


def _assert_placed(racks: Mapping[str, str], bookies: int, min_racks: int) -> None:
    """Refuse, with ``ValueError``, bookies without a rack, and fewer racks than a write set must span."""
    missing = [name for name in bookie_names(bookies) if name not in racks]
    if missing:
        raise ValueError(f"no rack is given for {', '.join(missing)}; each bookie needs one, or none has any")
    if len(set(racks.values())) < min_racks:
        raise ValueError(
            f"there are fewer racks ({', '.join(sorted(set(racks.values())))}) than min_racks {min_racks}"
        )


class ClusterSpec(Params):
    """The servers: how many bookies, which releases, which settings over the mode's own, which disks.

    ``autorecovery`` is how many processes repair what lost bookies held: ``ar1`` to ``arN``. With
    ``racks`` every write set should spread over ``min_racks`` of them. ``loss`` is what a `kill` of a
    bookie takes with it. ``seed_defects`` are broken promises of BookKeeper, put into its
    processes by the agent, and ``cures`` mended causes of findings. The bookies in
    ``zk2`` use a second server of ZooKeeper, which does not vote; slow the link ``zk2-zk1`` to let it lag.
    """

    bookies: int = Field(default=3, ge=1, le=MAX_BOOKIES)
    version: Version | None = None
    versions: dict[ServerName, Version] = Field(default_factory=dict)
    bookie_conf: BookieSettings = Field(default_factory=dict)
    client_conf: Settings = Field(default_factory=dict)
    autorecovery: int = Field(default=0, ge=0, le=MAX_AUTORECOVERY)
    autorecovery_conf: Settings = Field(default_factory=dict)
    disks: Disks | None = None
    loss: Literal["process", "power"] = "process"
    racks: Racks = Field(default_factory=dict)
    min_racks: int = Field(default=2, ge=1)
    zk2: Bookies = ()
    seed_defects: SeedDefects = ()
    cures: Cures = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """What the agent changes: seeded defects, then cures."""
        return (*self.seed_defects, *self.cures)

    @model_validator(mode="after")
    def _placed(self) -> ClusterSpec:
        if self.racks:
            _assert_placed(self.racks, self.bookies, self.min_racks)
        return self
