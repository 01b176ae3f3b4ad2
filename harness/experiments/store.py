"""The stored outcomes of a campaign: one folder, consistent after every run; and the runs that fill it.

Killing a campaign loses the run that it was at, and nothing else.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from evidence.folder import read_json, remove_run, write_json
from harness.experiments.experiment import Experiment, Outcome, Status
from harness.experiments.running import run_all, unknown_again
from harness.experiments.workers import WorkerPool
from protocol.errors import EvidenceError, UsageError

STATE = "campaign.json"
RUNS = "runs"
_LOCK = ".lock"


@dataclass
class State:
    """What is stored of a campaign: the keys of its ``units`` as they run, and what is ``done`` of them."""

    name: str
    began: str
    units: list[str]
    done: dict[str, Outcome] = field(default_factory=dict)


_STATE = TypeAdapter(State)


@dataclass
class Store:
    """One execution of a campaign: ``results/campaigns/<name>/<UTC stamp>``."""

    path: Path
    state: State

    @property
    def outcomes(self) -> list[Outcome]:
        """The stored outcomes, in the order of the units."""
        return [self.state.done[key] for key in self.state.units if key in self.state.done]

    def waiting(self, units: Sequence[Experiment]) -> list[Experiment]:
        """The units without an outcome."""
        return [unit for unit in units if unit.key not in self.state.done]

    def add(self, outcome: Outcome) -> None:
        """Keep what a unit showed; on disk when it returns."""
        self.state.done[outcome.key] = outcome
        self.write()

    def write(self) -> None:
        """Put the state on the disk."""
        write_json(self.path / STATE, _STATE.dump_python(self.state, mode="json"))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other campaign out of the folder, and read what one stored there since.

        ``UsageError`` when one is running there.
        """
        running = f"this campaign is already running in {self.path}"
        with alone(self.path / _LOCK, running, remedy="wait for its end, or start another with --new"):
            self.state = _state(self.path)
            yield


@contextmanager
def alone(path: Path, running: str, *, remedy: str) -> Iterator[None]:
    """Hold the lock ``path``; ``UsageError`` with the message ``running`` while another process holds it."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(running, remedy=remedy) from None
        yield


def begin(place: Path, name: str, units: Sequence[Experiment]) -> Store:
    """A new execution below ``place`` (the folder of all executions of the campaign)."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = place / stamp
    number = 0
    while path.exists():
        number += 1
        path = place / f"{stamp}.{number}"
    path.mkdir(parents=True)
    store = Store(path, State(name, stamp, [unit.key for unit in units]))
    store.write()
    return store


def unfinished(
    place: Path, units: Sequence[Experiment], left: Callable[[Store], Iterable[Experiment]]
) -> Store | None:
    """The newest execution if it has exactly these units and some of them are ``left`` to run."""
    newest = next(executions(place), None)
    same = newest and newest.state.units == [unit.key for unit in units]
    return newest if newest and same and any(left(newest)) else None


def executions(place: Path) -> Iterator[Store]:
    """The executions that are stored below ``place``, the newest first; damaged ones are left out."""
    for path in sorted(place.glob(f"*/{STATE}"), reverse=True):
        try:
            yield Store(path.parent, _state(path.parent))
        except (EvidenceError, ValidationError):
            continue


def _state(folder: Path) -> State:
    return _STATE.validate_python(read_json(folder / STATE))


def prune(place: Path, keep: int) -> list[Path]:
    """Remove all but the newest ``keep`` executions below ``place``, none in progress; what was removed."""
    removed = []
    for store in islice(executions(place), keep, None):
        try:
            with store.alone():
                shutil.rmtree(store.path)
        except UsageError:
            continue
        removed.append(store.path)
    return removed


def run_pending(
    store: Store,
    waiting: Iterable[Experiment],
    *,
    run_s: float,
    parallel: int = 1,
    total_s: float | None = None,
    again: int = 0,
    keep: Literal["all", "first", "none"] = "none",
    begins: Callable[[Experiment], None] = lambda _: None,
) -> Generator[Outcome, None, None]:
    """Run ``waiting``; each outcome is on disk before it is yielded. A run that fails stops nothing.

    The caller holds the store (:meth:`Store.alone`).

    A run has ``run_s`` seconds; an inconclusive one is repeated up to ``again`` times. ``keep`` says which
    runs that were as expected keep their folder: ``first`` means one for each scenario, mode and release.
    ``begins`` is called with each as it begins.
    """
    pool = WorkerPool(store.path, store.path / RUNS, run_s=run_s, parallel=parallel)
    run = unknown_again(pool.execute, again)
    with pool:
        ended = run_all(waiting, run, parallel=parallel, total_s=total_s, stop=pool.stop, begins=begins)
        for outcome in ended:
            kept = _kept(store, outcome, keep)
            store.add(kept)
            yield kept


def _kept(store: Store, outcome: Outcome, keep: str) -> Outcome:
    """The outcome, without its folder where the rule does not keep it."""
    if outcome.status is not Status.AS_EXPECTED or keep == "all" or not outcome.folder:
        return outcome
    same = (outcome.scenario, outcome.mode, outcome.version)
    others = (one for one in store.outcomes if one.folder and one.status is Status.AS_EXPECTED)
    if keep == "first" and not any((one.scenario, one.mode, one.version) == same for one in others):
        return outcome
    remove_run(store.path / RUNS, store.path / RUNS / outcome.folder)
    return replace(outcome, folder="")
