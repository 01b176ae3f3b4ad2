"""Append-only records of a run in progress: one JSON object a line (faults, steps, events).

Each line reaches the file in one write(2), so that a killed process leaves whole lines and at
most one torn one at the end. Does not interpret the lines (``evidence.collect`` does).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from evidence.folder import RunFolder
from protocol.errors import EvidenceError

NAMED = "named"
"""The step of a line that gives a ledger its name. Names are for people: judging works on ids."""
CONTRADICTED = "contradicted"
"""Marks the record of a step that ended because a server did what the plan rules out."""


class Recorder:
    """Writes one file of lines; safe to use from many threads, and beside other appenders."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._torn = False
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise _unrecorded(path, error) from error

    def write(self, record: Mapping[str, object]) -> None:
        """Append one record; when it returns, the kernel has the whole line.

        Raises ``EvidenceError`` when the disk refuses; the lines before it stay readable.
        """
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with self._lock:
            if self._fd < 0:
                raise EvidenceError(f"{self._path} is closed; nothing can be recorded any more")
            self._append(b"\n" + line if self._torn else line)

    def close(self) -> None:
        """Sync to disk and close; a second time does nothing."""
        with self._lock:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            try:
                os.fsync(fd)
            except OSError as error:
                raise _unrecorded(self._path, error) from error
            finally:
                os.close(fd)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        written = 0
        try:
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError as error:
            # Half a line may be there now; the next one must not be glued to it.
            self._torn = self._torn or written > 0
            raise _unrecorded(self._path, error) from error
        self._torn = False


@dataclass(frozen=True, slots=True)
class Lines:
    """The content of a file of lines: its records in file order, and damage by line number.

    The reader declares what its records are (:mod:`evidence.shapes`).
    """

    records: tuple[Any, ...]
    damage: tuple[str, ...] = ()


def read_lines(path: Path) -> Lines:
    """Read a recorder's file. A missing file is empty.

    A torn last line (no newline) was never finished and is left out; any other unreadable line
    is named in ``damage``. Raises ``EvidenceError`` when the file itself cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Lines(())
    except OSError as error:
        raise EvidenceError(f"cannot read {path}: {error.strerror}") from error
    records = []
    damage: list[str] = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        record = _parsed(line)
        if record is None:
            damage.append(f"{path.name} line {number} is damaged")
        else:
            records.append(record)
    return Lines(tuple(records), tuple(damage))


def ledger_names(folder: RunFolder) -> dict[int, str]:
    """Ledger id -> its name in the plan; the first name given to an id stays."""
    names: dict[int, str] = {}
    for record in read_lines(folder.steps).records:
        ledger = record.get("ledger")
        if record.get("step") == NAMED and isinstance(ledger, int) and "name" in record:
            names.setdefault(ledger, str(record["name"]))
    return names


def ledger_name(names: Mapping[int, str], ledger: int) -> str:
    """A ledger's name in the plan, else ``ledger 4``; empty for -1, which is no ledger."""
    return names.get(ledger, f"ledger {ledger}") if ledger >= 0 else ""


def _parsed(line: bytes) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _unrecorded(path: Path, error: OSError) -> EvidenceError:
    return EvidenceError(
        f"cannot record in {path}: {error.strerror}",
        remedy="free space there and run again; what was recorded before is kept",
    )
