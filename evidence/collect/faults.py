"""The fault log to the ``faults`` table: one row a fault, its phases merged by its number.

A fault passes through planned, injected, confirmed and healed, one line each; ``failed`` is a
separate phase without a time. Proofs are kept by phase.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evidence.codes import NEVER
from evidence.collect.result import Collected, as_json, collected
from evidence.shapes import FaultLine

_TIMED = ("planned", "injected", "confirmed", "healed")
_PHASES = (*_TIMED, "failed")


def collect_faults(lines: Iterable[FaultLine], damage: Iterable[str] = ()) -> Collected:
    """Rows of ``faults``, sorted by fault number; ``proof`` is JSON ``{phase: proof}``.

    A line without number, kind or known phase becomes damage.
    """
    rows: dict[int, dict[str, Any]] = {}
    broken = list(damage)
    for line in lines:
        try:
            _merge(rows, line)
        except (KeyError, TypeError, ValueError):
            broken.append(f"a line of the fault log says nothing usable: {dict(line)}")
    whole = (
        {**row, "params": as_json(row["params"]), "proof": as_json(row["proof"])}
        for _, row in sorted(rows.items())
    )
    return collected("faults", whole, broken)


def _merge(rows: dict[int, dict[str, Any]], line: FaultLine) -> None:
    number, phase = int(line["fault"]), line["phase"]
    kind, target = str(line["kind"]), str(line["target"])
    if phase not in _PHASES:
        raise ValueError(phase)
    row = rows.setdefault(
        number,
        {"fault": number, "kind": kind, "target": target, "params": {}, "proof": {}}
        | {f"{timed}_ns": NEVER for timed in _TIMED},
    )
    if phase in _TIMED:
        row[f"{phase}_ns"] = int(line["at_ns"])
    row["params"] = line.get("params") or row["params"]
    if line.get("proof") or phase == "failed":
        row["proof"][phase] = line.get("proof") or {}
