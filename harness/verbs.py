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
    "replay": "Carry a stored run out again, and say how often it fails.",
    "shrink": "Make a run that failed as small as it can be.",
    "check": "Judge a stored run again, from its folder alone.",
    "report": "Show a run as a page, all runs as an index, or what they say together.",
    "bundle": "Put a run into one archive for others.",
    "explain": "Tell the life of one ledger or one entry.",
    "campaign": "Carry out many runs by a file: nightly, a gate, or one of your own.",
    "export": "Write a run for Jepsen, Elle or Perfetto.",
    "trackrecord": "Find known bugs of BookKeeper where they are, and not where they are not.",
    "list": "Show scenarios, faults, modes, workloads, versions or runs.",
    "doctor": "Say what this machine lacks, and what a configuration ignores.",
    "completion": "Print what lets a shell complete verbs, options and names.",
    "clean": "Remove stored runs, or the data that killed runs left.",
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
