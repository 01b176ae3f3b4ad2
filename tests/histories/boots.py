"""Tiny builders for what bookies say on the wire, and for their boots: an answer is one frame."""

from __future__ import annotations

import json
from typing import Any

from evidence.codes import Direction, FrameFlag, Message, Place, Status
from tests.histories.exchanges import frame
from tests.histories.story import READER, WRITER, Fact

Row = dict[str, Any]
UNPROVEN = (FrameFlag.FORGED, FrameFlag.AMBIGUOUS, FrameFlag.UNCORRELATED, FrameFlag.UNPARSED)
"""What an answer may have that is not proven to be a bookie's own word."""


def said(kind: Message, bookie: int, at_ns: int, **columns: Any) -> Fact:
    """An answer that was asked at one time, received at the next and passed on at the one after."""
    status = columns.pop("status", Status.EOK)
    times = {"asked_ns": at_ns, "received_ns": at_ns + 1, "forwarded_ns": at_ns + 2}
    fields = {"status": status, "delivered": status, "seq": at_ns * 10 + bookie}
    return frame(kind, way=Direction.ANSWER, bookie=bookie, **{**times, **fields, **columns})


def took(entry: int, bookie: int, at_ns: int, **columns: Any) -> Fact:
    """A bookie acknowledged the writer's add."""
    return said(Message.ADD, bookie, at_ns, entry=entry, **{"source": WRITER, **columns})


def fenced(bookie: int, at_ns: int, **columns: Any) -> Fact:
    """A bookie answered the reader's fencing read of the LAC, or of an entry."""
    kind = Message.RECOVERY_READ if "entry" in columns else Message.FENCING_LAC_READ
    return said(kind, bookie, at_ns, **{"source": READER, **columns})


def forged(entry: int, bookie: int, at_ns: int, **columns: Any) -> Fact:
    """A fault rule denied an entry to a recoverer in a bookie's name."""
    denial = {"status": Status.NONE, "delivered": Status.ENOENTRY, "rule": 2, "boot": 0}
    flags = FrameFlag.FENCING | FrameFlag.RECOVERY | FrameFlag.FORGED
    return fenced(bookie, at_ns, entry=entry, **{"flags": flags, **denial, **columns})


def boot(bookie: int, number: int = 1, *, began: int = 1, killed: int = 0, stopped: int = 0) -> list[Row]:
    """Rows of ``servers``: one boot of a bookie, to the end of the run unless it is ended."""
    ended = killed or stopped
    rows = [server(bookie, number, "started", began, began)]
    how = {"code": None, "signal": 9} if killed else {"code": 143, "signal": None}
    return rows + [server(bookie, number, "exit", ended, ended, **how)] * bool(ended)


def configured(bookie: int, number: int = 1, **conf: str) -> Row:
    """A boot's own settings of the journal."""
    return server(bookie, number, "configured", 1, 1, conf=conf)


def server(bookie: int, number: int, event: str, earliest_ns: int, latest_ns: int, **detail: Any) -> Row:
    times = {"earliest_ns": earliest_ns, "latest_ns": latest_ns}
    return {"server": f"b{bookie}", "boot": number, "event": event, "detail": json.dumps(detail), **times}


def repairer(
    *events: tuple[str, int],
    number: int = 1,
    ended: int = 0,
    code: int | None = 0,
    signal: int | None = None,
    read: bool = True,
) -> tuple[Row, ...]:
    """A boot of autorecovery with the events of its log, to the end of the run unless it ``ended``."""
    ends = [server(0, number, "exit", ended, ended, code=code, signal=signal)] * bool(ended)
    logged = [server(0, number, name, at, at) for name, at in (*events, *[("log_read", ended or 999)] * read)]
    return tuple({**row, "server": "ar1"} for row in (server(0, number, "started", 1, 1), *logged, *ends))


def fault(number: int = 1, kind: str = "kill", target: str = "b1", **columns: Any) -> Row:
    """A row of ``faults``: in force from 2 to 4 unless said otherwise."""
    row = {"fault": number, "kind": kind, "target": target, "params": "{}", "proof": "{}"}
    return {**row, "planned_ns": 1, "injected_ns": 2, "confirmed_ns": 3, "healed_ns": 4, **columns}


def commanded(
    target: str, *, at: int, until: int | None = None, command: str = "rebuild_index", number: int = 1
) -> list[Row]:
    """An operator ran a command on a bookie; its end is not recorded where none is given."""
    rows = [server(0, number, "command", at, at, command=command, target=target)]
    rows += [] if until is None else [server(0, number, "exit", until, until, code=0, signal=None)]
    return [{**row, "server": "admin"} for row in rows]


def copied(bookie: int, number: int = 1, *, at: int, why: str = "") -> Row:
    """What a bookie's disk held at the death of a boot was read, or could not be."""
    event, detail = ("disk_unreadable", {"why": why}) if why else ("disk_read", {})
    return server(bookie, number, event, at, at + 1, **detail)


def on_disk(bookie: int, first: int, last: int | None = None, **columns: Any) -> Fact:
    """Entries that a bookie's disk held when its boot (1) died."""
    row = {"ledger": 1, "entry": first, "last": first if last is None else last, "bookie": bookie}
    return "holdings", {**row, "boot": 1, "place": int(Place.INDEX), **columns}
