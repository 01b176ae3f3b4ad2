"""The output of a search in progress: permanent lines, and on a terminal live lines below them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from harness.verbs import typed

_MINUTE_S = 60
_WIDTH = 110
"""Columns where the output is no terminal."""
_REFRESHED_PER_S = 4
_TAIL_BYTES = 1000


class StatusLines:
    """Lines and live lines; ``quiet`` keeps all but :meth:`last` back."""

    def __init__(self, *, quiet: bool = False) -> None:
        console = Console(highlight=False, soft_wrap=True)
        self._console = console if console.is_terminal else Console(highlight=False, width=_WIDTH)
        self._quiet = quiet
        self._counts = ""
        self._began = time.monotonic()
        self._running: dict[Path, tuple[str, float]] = {}
        """Label of each run in progress, and when it began (monotonic seconds), by its log."""

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the live lines for as long as the block lasts, where there is a terminal."""
        if self._quiet or not self._console.is_terminal:
            yield
            return
        with Live(
            console=self._console,
            refresh_per_second=_REFRESHED_PER_S,
            get_renderable=self._lines,
            transient=True,
        ):
            yield

    def counts(self, text: str) -> None:
        """The results up to now."""
        self._counts = text

    def begins(self, label: str, log: Path) -> None:
        """A run begins; the last line of its ``log`` is its present activity."""
        self._running[log] = label, time.monotonic()

    def ended(self, log: Path) -> None:
        """The run with this log has ended."""
        self._running.pop(log, None)

    def line(self, text: str, *, style: str = "") -> None:
        """Print a permanent line."""
        if not self._quiet:
            self._console.print(Text(typed(text)), style=style or None, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """A table or the like."""
        if not self._quiet:
            self._console.print(what)

    def last(self, text: str) -> None:
        """The last line, which comes always."""
        self._console.print(Text(typed(text)), soft_wrap=True)

    @property
    def took_s(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._began

    def _lines(self) -> Text:
        """The results up to now, and each run in progress: in the same line, or below when there are more."""
        now, head = time.monotonic(), f"{self.took_s:5.0f} s  "
        runs = [
            (label, f"{now - since_s:.0f} s: {_doing(log)}")
            for log, (label, since_s) in list(self._running.items())
        ]
        if len(runs) == 1:
            ((label, stage),) = runs
            lines = [f"{head}{label}, {self._counts}; this run {stage}"]
        else:
            lines = [f"{head}{self._counts}", *(f"         {label}, {stage}" for label, stage in runs)]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis", style="dim")


def _doing(log: Path) -> str:
    """The last line of a log without its time; empty before the first."""
    try:
        lines = log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").splitlines()
    except OSError:
        return ""
    last = lines[-1] if lines else ""
    return last.partition(" s  ")[2] or last.strip()


def duration(seconds: float) -> str:
    """``45 s``, ``5 min``, ``1 h 30 min``."""
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE_S)
    return f"{minutes} min" if minutes < 2 * _MINUTE_S else f"{minutes // 60} h {minutes % 60} min"
