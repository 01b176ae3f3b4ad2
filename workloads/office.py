"""Leadership among several clients: one client writes until it shows no progress for too long.

Thread-safe. Sends no client commands; a client that lost leadership learns it when it reports progress.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass(eq=False)
class Turn:
    """One client's leadership: its current ledger and when that last made progress."""

    writer: str
    ledger: int | None = None
    acked: int = 0
    progress_s: float = field(default_factory=time.monotonic)
    left: bool = False
    claimed: bool = False


class Office:
    """The present turn; ``first`` may claim the initial turn."""

    def __init__(self, first: str, patience_s: float) -> None:
        self._turn = Turn(first, left=True)
        self._first = first
        self._begun = False
        self._patience_s = patience_s
        self._changed = threading.Condition()

    def claim(self, name: str, timeout_s: float) -> Turn | None:
        """The present turn if ``name`` may end it; None, after a moment, while its leader makes progress."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free_for(name), timeout_s):
                return None
            self._turn.claimed = True
            return self._turn

    def begin(self, name: str, claimed: Turn, recovered: int | None) -> Turn | None:
        """Replace the claimed turn by a new turn, if ``recovered`` is the ledger it works on.

        None when its writer was only slow and has begun another one meanwhile.
        """
        with self._changed:
            if claimed.ledger != recovered:
                return None
            self._begun = True
            self._turn = Turn(name)
            return self._turn

    def holds(self, turn: Turn) -> bool:
        """Whether the turn is not over."""
        with self._changed:
            return turn is self._turn

    def works(self, turn: Turn, ledger: int, acked: int) -> bool:
        """Record the writer's progress; False, with nothing recorded, when it no longer leads."""
        with self._changed:
            if turn is not self._turn:
                return False
            if (ledger, acked) != (turn.ledger, turn.acked):
                turn.ledger, turn.acked, turn.progress_s = ledger, acked, time.monotonic()
            return True

    def leave(self, turn: Turn) -> None:
        """A writer ends its own turn: any client may take over at once."""
        with self._changed:
            turn.left = True
            self._changed.notify_all()

    def give_back(self, turn: Turn) -> None:
        """Release a claim that failed, so that another client can claim the turn."""
        with self._changed:
            turn.claimed = False
            self._changed.notify_all()

    def _free_for(self, name: str) -> bool:
        turn = self._turn
        if turn.claimed or (not self._begun and name != self._first):
            return False
        hangs = time.monotonic() - turn.progress_s > self._patience_s
        return turn.left or (hangs and turn.writer != name)
