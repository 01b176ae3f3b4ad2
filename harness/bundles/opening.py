"""One way to a stored run, whether it is a folder or a bundle."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidence.folder import FoundRun, find_run, modes_of
from harness.bundles.reading import examined
from protocol.errors import EvidenceError


def is_bundle(reference: str) -> bool:
    """Whether a user's word for a run means an archive: it is a file, or is named like one."""
    return Path(reference).is_file() or reference.endswith(".zip")


@contextmanager
def opened(results: Path, reference: str, *, tables: bool = False) -> Iterator[FoundRun]:
    """The run that ``reference`` names: a bundle, or what :func:`evidence.folder.find_run` knows.

    Of a bundle the evidence is put below ``results`` while the block lasts: nothing stays, and
    the bundle never changes. ``tables`` collects it, which takes a Spark session; its verdict stays the one
    that it came with. Raises ``EvidenceError`` when there is no such run, or the bundle is damaged or
    hostile.
    """
    if not is_bundle(reference):
        yield find_run(results, reference)
        return
    results.mkdir(parents=True, exist_ok=True)
    with (
        examined(Path(reference)) as archive,
        tempfile.TemporaryDirectory(prefix=f".bundle-{os.getpid()}-", dir=results) as scratch,
    ):
        path = archive.place(Path(scratch))
        found = FoundRun(path, modes_of(path))
        if not found.modes:
            raise EvidenceError(f"{reference} holds no run")
        if tables:
            _collect(found, results)
        yield found


def _collect(found: FoundRun, results: Path) -> None:
    from harness.judging import judging

    with judging(results) as judge:
        for folder in found.modes:
            judge.collect(folder)
