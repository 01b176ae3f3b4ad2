"""The bugs as data: which scenario finds which, on which release, and on which it must not.

Independent of runs; :mod:`harness.trackrecord.counting` counts their results.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from plans.expectations import Property
from plans.names import LedgerName, ModeName
from plans.reading.document import parse
from plans.reading.nearest import unknown
from plans.versions import Version
from protocol.errors import UsageError

FILE = Path(__file__).parent / "bugs.yaml"


class Bug(BaseModel):
    """``kind`` of ``property`` on ``ledger``: ``scenario`` in ``mode`` finds it on ``bad`` alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9.-]+$")
    bug: str = Field(min_length=1)
    upstream: str = Field(min_length=1)
    scenario: str
    mode: ModeName
    property: Property
    kind: str = Field(pattern=r"^[a-z_]+$")
    ledger: LedgerName
    bad: Version
    good: Version

    def command(self, release: str) -> str:
        """What repeats one side of it."""
        return f"fencepost run {self.scenario} --mode {self.mode} --bookkeeper {release}"


def bugs(names: Iterable[str] = (), *, file: Path = FILE) -> list[Bug]:
    """All bugs in the order of the file, or the named ones; ``UsageError`` for an unknown name."""
    found = TypeAdapter(list[Bug]).validate_python(parse(file.read_text(encoding="utf-8"), str(file)).tree)
    known = {bug.name: bug for bug in found}
    for name in names:
        if name not in known:
            raise UsageError(unknown("bug", name, known), remedy="`fencepost trackrecord --list` shows all")
    return [known[name] for name in names] or found
