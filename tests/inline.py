"""Stands in for a Spark session: the same tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evidence.findings import RunVerdict
from evidence.folder import RunFolder
from pipeline.collect import collect
from pipeline.judge import judge


class Inline:
    """Has of :class:`pipeline.session.Session` what collecting and judging use."""

    cores = 1

    def map(self, what: str, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """``function`` of each task, in their order."""
        return [function(task) for task in tasks]

    def wait(self) -> None:
        """It is always ready."""

    def free_bytes(self, driver_bytes: int) -> int:
        """As much as the driver takes, and more than tasks need."""
        return driver_bytes + 10**12

    def share(self, folder: Path) -> None:
        """Tasks see every folder as this process does."""


INLINE: Any = Inline()


@contextmanager
def session_in(folder: Path, *, master: str | None = None) -> Iterator[Any]:
    """Stands in for :func:`harness.judging.session_in`."""
    assert master is None, f"{master} is for runs in {folder} with Spark"
    yield INLINE


def judged(folder: RunFolder) -> RunVerdict:
    """The verdict on a run, which is collected first."""
    collect(INLINE, folder)
    return judge(INLINE, folder)
