"""``fencepost report --trends``: one report on all stored runs of a results folder, read on Spark."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from evidence.folder import every_mode
from harness.judging import session_in
from harness.verbs import typed
from protocol.errors import EvidenceError


def report_trends(results: Path, *, as_json: bool, csv: Path | None) -> int:
    """Print what the runs below ``results`` say together; ``csv`` takes one row for each run and mode.

    Raises ``EvidenceError`` where there is no stored run, or ``csv`` cannot be written.
    """
    from harness.reports.trends import csv_text, json_text, trend_lines
    from pipeline.trends import LeftOut, Trend, read_trends

    folders = stored_modes(results)
    if not folders:
        raise EvidenceError(
            f"no stored run below {results}",
            remedy="`fencepost run` makes one; --results names another folder",
        )
    with session_in(results) as session:
        read = read_trends(session, folders)
    trends = [replace(one, path=_below(one.path, results)) for one in read if isinstance(one, Trend)]
    left_out = [replace(one, path=_below(one.path, results)) for one in read if isinstance(one, LeftOut)]
    if csv is not None:
        _write(csv, csv_text(trends))
    if as_json:
        sys.stdout.write(json_text(trends, left_out))
    else:
        for line in trend_lines(trends, left_out):
            print(typed(line))
    return 0


def stored_modes(results: Path) -> list[Path]:
    """The folder of every mode of every run below ``results``."""
    return [mode.path for mode in every_mode(results.resolve())]


def _below(path: str, results: Path) -> str:
    return str(Path(path).relative_to(results.resolve()))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvidenceError(f"cannot write {path}: {error.strerror}") from error
