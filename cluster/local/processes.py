"""Plain processes of the keeper's, as a :class:`cluster.servers.runner.Runner`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from cluster.servers.keeping import Keeper
from cluster.servers.runner import Exit, Launch, Started
from cluster.waiting import await_threads


class KeptProcesses:
    """Children of the keeper by name; those with a command channel use two pipes."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def on_exit(self, listener: Callable[[Exit], None]) -> None:
        """Call ``listener`` for each exit from now on, on the keeper's reader thread."""
        self._keeper.on_exit(listener)

    def start(self, name: str, boot: int, launch: Launch, *, folder: Path, log: Path) -> Started:
        """Start a boot; ``ServerError`` when it cannot be executed."""
        if not launch.converses:
            return Started(self._spawn(name, boot, launch, folder, log))
        theirs_in, commands = os.pipe2(os.O_CLOEXEC)
        replies, theirs_out = os.pipe2(os.O_CLOEXEC)
        try:
            pid = self._spawn(name, boot, launch, folder, log, stdin=theirs_in, stdout=theirs_out)
        except BaseException:
            os.close(commands)
            os.close(replies)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        return Started(pid, (commands, replies))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a running process; ``ServerError`` when none runs."""
        self._keeper.signal(name, number)

    def pause(self, name: str) -> None:
        """SIGSTOP; returns when the kernel reports every thread stopped."""
        await_threads(name, self._keeper.signal(name, signal.SIGSTOP), stopped=True)

    def resume(self, name: str) -> None:
        """SIGCONT; returns when no thread is stopped any more."""
        await_threads(name, self._keeper.signal(name, signal.SIGCONT), stopped=False)

    def _spawn(
        self,
        name: str,
        boot: int,
        launch: Launch,
        folder: Path,
        log: Path,
        *,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> int:
        return self._keeper.spawn(
            name,
            launch.argv,
            boot=boot,
            env=launch.env,
            cwd=folder,
            stdin=stdin,
            stdout=log if stdout is None else stdout,
            stderr=log,
        ).pid
