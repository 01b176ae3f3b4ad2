"""The messages on the links, as lines: requests with sender and receiver, and bookies' answers by boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evidence.codes import EXPLICIT_NEGATIVES, NEVER, Direction, FrameFlag, Message, Status
from evidence.schemas import FrameRow
from reports.explain.moments import Moment, Tone
from reports.explain.rows import Names

_KINDS = {
    Message.FENCING_LAC_READ: "fencing read of the LAC",
    Message.LAC_READ: "read of the LAC",
    Message.WRITE_LAC: "write of the LAC",
    Message.OTHER: "another message",
}
_TELLS_LAC = (Message.ADD, Message.RECOVERY_ADD, Message.WRITE_LAC)
_ASKS_LAC = (Message.FENCING_LAC_READ, Message.LAC_READ)
DECIDING = (Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.RECOVERY_ADD)
"""The messages with which a recovery decides where a ledger ends."""
_V2_FOREIGN = 100_000
"""Added by the proxy to codes of V2 that have no equivalent in V3."""
SHORT_DELAY_NS = 50_000_000
"""A frame that took longer through the proxy is worth a word: a rule or a full pipe kept it."""


def kind_text(kind: int) -> str:
    """The kind of a request as text, such as ``recovery read``."""
    if kind not in Message.__members__.values():
        return f"message of kind {kind}"
    message = Message(kind)
    return _KINDS.get(message, message.name.lower().replace("_", " "))


def status_text(status: int) -> str:
    """``ENOENTRY``; codes that V3 has not by their number."""
    if status >= _V2_FOREIGN:
        return f"code {status - _V2_FOREIGN} of V2"
    return Status(status).name if status in Status.__members__.values() else f"status {status}"


def frame_moments(rows: Iterable[FrameRow], names: Names, entry: int | None) -> Iterator[Moment]:
    """One line for each frame; those of another entry than ``entry`` name theirs."""
    for row in rows:
        source = names.of_number(row["source"])
        of_entry = f" of entry {row['entry']}" if row["entry"] >= 0 and row["entry"] != entry else ""
        what = kind_text(row["kind"]) + of_entry
        decides = row["kind"] in DECIDING
        if row["way"] == Direction.REQUEST:
            lac = f" (LAC {row['lac']})" if row["kind"] in _TELLS_LAC else ""
            text = f"{what}{lac}{request_fate(row, names)}"
            bookie = names.of_number(row["bookie"])
            tone: Tone = "fault" if _is_hindered(row) else "plain"
            at = row["received_ns"], row["seq"], source, text, bookie
            yield Moment(*at, join=True, decides=decides, tone=tone)
        else:
            text = f"{what}: {answer_text(row, names)}"
            boot = names.boot(row["bookie"], row["boot"])
            at = row["received_ns"], row["seq"], boot, text, source
            yield Moment(*at, decides=decides, tone=_tone(row))


def _is_hindered(row: FrameRow) -> bool:
    """Whether a frame did not arrive as it was sent."""
    lost = row["flags"] & (FrameFlag.FORGED | FrameFlag.DROPPED)
    return bool(lost) or row["forwarded_ns"] == NEVER


def _tone(answer: FrameRow) -> Tone:
    shown = {
        answer["status"],
        answer["delivered"] if answer["flags"] & FrameFlag.FORGED else answer["status"],
    }
    if shown.intersection(EXPLICIT_NEGATIVES):
        return "bad"
    if _is_hindered(answer):
        return "fault"
    if Status.EOK in shown:
        return "good"
    return "doubt" if shown.intersection(Status) - {Status.NONE} else "plain"


def request_fate(row: FrameRow, names: Names) -> str:
    """What became of a request on its way, empty when it was simply passed on."""
    if row["flags"] & FrameFlag.FORGED:
        return f": swallowed, {names.rule(row['rule'])} answers in the bookie's place"
    return _way_through(row, names)


def answer_text(row: FrameRow, names: Names) -> str:
    """The status that the bookie gave, and the delivered status where it differs."""
    delivered = status_text(row["delivered"])
    if row["flags"] & FrameFlag.FORGED and row["status"] == Status.NONE:
        return f"{delivered}, forged by {names.rule(row['rule'])}: the bookie was never asked"
    sent = status_text(row["status"])
    if row["kind"] in _ASKS_LAC and row["lac"] >= 0:
        sent += f", LAC {row['lac']}"
    if row["flags"] & FrameFlag.FORGED:
        return f"{sent}, but {delivered} is delivered, forged by {names.rule(row['rule'])}"
    return sent + _way_through(row, names) + "".join(_doubts(row))


def _way_through(row: FrameRow, names: Names) -> str:
    flags, forwarded_ns = row["flags"], row["forwarded_ns"]
    by = f" by {names.rule(row['rule'])}" if row["rule"] else ""
    if flags & FrameFlag.DROPPED:
        return f", dropped{by}"
    late_s = (forwarded_ns - row["received_ns"]) / 1e9
    kept = flags & (FrameFlag.HELD | FrameFlag.DELAYED)
    if forwarded_ns == NEVER:
        return f", kept back{by} and never passed on" if kept else ", never passed on: the connection ended"
    if kept:
        verb = "held" if flags & FrameFlag.HELD else "delayed"
        return f", {verb}{by}, passed on {late_s:.4f} s later"
    if flags & FrameFlag.DUPLICATED:
        return f", passed on twice{by}"
    if flags & FrameFlag.GARBLED:
        return f", passed on with a bit of the entry turned over{by}"
    return f", passed on {late_s:.4f} s later" if late_s * 1e9 > SHORT_DELAY_NS else ""


def _doubts(row: FrameRow) -> Iterator[str]:
    if row["flags"] & FrameFlag.AMBIGUOUS:
        yield " (V2: to one of several requests in flight)"
    if row["flags"] & FrameFlag.UNCORRELATED:
        yield " (to no request that was seen)"
    if row["flags"] & FrameFlag.UNPARSED:
        yield " (not wholly understood)"
