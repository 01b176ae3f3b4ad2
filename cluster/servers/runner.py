"""Who runs the processes of a cluster: what a server may ask of the keeper, or of a container engine.

This is all in which the backends differ, together with addresses and programs. Knows boots, signals
and descriptors, nothing of BookKeeper.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cluster.interface import Exit


@dataclass(frozen=True, slots=True)
class Launch:
    """How one boot is started.

    A process that ``converses`` reads commands from standard input and writes replies to standard output; all
    other output of any process is its log. ``home`` is where its program is (:class:`Java` of
    ``cluster.servers.programs``).
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    converses: bool = False
    home: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A running boot: its pid on this machine, and our descriptors if it has a command channel.

    ``ends`` are where its commands are written and where its replies are read; the receiver closes them.
    """

    pid: int
    ends: tuple[int, int] | None = None


class Runner(Protocol):
    """Starts and signals processes by name, and reports every end; all of them end with the run."""

    def on_exit(self, listener: Callable[[Exit], None]) -> None:
        """Call ``listener`` for each exit from now on; it must be quick and order nothing."""
        ...

    def start(self, name: str, boot: int, launch: Launch, *, folder: Path, log: Path) -> Started:
        """Start a boot in its folder, its output appended to ``log``. ``ServerError`` when it cannot be."""
        ...

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send SIGKILL or SIGTERM to a process; ``ServerError`` when none of that name runs."""
        ...

    def pause(self, name: str) -> None:
        """Stop it where it stands; returns when no thread of it runs. ``ServerError`` when it cannot be."""
        ...

    def resume(self, name: str) -> None:
        """Continue it; returns when it runs."""
        ...
