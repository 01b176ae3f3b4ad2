"""DuckDB for comparison: a separate environment from ``locks/bench.txt``, and its answers."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

from protocol.errors import PrerequisiteError

CHECKOUT = Path(__file__).resolve().parent.parent
_HOME = CHECKOUT / ".build" / "bench"


def python() -> Path:
    """The interpreter that has DuckDB; made when it is not there. ``PrerequisiteError`` when that fails."""
    command = _HOME / "bin" / "python"
    there = command.is_file() and subprocess.run([command, "-c", "import duckdb"], capture_output=True)
    if not there or there.returncode:
        venv.create(_HOME, with_pip=True, clear=True)
        lock = str(CHECKOUT / "locks" / "bench.txt")
        asked = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", lock]
        done = subprocess.run([str(command), *asked], capture_output=True, text=True)
        if done.returncode:
            raise PrerequisiteError(
                f"DuckDB cannot be installed: {done.stderr.strip().splitlines()[-1:]}",
                remedy="give pip an index with DuckDB, or leave it out with --no-duckdb",
            )
    return command


def ask(command: Path, tables: Path) -> dict[str, Any]:
    """What DuckDB found in the tables of a run and what that took, as ``bench/sql.py`` prints it."""
    script = Path(__file__).with_name("sql.py")
    done = subprocess.run([command, script, tables], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
