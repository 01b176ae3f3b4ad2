"""What stored runs say together: each mode of each run read by one Spark task, to one small row.

Reads ``run.json``, the verdict and the collected operations; never judges anything again. A folder that
cannot be read is listed with its reason, and the others are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from checkers.sets.ordering import Column
from checkers.sets.spans import Ints
from evidence.codes import NEVER, Kind, Outcome
from evidence.collection import read_collection
from evidence.folder import RunFolder, read_json
from evidence.seeding import releases_text
from pipeline.session import Session
from pipeline.tables import rows_in
from protocol.errors import EvidenceError

LOSSES = ("explained", "unexplained", "forged", "put_back", "undetermined")
"""The classes of lost entries, as durability counts them."""
_COLUMNS = ("kind", "outcome", "invoked_ns", "completed_ns")
_SECOND_NS = 1_000_000_000
_LONGEST_S = 7 * 86_400
_LEAST_MS = 0.001  # what took less counts as this


@dataclass(frozen=True, slots=True)
class Trend:
    """One mode of one stored run. Entries are counted exactly, times are from the adds' clients."""

    path: str
    scenario: str
    mode: str
    release: str
    verdict: str
    damaged: bool
    acknowledged: int
    lost: Mapping[str, int]
    corrupt: int
    vanished: int
    unavailable: int
    acked: int = 0
    waiting_s: int = 0
    """Seconds of the run in which a client waited for an add."""
    served_s: int = 0
    """Those of them in which an add was acknowledged."""
    stall_s: int = 0
    """The longest stretch of them in which none was."""
    p50_ms: float = -1.0
    """Of acknowledged adds; -1 where none was; the same for ``p99_ms``."""
    p99_ms: float = -1.0
    no_load: str = ""
    """Why the run's operations could not be read: then only what its verdict counts is known."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A stored run that says nothing here, and why."""

    path: str
    why: str


def read_trends(session: Session, folders: Sequence[Path]) -> list[Trend | LeftOut]:
    """What each mode's folder says, in the order given; ``JudgementError`` when Spark itself fails."""
    return session.map("reading stored runs", read_trend, list(folders))


def read_trend(path: Path) -> Trend | LeftOut:
    """One mode's folder; whatever is wrong with it is a sentence, never an error."""
    try:
        return _trend(RunFolder.open(path))
    except _BAD as error:
        return LeftOut(str(path), _why(error, path))


_BAD = (EvidenceError, OSError, ValueError, KeyError, TypeError)
"""What a folder that is half, damaged or another version's raises."""


def _why(error: Exception, path: Path) -> str:
    """The reason without the folder's own path, so that the same reason reads the same."""
    message = str(error) if isinstance(error, EvidenceError) else f"damaged ({type(error).__name__}: {error})"
    return message.splitlines()[0].replace(f"{path}/", "")


def _trend(folder: RunFolder) -> Trend:
    facts = folder.run()
    if not folder.verdict_json.is_file():
        ended = "" if folder.end_json.is_file() else ", and its evidence was never closed"
        raise EvidenceError(f"not judged yet{ended}")
    verdict = read_json(folder.verdict_json)
    durability = verdict["judgements"]["durability"]
    counts, seen = durability["counts"], durability["seen"]
    trend = Trend(
        path=str(folder.path),
        scenario=str(facts["scenario"]),
        mode=str(facts["mode"]),
        release=releases_text(facts),
        verdict=str(verdict["verdict"]),
        damaged=bool(verdict["damage"]),
        acknowledged=int(seen.get("acknowledged", 0)),
        lost={name: int(counts.get(f"lost_{name}", 0)) for name in LOSSES},
        corrupt=int(counts.get("corrupt", 0)),
        vanished=int(counts.get("vanished", 0)),
        unavailable=int(counts.get("unavailable", 0)),
    )
    began_ns = int(facts["clock"]["monotonic_ns"])
    try:
        return _with_load(trend, folder, began_ns)
    except _BAD as error:
        return replace(trend, no_load=_why(error, folder.path))


def _with_load(trend: Trend, folder: RunFolder, began_ns: int) -> Trend:
    """With the adds of the run: how many, how fast, and in how many of its seconds."""
    collection = read_collection(folder)
    found = rows_in(folder.tables, "operations")
    if found != collection.rows["operations"]:
        raise EvidenceError(
            f"its table of operations has {found:,} rows, {collection.rows['operations']:,} were collected"
        )
    files = sorted((folder.tables / "operations").rglob("*.parquet"))
    tables = (pq.read_table(path, columns=list(_COLUMNS), partitioning=None) for path in files)
    parts = ({name: np.asarray(table[name]) for name in _COLUMNS} for table in tables)
    return with_adds(trend, parts, began_ns)


def with_adds(trend: Trend, parts: Iterable[Mapping[str, Column]], began_ns: int) -> Trend:
    """A trend with what parts of ``operations`` say of adds.

    Adds that failed before they were sent were never waited for. How long the client of an add that never
    ended waited is unknown: the add counts where it began.
    """
    changes, served = np.zeros((2, _LONGEST_S + 2), dtype=np.int64)
    took_ms = [np.empty(0, dtype=np.float32)]
    for rows in parts:
        sent = (rows["kind"] == Kind.ADD) & (rows["outcome"] != Outcome.FAIL)
        invoked, completed = rows["invoked_ns"][sent], rows["completed_ns"][sent]
        ended = np.where(completed == NEVER, invoked, completed)
        first, last = _second(invoked - began_ns), _second(ended - began_ns)
        ok = rows["outcome"][sent] == Outcome.OK
        np.add.at(changes, first, 1)
        np.add.at(changes, last + 1, -1)
        np.add.at(served, last[ok], 1)
        took_ms.append(np.maximum((ended - invoked)[ok] / 1e6, _LEAST_MS).astype(np.float32))
    waiting, acked_ms = np.cumsum(changes) > 0, np.concatenate(took_ms)
    p50_ms, p99_ms = (
        np.quantile(acked_ms, (0.5, 0.99), method="inverted_cdf").tolist() if len(acked_ms) else (-1.0, -1.0)
    )
    return replace(
        trend,
        acked=len(acked_ms),
        waiting_s=int(waiting.sum()),
        served_s=int((waiting & (served > 0)).sum()),
        stall_s=_longest(waiting & (served == 0)),
        p50_ms=round(p50_ms, 3),
        p99_ms=round(p99_ms, 3),
    )


def _second(since_ns: Column) -> Ints:
    """The second of the run in which each time lies."""
    seconds = since_ns // _SECOND_NS
    if len(seconds) and not 0 <= int(seconds.min()) <= int(seconds.max()) <= _LONGEST_S:
        raise EvidenceError("its operations have times outside of the run")
    return seconds.astype(np.int64)


def _longest(flags: NDArray[np.bool_]) -> int:
    """The longest run of true ones."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))
