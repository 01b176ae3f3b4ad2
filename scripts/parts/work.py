"""The work of set-up: says what it will do, does it several steps at a time, and says how far it is.

Started by ``install.py`` as the leader of a session; standard input ends with the process that
started it, and then this one kills its process group, itself included.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock, Thread

import plan
import registries
import stamp
from plan import STEPS

from protocol.errors import FencepostError, PrerequisiteError

SILENCE_S = 10
"""After this time without a line, one says what is being done."""


class Work:
    """The steps that are needed, as they run side by side."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.stops: list[FencepostError] = []
        self.running: list[str] = []
        self._futures: dict[str, Future[bool]] = {}
        self._speaking = Lock()
        self._started = self._spoke = time.monotonic()

    def do(self) -> None:
        """All steps; ``FencepostError`` at the end when some failed."""
        with ThreadPoolExecutor(len(self.names)) as pool:
            for name in self.names:
                self._futures[name] = pool.submit(self._step, name)
            waiting = set(self._futures.values())
            while waiting:
                _, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
                if time.monotonic() - self._spoke >= SILENCE_S:
                    doing = "; ".join(name + _last_line(name) for name in self.running)
                    self.say(f"  {time.monotonic() - self._started:3.0f} s: {doing}")
        if self.stops:
            raise registries.summary(self.stops)
        self.say(f"set up in {time.monotonic() - self._started:.0f} s")

    def say(self, text: str) -> None:
        """One line for the user, never torn by another thread's."""
        with self._speaking:
            self._spoke = time.monotonic()
            print(text, flush=True)

    def _step(self, name: str) -> bool:
        """Do one step when the steps that it needs are done; whether it is done."""
        if not all(self._futures[need].result() for need in STEPS[name].needs if need in self._futures):
            return False
        started = time.monotonic()
        (stamp.BUILD / f"{name}.log").unlink(missing_ok=True)
        made_from = stamp.digest(name) if name in stamp.PARTS else None
        self.running.append(name)
        try:
            STEPS[name].act()
            if made_from is not None:
                stamp.record(name, made_from)
        except FencepostError as stop:
            self.stops.append(stop)
            return False
        except OSError as error:
            self.stops.append(PrerequisiteError(f"{name}: {error.strerror}: {error.filename}"))
            return False
        finally:
            self.running.remove(name)
        if STEPS[name].what:
            self.say(f"  {name}: done in {time.monotonic() - started:.0f} s")
        return True


def main() -> int:
    """Do what is needed; the exit code."""
    Thread(target=end_with_parent, daemon=True).start()
    names = plan.needed()
    try:
        plan.require_room(names)
        work = Work(names)
        work.say("\n".join(plan.table(names)))
        _clean()
        work.do()
    except FencepostError as stop:
        script = os.environ.get("FENCEPOST_SETUP_FOR", "scripts/setup")
        print(f"error: {str(stop).replace('scripts/setup', script)}", file=sys.stderr, flush=True)
        return stop.exit_code
    finally:
        _clean()
    return 0


def end_with_parent() -> None:
    """Kill this process group when standard input ends."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def _clean() -> None:
    shutil.rmtree(stamp.BUILD / "tmp", ignore_errors=True)


def _last_line(name: str) -> str:
    """What a step's command wrote last, to be put after the step's name; empty when it says nothing.

    ``starts`` runs servers, and their messages say nothing about its progress.
    """
    if name == "starts":
        return ""
    try:
        with (stamp.BUILD / f"{name}.log").open("rb") as stream:
            stream.seek(max(stream.seek(0, os.SEEK_END) - 4096, 0))
            lines = stream.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "$")
    return "" if last.startswith("$") else f": {last[:50]}"


if __name__ == "__main__":
    sys.exit(main())
