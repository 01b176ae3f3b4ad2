"""The verbs of the command line, and how this user types a command of Fencepost."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

VERBS = {
    "run": "Run scenarios on real servers and judge them.",
    "explore": "Search for losses with plans drawn from a seed.",
    "replay": "Repeat a stored run, and count how often it fails.",
    "shrink": "Reduce a failed run to the smallest plan that still fails.",
    "check": "Judge a stored run again, from its folder alone.",
    "report": "Write the page of a run, the index of all runs, or their trends.",
    "bundle": "Pack a run into one archive, for an issue.",
    "explain": "Show everything that happened to one ledger or entry.",
    "campaign": "Run many scenarios from a file: a nightly, a CI gate, or your own.",
    "export": "Write a run for Jepsen, Elle or Perfetto.",
    "sensitivity": "Measure which seeded defects of BookKeeper a campaign finds.",
    "trackrecord": "Show that known bugs of BookKeeper are found, on affected releases only.",
    "list": "List scenarios, faults, releases, stored runs and other names.",
    "doctor": "Check this machine, and find settings that a release ignores.",
    "completion": "Print the script for shell completion.",
    "clean": "Free disk space: remove servers' data of stored runs, their tables, or whole runs.",
}

_COMMAND = re.compile(rf"(?<![\w./-])fencepost(?= (?:{'|'.join(VERBS)})\b)")


def typed(text: str) -> str:
    """``text`` with each command ``fencepost VERB`` as the user can paste it here.

    Only what a terminal shows goes through here: what is stored or sent to others keeps the plain name.
    """
    return _COMMAND.sub(lambda _: _program(), text)


@cache
def _program() -> str:
    """``fencepost`` where PATH leads to this one, else the shortest path to it, quoted for a shell."""
    started = Path(sys.argv[0])
    script = started if started.name == "fencepost" else Path(sys.executable).parent / "fencepost"
    found = shutil.which("fencepost")
    if not script.is_file() or (found and Path(found).samefile(script)):
        return "fencepost"
    relative = os.path.relpath(script)
    near = relative if os.sep in relative else f"./{relative}"
    return shlex.quote(min(near, str(script.absolute()), key=len))
