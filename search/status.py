"""The output of a search in progress: permanent lines, and on a terminal one live line below them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from harness.verbs import typed

_WIDTH = 110
"""Columns where the output is no terminal."""
_REFRESHED_PER_S = 4


class Status:
    """Lines and a live line; ``quiet`` keeps all but :meth:`last` back."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        console = Console(file=stream, highlight=False, soft_wrap=True)
        self._console = (
            console if console.is_terminal else Console(file=stream, highlight=False, width=_WIDTH)
        )
        self._quiet = quiet
        self._counts = ""
        self._doing = ""
        self._began = time.monotonic()
        self._since = time.monotonic()

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the live line for as long as the block lasts, where there is a terminal."""
        if self._quiet or not self._console.is_terminal:
            yield
            return
        with Live(
            console=self._console,
            refresh_per_second=_REFRESHED_PER_S,
            get_renderable=self._line,
            transient=True,
        ):
            yield

    def begins(self, counts: str) -> None:
        """A run begins; ``counts`` are the results up to now."""
        self._counts, self._doing, self._since = counts, "", time.monotonic()

    def doing(self, text: str) -> None:
        """The present activity of the run."""
        self._doing = text

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

    def _line(self) -> Text:
        run_s = time.monotonic() - self._since
        text = f"{self.took_s:5.0f} s  {self._counts}; this run {run_s:.0f} s: {self._doing}"
        return Text(text, no_wrap=True, overflow="ellipsis", style="dim")
