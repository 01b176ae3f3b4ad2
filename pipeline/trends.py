"""What stored runs say together: each mode of each run read by one Spark task, to one small row.

Reads ``run.json``, the verdict and the collected operations; never judges anything again. A folder that
cannot be read is listed with its reason, and the others are not affected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from checkers.sets.ordering import Column
from checkers.sets.spans import Ints
from evidence.codes import NEVER, Kind, Outcome
from evidence.collected import read_collection
from evidence.folder import RunFolder, read_json
from evidence.seeding import releases_text
from pipeline.blocks import Bucket, rows_of
from pipeline.session import Session
from protocol.errors import EvidenceError

LOSSES = ("explained", "unexplained", "forged", "put_back", "undetermined")
"""The classes of lost entries, as durability counts them."""
_COLUMNS = ("kind", "outcome", "invoked_ns", "completed_ns")
_SECOND_NS = 1_000_000_000
_BINS_IN_OCTAVE, _BINS = 32, 32 * 40
"""Latencies are counted in bins of 2.2 %, so that the rows need not be kept."""
_LONGEST_S = 7 * 86_400


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
    """Of acknowledged adds, within 3 %; -1 where none was; the same for ``p99_ms``."""
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
    found = sum(rows_of(Bucket(folder.tables, bucket), "operations") for bucket in range(collection.buckets))
    if found != collection.rows["operations"]:
        raise EvidenceError(
            f"its table of operations has {found:,} rows, {collection.rows['operations']:,} were collected"
        )
    adds = _Adds(began_ns)
    for path in sorted((folder.tables / "operations").rglob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=list(_COLUMNS)):
                adds.count({name: np.asarray(batch.column(name)) for name in _COLUMNS})
    return adds.added_to(trend)


class _Adds:
    """Adds counted by the second and by latency, piece by piece."""

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._acked = 0
        seconds = _LONGEST_S + 2
        self._changes, self._served = np.zeros(seconds, dtype=np.int64), np.zeros(seconds, dtype=np.int64)
        self._latency = np.zeros(_BINS, dtype=np.int64)

    def count(self, rows: Mapping[str, Column]) -> None:
        """Count some rows; adds that failed before they were sent were never waited for."""
        sent = (rows["kind"] == Kind.ADD) & (rows["outcome"] != Outcome.FAIL)
        invoked, completed = rows["invoked_ns"][sent], rows["completed_ns"][sent]
        # How long the client of an add that never ended waited is unknown: the add counts where it began.
        ended = np.where(completed == NEVER, invoked, completed)
        first, last = self._second(invoked), self._second(ended)
        np.add.at(self._changes, first, 1)
        np.add.at(self._changes, last + 1, -1)
        ok = rows["outcome"][sent] == Outcome.OK
        self._acked += int(ok.sum())
        np.add.at(self._served, last[ok], 1)
        self._latency += np.bincount(_bins((ended - invoked)[ok]), minlength=_BINS)

    def _second(self, at_ns: Column) -> Ints:
        seconds = (at_ns - self._began_ns) // _SECOND_NS
        if len(seconds) and not 0 <= int(seconds.min()) <= int(seconds.max()) <= _LONGEST_S:
            raise EvidenceError("its operations have times outside of the run")
        return seconds.astype(np.int64)

    def added_to(self, trend: Trend) -> Trend:
        """A trend with the columns that speak of adds."""
        waiting, served = np.cumsum(self._changes) > 0, self._served > 0
        return replace(
            trend,
            acked=self._acked,
            waiting_s=int(waiting.sum()),
            served_s=int((waiting & served).sum()),
            stall_s=_longest(waiting & ~served),
            p50_ms=self._percentile(0.5),
            p99_ms=self._percentile(0.99),
        )

    def _percentile(self, share: float) -> float:
        if not self._acked:
            return -1.0
        at = int(np.searchsorted(np.cumsum(self._latency), share * self._acked))
        return round(float(2.0 ** ((at + 0.5) / _BINS_IN_OCTAVE)) / 1000, 3)


def _bins(latency_ns: Column) -> Ints:
    """The bin of each latency: octaves of microseconds, each in 32 parts."""
    micros = np.maximum(latency_ns / 1000, 1.0)
    return np.minimum((np.log2(micros) * _BINS_IN_OCTAVE).astype(np.int64), _BINS - 1)


def _longest(flags: NDArray[np.bool_]) -> int:
    """The longest run of true ones."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max(initial=0))
