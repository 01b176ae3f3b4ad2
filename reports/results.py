"""The result of a run: the verdict of each mode, and whether its plan expected it. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evidence.findings import RunVerdict
from evidence.folder import RunFolder
from plans.comparison import Comparison
from reports.repeating import repeat_command


@dataclass(frozen=True)
class ModeResult:
    """The result of one mode, and whether the plan expected it; ``took_s`` is 0 for a stored run."""

    mode: str
    folder: RunFolder
    verdict: RunVerdict
    comparison: Comparison
    took_s: float = 0.0


@dataclass(frozen=True)
class RunResult:
    """A whole run: every mode that ran, in order."""

    scenario: str
    seed: int
    path: Path
    modes: Sequence[ModeResult]

    @property
    def repeat(self) -> str:
        """The command that repeats it."""
        return repeat_command([mode.folder.run() for mode in self.modes])
