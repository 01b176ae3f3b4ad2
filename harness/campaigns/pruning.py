"""Old nights are removed by the campaign's rule; the newest stay, and those at work are never touched."""

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
