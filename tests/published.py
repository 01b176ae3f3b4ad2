"""What the published run of BP-46's scenario 2 found: a run on any backend finds the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "results" / "published" / "bp46-truncation"


def outcome_of(judgements: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, int]]]:
    """What became of the entries: verdict and counts above 0 of the three properties that say so."""
    return {
        name: (judgements[name]["verdict"], {what: n for what, n in judgements[name]["counts"].items() if n})
        for name in ("durability", "closing", "fencing")
    }


def published(mode: str) -> dict[str, tuple[str, dict[str, int]]]:
    return outcome_of(json.loads((FOLDER / f"{mode}.json").read_text())["judgements"])
