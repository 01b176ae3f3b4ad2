"""What the JSON files of a run folder hold: their objects and lines as types.

``run.json`` and ``end.json`` frame a run (:mod:`evidence.folder`); a line is one record of a file of lines
(:mod:`evidence.recorders`). A key that older runs lack, or that only some records have, is optional.
Files are read as they are: collection names what is damaged in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypeAlias, TypedDict

Settings: TypeAlias = Mapping[str, str]


class Clocks(TypedDict):
    """One reading of both clocks."""

    wall_ns: int
    monotonic_ns: int


class MachineLoad(TypedDict, total=False):
    """How busy the machine was; None where that is not known."""

    average: float
    cpu_pressure: float | None
    cpu_s: float | None


class ClusterTree(TypedDict, total=False):
    """``cluster`` of a plan, as far as it is read without :mod:`plans`."""

    bookie_conf: Settings
    client_conf: Settings
    seed_defects: Sequence[str]
    cures: Sequence[str]
    racks: Settings
    min_racks: int


class Roll(TypedDict, total=False):
    """A step that restarts its targets one after the other."""

    how: str
    targets: Sequence[str]


class PlanStep(TypedDict, total=False):
    """A step, whose name is a key; these two steps hold others, or end several processes."""

    together: Sequence[Sequence[PlanStep]]
    roll: Roll


class PlanTree(TypedDict, total=False):
    """A resolved plan, as far as it is read without :mod:`plans`."""

    about: str
    modes: Sequence[str]
    rounds: int
    vary: Mapping[str, object]
    source: Mapping[str, str]
    cluster: ClusterTree
    steps: Sequence[PlanStep]
    required: Sequence[str]
    counting: Sequence[str]


class Conf(TypedDict, total=False):
    """The settings of ``b1``, of clients and of autorecovery; what the user's own files lost, by key."""

    bookie: Settings
    client: Settings
    autorecovery: Settings
    overridden: Mapping[str, Mapping[str, Settings]]


class RunTree(TypedDict):
    """``run.json``: what was going to happen, and with what."""

    format: int
    run_id: str
    scenario: str
    source: str
    mode: str
    seed: int
    plan: PlanTree
    bookkeeper: str
    versions: Mapping[str, str]
    bookies: Mapping[str, int]
    clients: Mapping[str, int]
    conf: Conf
    clock: Clocks
    commit: str
    dirty: bool
    argv: Sequence[str]
    host: Mapping[str, object]
    others: NotRequired[Mapping[str, int]]
    rounds: NotRequired[int | None]
    repeat: NotRequired[Sequence[str]]
    backend: NotRequired[str]
    user_conf: NotRequired[Conf]
    user_files: NotRequired[Settings]
    load: NotRequired[MachineLoad]


class WireLog(TypedDict, total=False):
    """What the proxy said of its log: records by its own count, the numbers of its links."""

    records: int
    lost: int
    unlogged: int
    error: str
    links: Mapping[str, int]


class Wire(TypedDict, total=False):
    """The proxy's last report: its log, and the counters of each link by name."""

    log: WireLog
    links: Mapping[str, Mapping[str, int]]


class EndTree(TypedDict, total=False):
    """``end.json``: how a run ended, and the sum of every file of its evidence."""

    closed_ns: int
    clock: Clocks
    complete: bool
    histories: Mapping[str, Mapping[str, int]]
    files: Mapping[str, str]
    seal: str
    wire: Wire
    left_out: str
    otherwise: Sequence[str]
    not_asked: int
    load: MachineLoad


Transaction = TypedDict(
    "Transaction",
    {
        "op": str,
        "path": str,
        "zxid": str,
        "time_ms": int,
        "version": int,
        "data": str,
        "life": int,
        "from": str,
        "last": str,
        "at_ns": int,
    },
    total=False,
)
"""One of ZooKeeper's transactions, or where a fault exchanged its content (``life`` and below)."""


class EventDetail(TypedDict, total=False):
    """What an event of a server says besides its name and time, as far as it is read."""

    code: int | None
    signal: int | None
    signalled: bool
    slots: int
    ended: int
    command: str
    target: str
    ledgerId: int
    missing: Sequence[str]
    why: str


class DiskDetail(TypedDict, total=False):
    """What a bookie's disk held: numbers of entries, and ledgers as ranges ``[first, last]``."""

    index_entries: int
    journal_entries: int
    ledgers: list[list[int]]
    fenced: list[list[int]]
    limbo: list[list[int]]
    fences_in_journal: list[list[int]]
    without_key: list[list[int]]
    torn_bytes: int


class EventLine(EventDetail, DiskDetail, total=False):
    """One event of a server or client."""

    server: str
    boot: int
    event: str
    at_ns: int
    earliest_ns: int


class FaultLine(TypedDict, total=False):
    """One phase of a fault."""

    fault: int
    kind: str
    target: str
    phase: str
    at_ns: int
    params: Mapping[str, object]
    proof: Mapping[str, object]


class StepLine(TypedDict, total=False):
    """One executed step, or the name of a ledger (``step`` is ``named``)."""

    step: str
    name: str
    ledger: int
    at_ns: int
    round: int
    planned: str
    outcome: str
    text: str
    error: str
    began_ns: int
    ended_ns: int
    params: Mapping[str, object]


class ListedFiles(TypedDict, total=False):
    """The files of a copy of a disk and the places of its journals, which older runs do not list."""

    files: Sequence[str]
    journals: Sequence[str]


class CopyTree(ListedFiles):
    """``copy.json`` of a copy of a disk (:mod:`evidence.raw.disk_layout`)."""

    server: str
    boot: int
    began_ns: int
    ended_ns: int
    linked: Mapping[str, str]
    failed: str


class DecidedTree(TypedDict):
    """One row of what clients decided (:class:`plans.expected.decisions.Decided`), as far as it is shown."""

    case: str
    document: str
    decision: str
    difference: str
    shown: int
    of: int
    met: bool


class ModeTree(TypedDict, total=False):
    """A mode in the whole run's ``verdict.json``: its verdict, compared with the plan."""

    verdict: str
    headline: str
    met: bool
    reasons: Sequence[str]
    decisions: Sequence[DecidedTree]
