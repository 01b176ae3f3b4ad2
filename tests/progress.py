"""A pytest plugin: one line for each file of tests when it is done, and what runs after a minute without one.

``scripts/test`` loads it with ``-p tests.progress``. Lines go to the standard error that pytest was
started with, past its capturing: pytest's own report may so go to a file. With xdist only the
controller prints.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable

import pytest

SILENCE_S = 60
_STDERR = os.dup(2)  # this module is imported before pytest captures


class Progress:
    """Counts the tests of each file, independent of their content."""

    def __init__(self, write: Callable[[str], object], silence_s: float = SILENCE_S) -> None:
        self._write = write
        self._silence_s = silence_s
        self._left: Counter[str] = Counter()
        self._outcomes: dict[str, Counter[str]] = {}
        self._took_s: dict[str, float] = {}
        self._files = 0
        self._begun_s: dict[str, float] = {}
        self._spoke = threading.Event()
        self._ended = False
        self._watch = threading.Thread(target=self._mention_silence, name="progress", daemon=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist; the controller of xdist has no items."""
        self._expect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Every worker has the same tests."""
        if not self._left:
            self._expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, object], tuple[str, str, str]]:
        """The outcome is counted, and pytest prints no letter for it."""
        category, _, _ = yield
        return category, "", ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun_s[nodeid] = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test; a failure is printed at once, its story at the end."""
        file = _file(report.nodeid)
        self._took_s[file] = self._took_s.get(file, 0) + report.duration
        if report.failed or report.when == "call" or report.skipped:
            self._outcomes.setdefault(file, Counter())[report.outcome] += 1
        if report.failed:
            self._say(f"  FAILED {report.nodeid} ({report.when})")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """The last test of a file prints the file's line."""
        file = _file(nodeid)
        self._begun_s.pop(nodeid, None)
        self._left[file] -= 1
        if self._left[file] == 0:
            counts = self._outcomes.get(file, Counter())
            outcomes = [f"{counts[one]} {one}" for one in ("passed", "failed", "skipped") if counts[one]]
            done = sum(left == 0 for left in self._left.values())
            self._say(
                f"  [{done}/{self._files}] {file}: {', '.join(outcomes)}, {self._took_s.get(file, 0):.1f} s"
            )

    def pytest_unconfigure(self) -> None:
        self._ended = True
        self._spoke.set()
        if self._watch.is_alive():
            self._watch.join()

    def _expect(self, ids: Iterable[str]) -> None:
        self._left.update(map(_file, ids))
        self._files = len(self._left)
        if self._left:
            self._watch.start()

    def _say(self, line: str) -> None:
        self._write(f"{line}\n")
        self._spoke.set()

    def _mention_silence(self) -> None:
        while not self._ended:
            if not self._spoke.wait(self._silence_s):
                now = time.monotonic()
                running = [f"{one} ({now - begun:.0f} s)" for one, begun in self._begun_s.copy().items()]
                self._write(f"  running: {', '.join(running) or 'between tests'}\n")
            self._spoke.clear()


def pytest_configure(config: pytest.Config) -> None:
    """Only where the results of all tests arrive."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(
            Progress(lambda text: os.write(_STDERR, text.encode())), "progress-by-file"
        )


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
