"""How set-up ends when it is interrupted: all that it started is killed, and one line says how to go on.

Imported before anything else, because from the import on no interruption ends in a traceback. What
was being made is not whole then; the next set-up recognises that.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

script = "scripts/setup"
"""What the user has started, for messages."""
_worker: int | None = None


def owns(group: int | None) -> None:
    """From now on an interruption kills this process group (None: there is none)."""
    global _worker
    _worker = group


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    if _worker is not None:
        os.killpg(_worker, signal.SIGKILL)
    word = "\ninterrupted" if number == signal.SIGINT else "terminated"
    os.write(2, f"{word}; run {script} again to continue\n".encode())
    os._exit(128 + number)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
for _one in SIGNALS:
    signal.signal(_one, _end)
