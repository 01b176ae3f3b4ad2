"""Classification of a process's end: graceful or unclean.

A bookie that ended uncleanly may have lost what it kept only in memory. Whether its disk is copied at its
end, and whether its end is judged as a death, follow from the same answer. Handles no processes.
"""

from __future__ import annotations

_ORDERLY_SIGNALS = (None, 15)
_ORDERLY_CODES = (None, 0, 143)  # a JVM that was asked to end by SIGTERM exits with 143


def unclean(*, signal: int | None, code: int | None) -> bool:
    """Whether a server ended without a graceful shutdown: SIGKILL, a crash, an unrequested exit."""
    return signal not in _ORDERLY_SIGNALS or code not in _ORDERLY_CODES
