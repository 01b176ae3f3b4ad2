"""The same questions to DuckDB: a separate script, for it runs where only DuckDB is installed.

``python sql.py TABLES``: asks the tables of a run what was lost, delivered out of order, damaged,
received with a lower LAC or acknowledged twice, and prints what it found and what that took, as JSON.
Judges less than the checkers do: no metadata, no time, no frames, no proof.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import duckdb  # type: ignore[import-not-found,unused-ignore]  # is in a separate environment

_OPERATIONS = """
with each as (
  select ledger, entry,
    count(*) filter (kind = 2 and outcome = 1) as acked,
    count(*) filter (kind = 6 and outcome = 1 and flags & 16 != 0 and proof = 1) as delivered,
    count(*) filter (kind = 6 and outcome = 1 and proof = 2) as damaged,
    count(*) filter (kind = 6 and outcome = 1 and expected >= 0 and entry != expected) as misplaced
  from read_parquet('{operations}') where entry >= 0 group by ledger, entry
)
select 'twice', ledger, entry from each where acked > 1
union all select 'damaged', ledger, entry from each where damaged > 0
union all select 'misplaced', ledger, entry from each where misplaced > 0
union all select 'unread', ledger, entry from each where acked > 0 and delivered = 0
"""
_BACK = """
select 'back', ledger, lac from read_parquet('{operations}')
where outcome = 1 and (kind in (2, 4, 7, 9) or kind = 5 and lac >= 0) and lac < lac_before
"""
_COPIES = """
select 'absent', ledger, entry from read_parquet('{census}')
group by ledger, entry having count(*) filter (holding = 1) = 0
"""


def main(tables: Path) -> None:
    """Ask, and print the answers with wall and processor time and the peak of memory."""
    places = {name: str(tables / name / "**" / "*.parquet") for name in ("operations", "census")}
    asked = [_OPERATIONS, _BACK]
    if (tables / "census").is_dir():
        asked.append(_COPIES)
    wall, cpu = time.monotonic(), time.process_time()
    connection = duckdb.connect()
    found = [row for query in asked for row in connection.sql(query.format(**places)).fetchall()]
    answer = {
        "found": sorted(found),
        "wall_s": time.monotonic() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "version": duckdb.__version__,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
