"""Known defects of BookKeeper that any plan of a mode may meet, because they depend on thread timing.

They are stated here once instead of in every plan that crashes a bookie. Only the defect itself is
listed: a loss that results from it is an anomaly, unless the plan states it. A plan that is about a
defect must state it itself.
"""

from __future__ import annotations

from plans.expectations import Defect
from plans.versions import within

# Which ledgers of a bookie lose their keys depends on the requests between a crash and a checkpoint.
_KEYS = "docs/findings/damaged-key.md"
# BookKeeper does not wait for the preboot check; a bookie registers 25 to 90 ms after its end.
_PREBOOT = "docs/findings/preboot-not-awaited.md"
STANDING: dict[str, tuple[Defect, ...]] = {
    "protected": (
        *(
            Defect(property="servers", kind=kind, rate="sometimes", versions=">=4.15", reference=_PREBOOT)
            for kind in ("available_unchecked", "denied_unchecked", "full_check_early")
        ),
        Defect(
            property="availability", kind="key_lost", rate="sometimes", versions=">=4.18", reference=_KEYS
        ),
    ),
}


def standing(mode: str, version: str) -> tuple[Defect, ...]:
    """The known defects that any plan may meet in ``mode`` on BookKeeper ``version``."""
    return tuple(entry for entry in STANDING.get(mode, ()) if within(version, entry.versions))
