"""A summary of a ledger's messages: counts for most, single lines for fencing and recovery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc

from evidence.codes import NEVER, Direction, FrameFlag, Status
from evidence.schemas import FrameRow
from reports.explain.moments import Moment
from reports.explain.rows import Names, stretches
from reports.explain.wire import answer_text, frame_moments, kind_text, request_fate, status_text

_ACTS = {
    FrameFlag.FORGED: "forged",
    FrameFlag.DROPPED: "dropped",
    FrameFlag.HELD: "held for a while",
    FrameFlag.DELAYED: "delayed",
    FrameFlag.DUPLICATED: "sent twice",
    FrameFlag.GARBLED: "garbled",
}
_MOST_LINES = 120
_SHORTEST_STRETCH = 4
"""More frames of recovery than this are summarised by ranges of entries."""

_stream = itemgetter("source", "bookie", "boot", "kind", "way")
Count = Mapping[str, int]
"""A number of frames (``count_all``) by all that a summary tells apart."""


def deciding_moments(rows: Sequence[FrameRow], names: Names) -> Iterator[Moment]:
    """Every message that fences or recovers; where they are very many, entries that went alike as one.

    Recovery asks the bookies of a write set in turn, so a bookie's entries may be as far apart as
    there are bookies and still follow each other.
    """
    if len(rows) <= _MOST_LINES:
        yield from frame_moments(rows, names, None)
        return
    step = len({row["bookie"] for row in rows})

    def continues(one: FrameRow, other: FrameRow) -> bool:
        """Whether they have the same fate, and ids that follow each other, at most ``step`` apart."""
        near = _stream(one) == _stream(other) and other["entry"] - one["entry"] <= step
        return near and _text(one, names) == _text(other, names)

    ordered = sorted(rows, key=lambda row: (*_stream(row), row["entry"], row["seq"]))
    for stretch in stretches(ordered, continues):
        if len(stretch) < _SHORTEST_STRETCH:
            yield from frame_moments(stretch, names, None)
        else:
            yield _as_one(stretch, names)


def _text(row: FrameRow, names: Names) -> str:
    """What became of a frame, without its times: they differ from one to the next."""
    plain: FrameRow = {
        **row,
        "forwarded_ns": row["forwarded_ns"] if row["forwarded_ns"] == NEVER else row["received_ns"],
    }
    return request_fate(plain, names) if row["way"] == Direction.REQUEST else f": {answer_text(plain, names)}"


def _as_one(stretch: list[FrameRow], names: Names) -> Moment:
    first = min(stretch, key=lambda row: (row["received_ns"], row["seq"]))
    took_s = (max(row["received_ns"] for row in stretch) - first["received_ns"]) / 1e9
    entries = sorted({row["entry"] for row in stretch})
    span = f"entries {entries[0]}..{entries[-1]}"
    if len(entries) <= entries[-1] - entries[0]:
        span = f"{len(entries)} of {span}"
    frames = f"{len(stretch)} frames in {took_s:.4f} s"
    (line,) = frame_moments([first], names, None)
    return replace(
        line, what=f"{kind_text(first['kind'])} of {span}{_text(first, names)} ({frames})", join=False
    )


def traffic(frames: pa.Table, names: Names) -> Iterator[str]:
    """A line for each link and kind of message: how many were sent, and what each boot answered."""
    if not frames.num_rows:
        return
    yield "  messages: sent; then what the bookie answered"
    groups = [
        (key, list(rows))
        for key, rows in groupby(_counted(frames), key=itemgetter("source", "bookie", "kind"))
    ]
    width = max(len(_link(source, bookie, names)) for (source, bookie, _), _ in groups)
    for (source, bookie, kind), rows in groups:
        yield f"    {_link(source, bookie, names):{width}}  {kind_text(kind):23}  {_sums(rows, names)}"


def _link(source: int, bookie: int, names: Names) -> str:
    return f"{names.of_number(source)} -> {names.of_number(bookie)}"


def _counted(frames: pa.Table) -> list[Count]:
    """Counts by all that a summary tells apart, in the order of these keys; ``lost``: never passed on."""
    keys = ["source", "bookie", "kind", "way", "boot", "status", "delivered", "rule"]
    acts = pc.bit_wise_and(frames["flags"], pa.scalar(int(sum(_ACTS)), pa.int32()))
    lost = pc.equal(frames["forwarded_ns"], NEVER)
    table = frames.select(keys).append_column("acts", acts).append_column("lost", lost)
    keys += ["acts", "lost"]
    rows = table.group_by(keys).aggregate([([], "count_all")]).to_pylist()
    return sorted(rows, key=itemgetter(*keys))


def _sums(rows: list[Count], names: Names) -> str:
    requests = [row for row in rows if row["way"] == Direction.REQUEST]
    answers = [row for row in rows if row["way"] == Direction.ANSWER]
    parts = [f"{_sum(requests):,} sent{_bracketed(_deed(row, names) for row in requests)}"]
    for boot, group in groupby(answers, key=lambda row: int(row["boot"])):
        who = names.boot(rows[0]["bookie"], boot)
        parts.append(f"{who}: {', '.join(_answers(list(group), names))}")
    return "; ".join(parts)


def _answers(rows: list[Count], names: Names) -> Iterator[str]:
    for status, group in groupby(rows, key=lambda row: int(row["status"])):
        alike = list(group)
        answer = "answers that are not its own" if status == Status.NONE else status_text(status)
        yield f"{_sum(alike):,} {answer}{_bracketed(_deed(row, names) for row in alike)}"


def _deed(row: Count, names: Names) -> str:
    """What the proxy did with some alike frames, empty when it simply passed them on."""
    by = f" by {names.rule(row['rule'])}" if row["rule"] else ""
    return f"{row['count_all']:,} {verb}{by}" if (verb := _verb(row)) else ""


def _verb(row: Count) -> str:
    if row["acts"] & FrameFlag.FORGED:
        is_answer = row["way"] == Direction.ANSWER
        return f"delivered as {status_text(row['delivered'])}" if is_answer else "swallowed and answered"
    if row["lost"] and not row["acts"] & FrameFlag.DROPPED:
        return "never passed on"
    return next((verb for flag, verb in _ACTS.items() if row["acts"] & flag), "")


def _bracketed(texts: Iterable[str]) -> str:
    joined = ", ".join(text for text in texts if text)
    return f" ({joined})" if joined else ""


def _sum(rows: Iterable[Count]) -> int:
    return sum(row["count_all"] for row in rows)
