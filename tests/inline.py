"""Stands in for a Spark session: the same tasks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


INLINE: Any = Inline()


def judged(folder: RunFolder) -> RunVerdict:
    """The verdict on a run, which is collected first."""
    collect(INLINE, folder)
    return judge(INLINE, folder)
