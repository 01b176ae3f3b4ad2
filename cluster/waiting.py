"""Waiting for a named state, never for a time: polls a condition and says the last state seen."""

from __future__ import annotations

import time
from collections.abc import Callable

from protocol.errors import NotReadyError

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


def wait_until(condition: Callable[[], tuple[bool, str]], timeout_s: float, what: str) -> str:
    """Poll ``condition`` (true?, state as a phrase) until it is true; returns the last state.

    ``NotReadyError`` names what was waited for and the last state seen.
    """
    deadline = time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        met, state = condition()
        if met:
            return state
        if time.monotonic() > deadline:
            raise NotReadyError(
                f"waited {timeout_s:g} s for {what}; last seen: {state}",
                remedy="look at the servers' logs under servers/ in the run folder",
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
