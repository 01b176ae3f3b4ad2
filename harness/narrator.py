"""The output of a run in progress, and the same lines in ``harness.log``.

Prints lines; does not depend on plans, servers or verdicts. Colour only on a terminal, and
never with NO_COLOR.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from harness.verbs import typed

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


class Narrator:
    """Prints one line an event, with the seconds since the clock was last started.

    ``quiet`` keeps lines from the stream, never from the log file.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self._quiet = quiet
        self._colour = self._stream.isatty() and "NO_COLOR" not in os.environ
        self._lock = threading.Lock()
        self._log: TextIO | None = None
        self._began = time.monotonic()

    def restart_clock(self) -> None:
        """Count seconds from now on."""
        self._began = time.monotonic()

    @contextmanager
    def logging_to(self, path: Path) -> Iterator[None]:
        """Write every line to ``path`` as well, for as long as the block lasts."""
        with path.open("a", encoding="utf-8", buffering=1) as log:
            self._log = log
            try:
                yield
            finally:
                self._log = None

    def line(self, text: str = "", *, style: str = "") -> None:
        """Print one line as it is."""
        with self._lock:
            self._keep(text)
            if not self._quiet:
                shown = typed(text)
                if self._colour and style:
                    shown = f"\x1b[{_STYLES[style]}m{shown}\x1b[0m"
                print(shown, file=self._stream, flush=True)

    def lines(self, lines: Iterable[tuple[str, str]]) -> None:
        """Print lines of (text, style)."""
        for text, style in lines:
            self.line(text, style=style)

    def event(self, text: str, *, style: str = "") -> None:
        """Print one line of progress with its time."""
        self.line(f"  {time.monotonic() - self._began:6.1f} s  {text}", style=style)

    def _keep(self, text: str) -> None:
        """Log a line. After a write error logging stops, and the run continues: the log is no evidence."""
        if self._log is None:
            return
        try:
            self._log.write(text + "\n")
        except OSError:
            self._log = None


def print_json(tree: Mapping[str, object]) -> None:
    """Print one document instead of lines."""
    json.dump(tree, sys.stdout, indent=1)
    print()
