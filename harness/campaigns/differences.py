"""What changed since the last night: by the units of both, so that a changed plan is another unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.experiments.outcomes import Outcome, Status


@dataclass(frozen=True)
class Change:
    """One unit with another outcome than last time; ``before`` is None where it was not run then."""

    now: Outcome
    before: Status | None

    @property
    def worse(self) -> bool:
        """Whether it is not as expected now, and was before or was not run."""
        return self.now.came is not Status.AS_EXPECTED and self.before in (None, Status.AS_EXPECTED)


def changes(now: Sequence[Outcome], before: Sequence[Outcome]) -> list[Change]:
    """Every unit of ``now`` with another outcome, the worst first; new units only when they failed."""
    known = {one.key: one.came for one in before}
    found = [
        Change(one, known.get(one.key))
        for one in now
        if one.came is not known.get(one.key, Status.AS_EXPECTED)
    ]
    return sorted(found, key=lambda change: (not change.worse, list(Status).index(change.now.came)))
