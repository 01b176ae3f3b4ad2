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
    for night in islice(nights(place), keep, None):
        try:
            with night.alone():
                shutil.rmtree(night.path)
        except UsageError:
            continue
        removed.append(night.path)
    return removed
