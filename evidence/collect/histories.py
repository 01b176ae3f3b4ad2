"""The clients' history files of a run as a whole: which there are, and whether any is missing.

A client's boot is a chain of segments numbered from 1; all but the last are full. ``evidence.raw.history``
reads the content of one segment; this module checks what a single segment cannot show.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evidence.raw.history import BOOT_SHIFT, SLOT_BYTES, SLOTS, Segment
from evidence.raw.segments import gaps, used_records
from evidence.shapes import EndTree
from protocol.addresses import OBSERVER

_NAME = re.compile(r"([a-z][a-z0-9]{0,15})-(\d{3,})-(\d{6,})\.hist")


@dataclass(frozen=True, slots=True, order=True)
class SegmentFile:
    """One history file: its client, boot and part."""

    client: str
    boot: int
    segment: int
    path: Path

    @property
    def name(self) -> str:
        """Client, boot and segment, as the recorder names its files."""
        return f"{self.client}-{self.boot:03d}-{self.segment:06d}.hist"

    @property
    def slots(self) -> int:
        """About how many slots were used: exact unless the file is damaged."""
        return used_records(self.path, header_bytes=SLOT_BYTES, record_bytes=SLOT_BYTES, most=SLOTS)


def segment_files(operations: Path) -> list[SegmentFile]:
    """All history files in a folder, by client, boot and number; files with other names are ignored."""
    return sorted(file for path in operations.glob("*") if (file := segment_of(path)))


def segment_of(path: Path) -> SegmentFile | None:
    """The history file that a path names, None for other names."""
    name = _NAME.fullmatch(path.name)
    file = SegmentFile(name[1], int(name[2]), int(name[3]), path) if name else None
    return file if file is not None and file.name == path.name else None


def tables_of(client: str) -> str:
    """The name that begins a sentence on damage to a client's history.

    The observer's records are part of every table, so their damage is named after no table.
    """
    return "histories" if client == OBSERVER else "operations"


def misplaced(file: SegmentFile, segment: Segment, number: int | None) -> tuple[str, ...]:
    """Why a file's content contradicts its name; empty when it does not.

    ``number`` is the client's number in ``run.json``, None for a client that the run does not know.
    """
    if not segment.slots or not segment.first_seq:
        return ()
    first_seq = (file.boot << BOOT_SHIFT) + 1 + (file.segment - 1) * SLOTS
    if segment.client != number:
        return (f"it is of client number {segment.client}, {file.client} has {number}",)
    if segment.first_seq != first_seq:
        return (f"it begins with slot number {segment.first_seq}, by its name with {first_seq}",)
    return ()


def damage_to_histories(
    done: Mapping[SegmentFile, Segment], end: EndTree | None, clients: Iterable[str] = ()
) -> list[str]:
    """Damage to single files, gaps between files, clients without files or with too few slots.

    ``end`` is the tree of ``end.json``, None when the run was not closed; ``clients`` are those
    of ``run.json``, each of which opened a history before it was ready.
    """
    damage: list[str] = []
    used: Counter[str] = Counter()
    boots: dict[str, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for file, segment in done.items():
        boots[file.client][file.boot][file.segment] = segment.slots
        used[file.client] += segment.slots + segment.cut  # as they are counted at a run's end
        damage += [f"{tables_of(file.client)}: {file.path.name}: {what}" for what in segment.damage]
    for client in sorted(boots):
        damage += [f"{tables_of(client)}: {what}" for what in _gaps(client, boots[client])]
    ended = end["histories"] if end else {}
    for client, report in sorted(ended.items()):
        if used[client] < int(report.get("slots") or 0):
            held = f"its files hold {used[client]}"
            damage.append(f"{tables_of(client)}: {client} recorded {report['slots']} slots, {held}")
    unknown = set(clients) - set(boots) - set(ended)
    return damage + [f"{tables_of(client)}: no history of {client}" for client in sorted(unknown)]


def _gaps(client: str, boots: Mapping[int, Mapping[int, int]]) -> Iterable[str]:
    for boot in range(1, max(boots) + 1):
        if boot not in boots:
            yield f"no history of {client}, boot {boot}"
            continue
        yield from gaps(boots[boot], SLOTS, f"{client}-{boot:03d}-{{:06d}}.hist".format, "slots")
