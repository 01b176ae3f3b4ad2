"""The wire log of a run as a whole: its segments, the names of its links, and what is missing.

:mod:`evidence.raw.wirelog` reads the content of one segment; this module checks what a single segment cannot
show, and what the proxy itself reported at the end (``wire`` of ``end.json``). Every sentence on damage
begins with ``frames: ``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evidence.codes import Direction, FrameFlag
from evidence.raw.segments import gaps, used_records
from evidence.raw.wirelog import HEADER_BYTES, RECORD_BYTES, RECORDS, WireSegment
from evidence.recorders import Lines
from evidence.shapes import EndTree, WireLog

LINKS = "links.jsonl"
Links = Mapping[str, Mapping[str, int]]
_NAME = re.compile(r"frames-(\d{6,})\.wire")
_NAMED_GAPS = 20
_HIDDEN = {
    "raw_streams": "streams spoke no protocol of BookKeeper's, so nothing of theirs was looked at",
    "oversize": "frames were above the limit, so they were passed on and not recorded",
    "unparsed": "frames had no readable header",
    "untracked": "requests were too many to be remembered, so their answers count for none",
}
"""Counters of a link for what the log does not show, and the meaning of each."""


@dataclass(frozen=True, slots=True, order=True)
class WireFile:
    """One segment of a log."""

    number: int
    path: Path

    @property
    def records(self) -> int:
        """About how many records were written: exact unless the file is damaged."""
        return used_records(self.path, header_bytes=HEADER_BYTES, record_bytes=RECORD_BYTES, most=RECORDS)


def wire_files(folder: Path) -> list[WireFile]:
    """All segments in a log's folder by number; files with other names are ignored."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("*"))
    return sorted(WireFile(int(name[1]), path) for path, name in found if name)


def is_logged(folder: Path, end: EndTree | None) -> bool:
    """Whether a run kept a log in this folder: a part of it exists, or ``end.json`` mentions it."""
    return bool(wire_files(folder)) or (folder / LINKS).exists() or bool(end and end.get("wire"))


def link_ends(
    lines: Lines, sources: Mapping[str, int], bookies: Mapping[str, int]
) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Link -> (number of its source, number of its bookie), and the errors of the log's list.

    ``lines`` is the content of the log's ``LINKS`` file; a link is named ``source-destination``.
    """
    ends: dict[int, tuple[int, int]] = {}
    damage = [f"frames: {what}" for what in lines.damage]
    for line in lines.records:
        number, name = line.get("link"), line.get("name")
        source, _, bookie = str(name).rpartition("-")
        if not isinstance(number, int) or source not in sources or bookie not in bookies:
            damage.append(f"frames: {LINKS}: {name!r} (number {number!r}) is no link of this run")
        elif ends.setdefault(number, end := (sources[source], bookies[bookie])) != end:
            damage.append(f"frames: {LINKS}: link {number} has two names")
    return ends, damage


def count_frames(segment: WireSegment, file: WireFile, links: Container[int]) -> WireSegment:
    """The segment with its ``frames`` and what is wrong with them; ``links`` are those that have a name.

    A file under another's name has no records: they may be in the tables already.
    """
    if segment.number not in (0, file.number):
        wrong = f"it is segment {segment.number}, so its records are not used"
        return replace(segment, records=segment.records[:0], damage=(*segment.damage, wrong))
    records = segment.records
    pairs, counts = np.unique(records["link"].astype(np.int64) * 256 + records["way"], return_counts=True)
    frames = {divmod(pair, 256): count for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)}
    cut = records["seq"][(records["flags"] & FrameFlag.GAP) != 0][:_NAMED_GAPS].tolist()
    unnamed = sorted({link for link, _ in frames if link not in links})
    wrongs = [f"frames before record {seq} could not be recorded" for seq in cut]
    wrongs += [f"link {link} has no name" for link in unnamed]
    return replace(segment, frames=frames, damage=(*segment.damage, *wrongs))


def damage_to_log(done: Mapping[WireFile, WireSegment], end: EndTree | None) -> list[str]:
    """Sentences on all that the log of a run lacks.

    ``end`` is the tree of ``end.json``. None: the run was never closed, which its verdict reports
    anyway; then the proxy's own counters are missing, and only the files are checked.
    """
    damage = [f"{file.path.name}: {what}" for file, found in done.items() for what in found.damage]
    used = {file.number: found.used for file, found in done.items()}
    damage += gaps(used, RECORDS, "frames-{:06d}.wire".format, "records")
    if end is not None:
        wire = end.get("wire") or {}
        log, links = wire.get("log"), wire.get("links") or {}
        damage += _lost(log)
        damage += _hidden(links)
        damage += _fewer(done.values(), log or {}, links)
    return [f"frames: {what}" for what in damage]


def _lost(log: WireLog | None) -> Iterator[str]:
    if not log:
        yield "the proxy did not report at the end what it had recorded"
        return
    if log.get("lost"):
        yield f"the proxy could not record {log['lost']} frames"
    if log.get("unlogged"):
        yield f"{log['unlogged']} frames passed before the log was opened"
    if log.get("error"):
        yield f"the proxy's log failed: {log['error']}"


def _hidden(links: Links) -> Iterator[str]:
    for name, counters in sorted(links.items()):
        for counter, meaning in _HIDDEN.items():
            if counters.get(counter):
                yield f"link {name}: {counters[counter]} {meaning}"


def _fewer(found: Collection[WireSegment], log: WireLog, links: Links) -> Iterator[str]:
    """Where the files hold fewer records than the proxy had counted; the proxy counts on after that."""
    held, recorded = sum(one.used for one in found), int(log.get("records") or 0)
    if held < recorded:
        yield f"the proxy had recorded {recorded} frames, its files hold {held}"
    if log.get("lost") or log.get("unlogged"):
        return  # Counted by their links and recorded nowhere, as was just said.
    frames: Counter[tuple[int, int]] = Counter()
    for one in found:
        frames.update(one.frames)
    for name, number in sorted((log.get("links") or {}).items()):
        for way, counter in ((Direction.REQUEST, "requests"), (Direction.ANSWER, "answers")):
            passed = int(links.get(name, {}).get(counter) or 0)
            if frames[number, way] < passed:
                yield f"link {name}: {passed} {counter} passed, {frames[number, way]} are recorded"
