"""Tiny builders of ``frames``: requests and answers on links, each exchange with its four times."""

from __future__ import annotations

from typing import Any

from evidence.codes import NEVER, Direction, FrameFlag, Message, Status
from tests.histories.story import Fact

FENCES = (Message.FENCING_LAC_READ, Message.RECOVERY_READ)
RECOVERS = (*FENCES, Message.RECOVERY_ADD)


class Wire:
    """A proxy's log that grows: ``exchange`` says something on a link, at the clock's next times."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.now_ns = 10
        self.boots: dict[int, int] = {}

    def tick(self) -> int:
        self.now_ns += 1
        return self.now_ns

    def exchange(
        self,
        kind: Message,
        source: int,
        bookie: int,
        status: Status | None,
        *,
        entry: int = -1,
        lac: int = -1,
    ) -> None:
        """A request that is passed on, and its answer with ``lac``; ``status`` None is no answer."""
        txn, asked_ns = self.now_ns, self.tick()
        sent = {"kind": kind, "source": source, "bookie": bookie, "entry": entry, "txn": txn}
        sent["boot"] = self.boots.get(bookie, 1)
        self._log(way=Direction.REQUEST, **sent, received_ns=asked_ns, forwarded_ns=self.tick())
        if status is not None:
            columns = {"status": status, "delivered": status, "asked_ns": asked_ns, "lac": lac}
            times = {"received_ns": self.tick(), "forwarded_ns": self.tick()}
            self._log(way=Direction.ANSWER, **sent, **columns, **times)

    def _log(self, **columns: Any) -> None:
        self.facts.append(frame(seq=len(self.facts) + 1, **columns))


def frame(kind: Message, **columns: Any) -> Fact:
    """One row; of ledger 1 on connection 1, with the flags that its kind has."""
    flags = FrameFlag.FENCING if kind in FENCES else 0
    flags |= FrameFlag.RECOVERY if kind in RECOVERS else 0
    row = {
        "ledger": 1,
        "entry": -1,
        "seq": 1,
        "connection": 1,
        "source": 101,
        "bookie": 1,
        "boot": 1,
        "way": Direction.REQUEST,
        "protocol": 3,
        "kind": kind,
        "flags": flags,
        "status": Status.NONE,
        "delivered": Status.NONE,
        "lac": -1,
        "txn": 1,
        "asked_ns": NEVER,
        "received_ns": 1,
        "forwarded_ns": NEVER,
        "rule": 0,
        "size_bytes": 60,
    }
    assert not set(columns) - set(row), set(columns) - set(row)
    return "frames", {name: int(value) for name, value in {**row, **columns}.items()}
