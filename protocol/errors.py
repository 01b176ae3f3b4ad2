"""The error tree of the whole project.

This module does not depend on servers, files or Spark; it only names what can go wrong and
which exit code the command line gives it.

::

    FencepostError                exit 1, the harness or its environment failed
    ├── UsageError                exit 2, the user asked for something impossible
    │   ├── PlanError             a plan file is wrong: file, line, column, value
    │   └── PrerequisiteError     something is missing on this machine, with its remedy
    │       └── IncapableError    the machine cannot do that kind of thing at all: disks, containers
    ├── StepError                 a step had another outcome than the plan states
    │   └── ContradictedError     a server was seen to do what the plan rules out
    ├── ServerError               a server did not do what it must
    │   ├── NotReadyError         the readiness ladder stopped at a rung
    │   └── UnplannedDeathError   a process ended without an injected fault
    ├── ClientError               a client process failed as a process
    ├── LinkError                 the proxy refused or did not answer
    ├── FaultError                a fault was not confirmed or not healed
    ├── EvidenceError             raw evidence is damaged or missing
    └── JudgementError            judging could not run (not a verdict)

Beside it stands ``Interrupted``, which is a ``KeyboardInterrupt``.
"""

from __future__ import annotations

import errno
import signal

from protocol.exit_codes import ExitCode


class FencepostError(Exception):
    """Base of every error raised on purpose by this project.

    ``remedy`` is the next step for the user, one sentence, or empty.
    """

    exit_code: ExitCode = ExitCode.HARNESS

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class UsageError(FencepostError):
    """The user asked for something that cannot be done as asked."""

    exit_code = ExitCode.USAGE


class PlanError(UsageError):
    """A plan is malformed or contradicts itself."""


class PrerequisiteError(UsageError):
    """Something that a run needs is missing on this machine."""


class IncapableError(PrerequisiteError):
    """The machine cannot do that kind of thing at all (disks of bookies' own, containers).

    It is no result of a run: a campaign skips the run. A temporary or repairable cause, such as a full disk
    or an unreachable jar, is not such an error.
    """


class StepError(FencepostError):
    """A step had another outcome than the plan states."""


class ContradictedError(StepError):
    """A server was seen to do what the plan rules out; to wait for longer would change nothing."""


class ServerError(FencepostError):
    """A server did not do what it must."""


class NotReadyError(ServerError):
    """A server or a condition did not reach its state in time."""


class UnplannedDeathError(ServerError):
    """A process of the run ended although no fault ended it."""


class ClientError(FencepostError):
    """A client process failed as a process (not as an operation)."""


class LinkError(FencepostError):
    """The proxy refused an order or did not answer."""


class FaultError(FencepostError):
    """A fault was not confirmed, or could not be healed."""


class EvidenceError(FencepostError):
    """Raw evidence is damaged or missing."""


class JudgementError(FencepostError):
    """Judging could not run; this is never a verdict."""


FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a write that finds no space."""


def of_machine(error: OSError) -> FencepostError:
    """An error of the system that no code expected, as one of the harness; a full disk is said to be one."""
    file = f" ({error.filename})" if error.filename else ""
    if error.errno in FULL:
        return FencepostError(f"the disk is full{file}", remedy="free space, or name another --results")
    return FencepostError(
        f"cannot use {error.filename or 'a file'}: {error.strerror or error}",
        remedy="check its folder, permissions and free space; FENCEPOST_DEBUG=1 shows the full trace",
    )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or the SIGTERM that a supervisor or a CI service sends; the exit code is a shell's for it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number
        self.exit_code = 128 + number
