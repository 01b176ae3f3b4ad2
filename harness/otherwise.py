"""Deviations from the plan: kept apart from errors of the harness and the machine, and noted.

A server under test that dies, refuses or does not become ready, a condition that never holds and a step
with another outcome are results. The run skips its other steps, is observed as far as possible, and judged.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from cluster.interface import Exit
from harness.cleaning import full_disk
from harness.stage import Stage
from protocol.addresses import is_autorecovery, is_bookie
from protocol.errors import FencepostError, LinkError, NotReadyError, StepError, UnplannedDeathError


def by_itself(death: Exit) -> bool:
    """Whether a server under test ended on its own.

    False for SIGKILL: the harness did not send it and no process sends it to itself, so the machine or a
    user did.
    """
    under_test = is_bookie(death.server) or is_autorecovery(death.server)
    return under_test and death.signal != signal.SIGKILL


def of_servers(error: BaseException, stage: Stage) -> bool:
    """Whether the servers under test did otherwise than planned; if not, harness or machine failed."""
    deaths = stage.cluster.unplanned()
    if full_disk(stage.folder.path) or not all(map(by_itself, deaths)):
        return False
    if deaths and not isinstance(error, LinkError):
        return True  # What is done to a server that has just died fails in many ways.
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, StepError | NotReadyError | UnplannedDeathError):
            return True
        cause = cause.__cause__
    return False


def sentence(error: BaseException) -> str:
    """The error in one line; those of servers quote their logs."""
    return " ".join(str(error).split())


@contextmanager
def noted(stage: Stage) -> Iterator[None]:
    """Continue after the block when the servers deviate from the plan in it, and note the deviation."""
    try:
        yield
    except FencepostError as error:
        if not of_servers(error, stage):
            raise
        stage.note(sentence(error))
