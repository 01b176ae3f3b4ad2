"""Evidence that was lost before a run was closed: each doctor changes the files of a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from evidence.folder import RunFolder
from evidence.raw.history import SLOT_BYTES

Doctor = Callable[[RunFolder], None]


def of_the_writer(change: Callable[[bytearray], None]) -> Doctor:
    """Changes the bytes of the writer's history."""

    def doctor(folder: RunFolder) -> None:
        path = folder.operations / "writer-001-000001.hist"
        content = bytearray(path.read_bytes())
        change(content)
        path.write_bytes(content)

    return doctor


def torn(slots: Iterable[int]) -> Doctor:
    """The last eight bytes of outcomes are zero, as where a killed client was storing them."""

    def change(content: bytearray) -> None:
        for slot in slots:
            content[(2 + slot) * SLOT_BYTES - 8 : (2 + slot) * SLOT_BYTES] = bytes(8)

    return of_the_writer(change)


def cut_behind(slots: int) -> Doctor:
    """Only this number of slots is left."""

    def change(content: bytearray) -> None:
        content[(1 + slots) * SLOT_BYTES :] = bytes(len(content) - (1 + slots) * SLOT_BYTES)

    return of_the_writer(change)


def no_faults(folder: RunFolder) -> None:
    folder.faults.write_text("")
