"""A run as Chrome trace events for Perfetto and chrome://tracing.

A track for each client, each server and each target of faults. A client's operations overlap, so a client
has as many lanes as it had concurrent operations. Times are microseconds from the beginning of the run.
An operation that never ended lasts to the end of the record, and says so. Judges nothing.

Source: *Trace Event Format* (Google; the events ``X``, ``i`` and ``M``).
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evidence.codes import NEVER, Flag, Kind, Outcome
from evidence.schemas import FaultRow, OperationRow, ServerRow

Event = dict[str, object]
_ENDED = "exit"
_NOT_SHOWN = (Kind.ENTRY, Kind.WATCHED, Kind.CENSUS)
"""Kinds that are not shown: entries, because their read is shown, and what only the observer saw."""


@dataclass
class _Lanes:
    """Numbers of threads, so that overlapping operations are shown side by side."""

    free: list[int] = field(default_factory=list)
    busy: list[tuple[int, int]] = field(default_factory=list)
    opened: int = 0

    def take(self, begin_ns: int, end_ns: int) -> int:
        """The lowest lane that is free at the beginning; beginnings come in order."""
        while self.busy and self.busy[0][0] <= begin_ns:
            heapq.heappush(self.free, heapq.heappop(self.busy)[1])
        lane = heapq.heappop(self.free) if self.free else self.opened
        self.opened = max(self.opened, lane + 1)
        heapq.heappush(self.busy, (end_ns, lane))
        return lane


@dataclass(frozen=True)
class Tracing:
    """Makes the events of one run; ``end_ns`` is when its record ends, ``clients`` are names by number."""

    began_ns: int
    end_ns: int
    clients: Mapping[int, str]

    def events(
        self, operations: Iterable[OperationRow], faults: Sequence[FaultRow], servers: Sequence[ServerRow]
    ) -> Iterator[Event]:
        """Everything, with the names of all tracks; operations come in the order of their invocations."""
        yield from self._faults(faults)
        yield from self._servers(servers, first=2)
        first = 2 + len({row["server"] for row in servers})
        tracks = {number: first + place for place, number in enumerate(sorted(self.clients))}
        for number, track in tracks.items():
            yield _name("process_name", track, f"client {self.clients[number]}")
        yield from self._operations(operations, tracks)

    def _operations(self, rows: Iterable[OperationRow], tracks: Mapping[int, int]) -> Iterator[Event]:
        lanes: dict[int, _Lanes] = {}
        for row in rows:
            if row["kind"] in _NOT_SHOWN or row["client"] not in tracks:
                continue
            kind, outcome = Kind(row["kind"]), Outcome(row["outcome"])
            end_ns = self.end_ns if row["completed_ns"] == NEVER else row["completed_ns"]
            lane = lanes.setdefault(row["client"], _Lanes()).take(row["invoked_ns"], end_ns)
            about: Event = {"ledger": row["ledger"], "entry": row["entry"], "outcome": outcome.name.lower()}
            if row["error"]:
                about["error"] = row["error"]
            flags = [flag.name.lower() for flag in Flag if flag & row["flags"] and flag.name]
            if flags:
                about["flags"] = ", ".join(flags)
            place, span_ns = (tracks[row["client"]], lane), (row["invoked_ns"], end_ns)
            yield self._span(f"{kind.name.lower()}{_subject(row)}", "operation", place, span_ns, about)

    def _faults(self, rows: Sequence[FaultRow]) -> Iterator[Event]:
        yield _name("process_name", 1, "faults")
        targets = {target: lane for lane, target in enumerate(sorted({row["target"] for row in rows}))}
        for target, lane in targets.items():
            yield _name("thread_name", 1, target, lane)
        for row in sorted(rows, key=lambda row: (row["injected_ns"], row["fault"])):
            if row["injected_ns"] == NEVER:
                continue
            about: Event = {"fault": row["fault"], "params": json.loads(row["params"] or "{}")}
            end_ns = self.end_ns if row["healed_ns"] == NEVER else row["healed_ns"]
            about |= {"healed": row["healed_ns"] != NEVER, "confirmed": row["confirmed_ns"] != NEVER}
            place, span_ns = (1, targets[row["target"]]), (row["injected_ns"], end_ns)
            yield self._span(f"{row['kind']} {row['target']}", "fault", place, span_ns, about)

    def _servers(self, rows: Sequence[ServerRow], first: int) -> Iterator[Event]:
        for track, server in enumerate(sorted({row["server"] for row in rows}), start=first):
            yield _name("process_name", track, f"server {server}")
            boots: dict[int, list[ServerRow]] = {}
            for row in rows:
                if row["server"] == server and row["latest_ns"] != NEVER:
                    boots.setdefault(row["boot"], []).append(row)
            for boot, events in sorted(boots.items()):
                ends = [row["latest_ns"] for row in events if row["event"] == _ENDED]
                begin_ns = min(row["earliest_ns"] for row in events)
                end_ns = max(ends) if ends else self.end_ns
                about: Event = {"ended": bool(ends)}
                yield self._span(f"boot {boot}", "boot", (track, 0), (begin_ns, end_ns), about)
                for row in events:
                    about = {"boot": boot, **json.loads(row["detail"] or "{}")}
                    event = self._event(row["event"], "server", (track, 1), row["latest_ns"], about)
                    yield {"ph": "i", "s": "t", **event}

    def _span(
        self, name: str, category: str, place: tuple[int, int], span_ns: tuple[int, int], about: Event
    ) -> Event:
        """What lasted from one time to another."""
        begin_ns, end_ns = span_ns
        event = self._event(name, category, place, begin_ns, about)
        return {"ph": "X", **event, "dur": max(end_ns - begin_ns, 0) / 1000}

    def _event(self, name: str, category: str, place: tuple[int, int], at_ns: int, about: Event) -> Event:
        """What events of all kinds have; ``place`` are the track and the lane."""
        track, lane = place
        since_us = (at_ns - self.began_ns) / 1000
        return {"name": name, "cat": category, "pid": track, "tid": lane, "ts": since_us, "args": about}


def trace_lines(events: Iterable[Event]) -> Iterator[str]:
    """The events as one JSON document, line by line."""
    yield '{"displayTimeUnit": "ms", "traceEvents": ['
    before = ""
    for event in events:
        yield before + json.dumps(event, separators=(",", ":"))
        before = ","
    yield "]}"


def _subject(row: OperationRow) -> str:
    if row["ledger"] < 0:
        return ""
    return f" {row['ledger']}:{row['entry']}" if row["entry"] >= 0 else f" {row['ledger']}"


def _name(what: str, track: int, name: str, lane: int = 0) -> Event:
    return {"ph": "M", "name": what, "pid": track, "tid": lane, "args": {"name": name}}
