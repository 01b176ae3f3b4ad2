"""Removes old nights by the campaign's rule; keeps the newest, and never touches a night in progress."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

from harness.experiments.store import nights
from protocol.errors import UsageError


def prune(place: Path, keep: int) -> list[Path]:
    """Remove all but the newest ``keep`` nights below ``place``; returns what was removed."""
    removed = []
    for store in islice(nights(place), keep, None):
        try:
            with store.alone():
                shutil.rmtree(store.path)
        except UsageError:
            continue
        removed.append(store.path)
    return removed
