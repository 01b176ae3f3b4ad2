"""The log model: messages are sent to logs and get offsets there; polls return messages with their offsets.

The analysis of Jepsen's Kafka workload, as far as it rests on single messages: one offset of a log has one
message, one message one offset; an acknowledged message is polled by some consumer once a poll has passed its
offset; polls of one consumer go forward without leaving a known message out, and so do the offsets that one
producer receives. Offsets may have gaps (Kafka's own records), so the known messages give the order.

Source: Jepsen, ``jepsen/src/jepsen/tests/kafka.clj``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from checkers.judging.found import capped
from evidence.codes import Outcome
from evidence.exchange.operations import Operation, hashable, text_of
from evidence.findings import Finding, Judgement, Verdict
from protocol.errors import EvidenceError

LOG = "log"
KINDS = (
    "lost-write",
    "duplicate",
    "inconsistent-offsets",
    "aborted-read",
    "garbage-read",
    "poll-skip",
    "nonmonotonic-poll",
    "nonmonotonic-send",
)
_CLIENTS = ("send", "poll", "txn")
Key = Hashable
Message = Hashable
Name = tuple[Key, Message]


class _Message(NamedTuple):
    """One message at one place, as one operation received it."""

    key: Key
    offset: int
    message: Message
    by: Operation

    @property
    def name(self) -> Name:
        """The message, whatever its offset."""
        return self.key, self.message

    @property
    def text(self) -> str:
        """``log "x": message 3``."""
        return f"log {text_of(self.key)}: message {text_of(self.message)}"

    @property
    def proof(self) -> str:
        """Which operation received it where."""
        return f"operation {self.by.index} of process {self.by.process} got offset {self.offset}"


@dataclass
class _Seen:
    """All that a history says of offsets; ``asked`` are the sends of each message, of any outcome."""

    sent: list[_Message] = field(default_factory=list)
    polls: list[tuple[Operation, list[_Message]]] = field(default_factory=list)
    asked: dict[Name, list[Operation]] = field(default_factory=lambda: defaultdict(list))
    moved: dict[int, list[tuple[int, bool]]] = field(default_factory=lambda: defaultdict(list))
    """When each process took other logs to poll, and whether by ``subscribe``."""

    @cached_property
    def polled(self) -> list[_Message]:
        """The messages of all polls."""
        return [one for _, messages in self.polls for one in messages]

    @cached_property
    def unpolled(self) -> list[_Message]:
        """Acknowledged messages that no poll returned."""
        polled = {one.name for one in self.polled}
        return [one for one in self.sent if one.name not in polled]

    @cached_property
    def ends(self) -> dict[Key, int]:
        """The highest offset of each log that anybody polled."""
        ends: dict[Key, int] = {}
        for one in self.polled:
            ends[one.key] = max(one.offset, ends.get(one.key, -1))
        return ends


def judge_offsets(operations: Sequence[Operation]) -> Judgement:
    """Judge a history of ``send``, ``poll`` and ``txn``, with ``assign`` and ``subscribe``.

    ``unknown`` when there is no anomaly and no acknowledged message was polled. ``EvidenceError`` for another
    function, or a value that is no list of sends and polls.
    """
    seen = _see(operations)
    findings = [*_contents(seen), *_unsent(seen), *_lost(seen), *_consumers(seen), *_producers(seen)]
    counts = Counter(dict.fromkeys(KINDS, 0))
    counts.update(one.kind for one in findings)
    unseen = sum(one.offset > seen.ends.get(one.key, -1) for one in seen.unpolled)
    good = len(seen.sent) > len(seen.unpolled)
    return Judgement(
        property=LOG,
        verdict=Verdict.ANOMALY if findings else Verdict.VALID if good else Verdict.UNKNOWN,
        needed="a message that was acknowledged with its offset and polled",
        seen={
            "operations": len(operations),
            "logs": len({one.key for one in seen.sent} | set(seen.ends)),
            "sent": len(seen.sent),
            "polls": len(seen.polls),
            "polled": len({one.name for one in seen.polled}),
            "unseen": unseen,
        },
        findings=capped(findings),
        counts=dict(counts),
        notes=[f"{unseen:,} acknowledged messages lie beyond what anybody polled"] if unseen else (),
    )


def _see(operations: Sequence[Operation]) -> _Seen:
    seen = _Seen()
    for one in operations:
        if one.function in ("assign", "subscribe"):
            seen.moved[one.process].append((one.invoked, one.function == "subscribe"))
        elif one.function in _CLIENTS:
            _take(one, seen)
        elif one.function not in ("crash", "debug-topic-partitions", "close"):
            raise EvidenceError(
                f"operation {one.index}: function {one.function!r}; the model log has {', '.join(_CLIENTS)}, "
                "assign and subscribe",
                remedy="other models read other histories: see docs/log.md",
            )
    return seen


def _take(one: Operation, seen: _Seen) -> None:
    for micro in _micros(one, one.asked):
        if micro[0] == "send":
            seen.asked[hashable(micro[1]), _message(micro[2])].append(one)
    if one.outcome is not Outcome.OK:
        return
    polled: list[_Message] = []
    for micro in _micros(one, one.returned):
        if micro[0] == "send":
            if isinstance(micro[2], list) and isinstance(micro[2][0], int):
                seen.sent.append(_placed(one, micro[1], micro[2]))
        else:
            found = micro[1] if len(micro) > 1 and isinstance(micro[1], dict) else {}
            polled += [_placed(one, key, pair) for key, pairs in found.items() for pair in pairs]
    if polled:
        seen.polls.append((one, polled))


def _micros(one: Operation, value: object) -> Iterator[list[object]]:
    for micro in value if isinstance(value, list) else ():
        function = str(micro[0]).removeprefix(":") if isinstance(micro, list) and micro else ""
        if function not in ("send", "poll"):
            raise EvidenceError(
                f"operation {one.index}: a micro-operation is [:send key value] or [:poll], this is {micro!r}"
            )
        if function == "send" and len(micro) != 3:
            raise EvidenceError(f"operation {one.index}: a send has a key and a value, this is {micro!r}")
        yield [function, *micro[1:]]


def _placed(one: Operation, key: object, pair: object) -> _Message:
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], int):
        raise EvidenceError(f"operation {one.index}: a message is [offset value], this is {pair!r}")
    return _Message(hashable(key), pair[0], hashable(pair[1]), one)


def _message(value: object) -> Message:
    """The message of a send, as it was asked or with the offset that it got."""
    return hashable(value[1] if isinstance(value, list) and len(value) == 2 else value)


def _contents(seen: _Seen) -> Iterator[Finding]:
    at: dict[tuple[Key, int], dict[Message, _Message]] = defaultdict(dict)
    of: dict[Name, dict[int, _Message]] = defaultdict(dict)
    for one in (*seen.sent, *seen.polled):
        at[one.key, one.offset].setdefault(one.message, one)
        of[one.name].setdefault(one.offset, one)
    for (key, offset), messages in at.items():
        if len(messages) > 1:
            proof = [f"{one.proof}: {text_of(message)}" for message, one in messages.items()]
            text = f"log {text_of(key)}: offset {offset} has several messages"
            yield _finding("inconsistent-offsets", text, *proof)
    for offsets in of.values():
        if len(offsets) > 1:
            proof = [f"{one.proof}: at offset {offset}" for offset, one in sorted(offsets.items())]
            one, *_ = offsets.values()
            yield _finding("duplicate", f"{one.text} is at several offsets", *proof)


def _unsent(seen: _Seen) -> Iterator[Finding]:
    reported: set[Name] = set()
    for one in seen.polled:
        sends = seen.asked.get(one.name, [])
        if one.name in reported or any(send.outcome is not Outcome.FAIL for send in sends):
            continue
        reported.add(one.name)
        if sends:
            failed = f"operation {sends[0].index}, which sent it, failed"
            yield _finding("aborted-read", f"{one.text} of a failed operation was polled", one.proof, failed)
        else:
            text = f"{one.text} was polled, and was never sent"
            yield _finding("garbage-read", text, f"operation {one.by.index}")


def _lost(seen: _Seen) -> Iterator[Finding]:
    for one in seen.unpolled:
        end = seen.ends.get(one.key, -1)
        if one.offset <= end:
            yield _finding(
                "lost-write",
                f"log {text_of(one.key)}: acknowledged message {text_of(one.message)} is lost",
                f"{one.proof}: sent to offset {one.offset}",
                f"polls went on to offset {end}, no poll returned it",
            )


def _consumers(seen: _Seen) -> Iterator[Finding]:
    """A consumer that has its logs by ``assign``, or took none, goes forward and leaves nothing out."""
    known: dict[Key, set[int]] = defaultdict(set)
    for one in (*seen.sent, *seen.polled):
        known[one.key].add(one.offset)
    places = {key: {offset: at for at, offset in enumerate(sorted(own))} for key, own in known.items()}
    before: dict[tuple[int, Key], _Message] = {}
    for read, messages in seen.polls:
        moves = [(at, free) for at, free in seen.moved.get(read.process, ()) if at <= read.invoked]
        for one in messages:
            last = before.get((read.process, one.key))
            before[read.process, one.key] = one
            if last is None:
                continue
            moved = any(last.by.invoked < at for at, _ in moves)
            if last.by is not read and (moved or (moves and moves[-1][1])):
                continue
            step = places[one.key][one.offset] - places[one.key][last.offset]
            if step != 1:
                kind = "poll-skip" if step > 1 else "nonmonotonic-poll"
                what = "and left known messages out" if step > 1 else "and so went back"
                where = f"process {read.process} polled {one.offset} after {last.offset}"
                yield _finding(kind, f"log {text_of(one.key)}: {where}, {what}", last.proof, one.proof)


def _producers(seen: _Seen) -> Iterator[Finding]:
    before: dict[tuple[int, Key], _Message] = {}
    for one in seen.sent:
        last = before.get((one.by.process, one.key))
        before[one.by.process, one.key] = one
        if last is not None and one.offset <= last.offset:
            step = f"process {one.by.process} got offset {one.offset} after {last.offset}"
            yield _finding("nonmonotonic-send", f"log {text_of(one.key)}: {step}", last.proof, one.proof)


def _finding(kind: str, text: str, *proof: str) -> Finding:
    return Finding(property=LOG, kind=kind, text=text, proof=proof)
