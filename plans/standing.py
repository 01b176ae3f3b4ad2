"""Known defects of BookKeeper that any plan of a mode may meet, for they hang on which thread comes first.

They are stated here once instead of in every plan that crashes a bookie. Only what is wrong by itself
stands here: a loss that comes of it is an anomaly, unless the plan states it. A defect belongs in its
plan wherever the plan is about it.
"""

from __future__ import annotations

from plans.expectations import Defect
from plans.versions import within

# Which of a bookie's ledgers lose their keys hangs on what asks for them between a crash and a checkpoint.
_KEYS = "docs/findings/damaged-key.md"
# Registration follows the end of the preboot check, which nobody waits for, by 25 to 90 ms.
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
    """What any plan may meet in ``mode`` at BookKeeper ``version``."""
    return tuple(entry for entry in STANDING.get(mode, ()) if within(version, entry.versions))
