"""What searches print: tables of coverage, durations, and what to do with a run that failed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from search.coverage import Coverage
from search.running import Ended

_MINUTE_S, _HOUR_S = 60, 3600
_MOST_ROWS = 40


def coverage_tables(coverage: Coverage) -> Iterator[Table]:
    """A table for each category, the most exercised first."""
    for category, names in coverage.seen.items():
        table = Table(title=f"{category}: {len(names) or 'none'}", title_justify="left", box=None)
        table.add_column("exercised")
        table.add_column("runs", justify="right")
        table.add_column("times", justify="right")
        ordered = sorted(names.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        for name, (runs, times) in ordered[:_MOST_ROWS]:
            table.add_row(name, f"{runs} of {coverage.runs}", f"{times:,}")
        if len(ordered) > _MOST_ROWS:
            table.add_row(f"... and {len(ordered) - _MOST_ROWS} more (--json has all)", "", "")
        yield table


def what_to_do(ended: Ended) -> Iterator[str]:
    """The path of a run, and the commands for the next steps."""
    yield f"folder:  {ended.folder}"
    if ended.kinds:
        yield f"explain: fencepost check {ended.folder}"
    yield f"again:   fencepost replay {ended.folder} --times 5"
    if ended.kinds:
        yield f"smaller: fencepost shrink {ended.folder}"


def duration(seconds: float | None) -> str:
    """``45 s``, ``5 min``, ``1 h 30 min``."""
    if seconds is None:
        return "no time"
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / _MINUTE_S)
    return f"{minutes} min" if minutes < 2 * _MINUTE_S else f"{minutes // 60} h {minutes % 60} min"
