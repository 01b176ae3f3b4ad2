"""The exit codes of every command: one vocabulary for runs, campaigns, searches and errors."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of commands; 128 + N is an interruption by signal N."""

    AS_EXPECTED = 0
    HARNESS = 1
    """The harness, or the machine that it runs on, failed."""
    USAGE = 2
    """The user asked for something impossible, or a prerequisite is missing."""
    UNKNOWN = 3
    """A run proved too little, which is never a pass."""
    ANOMALY = 4
    """Something was found that no plan expects."""
