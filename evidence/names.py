"""Which ledger has which name in its plan, as the run recorded it.

Names are for people: judging works on ids and only repeats names.
"""

from __future__ import annotations

from evidence.folder import RunFolder
from evidence.recorders import read_lines

NAMED = "named"


def ledger_names(folder: RunFolder) -> dict[int, str]:
    """Ledger id -> its name in the plan; the first name given to an id stays."""
    names: dict[int, str] = {}
    for record in read_lines(folder.steps).records:
        ledger = record.get("ledger")
        if record.get("step") == NAMED and isinstance(ledger, int):
            names.setdefault(ledger, str(record.get("name", f"ledger {ledger}")))
    return names
