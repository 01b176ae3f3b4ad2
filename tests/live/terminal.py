"""Processes that tests start themselves, like processes started at a terminal."""

from __future__ import annotations

import signal


def as_in_a_terminal() -> None:
    """For the child to call: Ctrl-C ends it, also where the tests run in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
