"""Limits of the operating system: a bookie that may open no more files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from cluster.interface import Bookie, Cluster, ProcessState
from nemesis.registry import FaultContext, HealOrder, MayEndBookie, Proof, register
from protocol.errors import FaultError, ServerError, UsageError
from protocol.faults import AFTERMATH_S

_END_S = 10.0


@register
class FileLimit(MayEndBookie):
    """Let a bookie open no more files or connections, until healed.

    Its limit of open files (RLIMIT_NOFILE) becomes 0: what is open stays open, and each attempt to open more
    fails with "Too many open files". If the bookie ends because of that, this is no unplanned death, and
    healing starts it again within ``ready_timeout_s``.
    """

    kind = "file_limit"
    heal_order: ClassVar[HealOrder] = HealOrder.BOOKIES
    words = (b"Too many open files",)

    @property
    def occupies(self) -> frozenset[str]:
        return frozenset({f"the files of {self.target}"})

    def assert_available(self, cluster: Cluster) -> None:
        bookie = cluster.bookie(self.target)
        if bookie.state is not ProcessState.RUNNING:
            raise UsageError(f"{self.target} is {bookie.state}: only a running process opens files")

    def inject(self, context: FaultContext) -> Proof:
        bookie = context.cluster.bookie(self.target)
        with _running(bookie):
            soft, hard = resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE)
            bookie.allow_end(context.number)
            resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE, (0, hard))
        return {"limit": soft, "logged": self.logged(context)}

    def confirm(self, context: FaultContext) -> Proof:
        """The kernel's own table of the process shows the limit, and how many files are open."""
        bookie = context.cluster.bookie(self.target)
        with _running(bookie):
            limit, opened = _limit(bookie), len(list(Path(f"/proc/{bookie.pid}/fd").iterdir()))
        if limit != "0" or bookie.boot != context.injected["logged"]["boot"]:
            raise FaultError(f"{self.target} may open {limit} files in boot {bookie.boot}")
        return {"boot": bookie.boot, "open_files": opened}

    def heal(self, context: FaultContext) -> Proof:
        bookie, injected = context.cluster.bookie(self.target), context.injected
        if not injected or bookie.boot != injected["logged"]["boot"]:
            return {}  # each boot has a limit of its own
        noticed = self.noticed(context)
        if bookie.state is not ProcessState.DOWN:
            try:
                self._lift(bookie, injected["limit"])
            except FaultError:
                if bookie.ended(bookie.boot, _END_S) is None:
                    raise
            else:
                bookie.limit_end(context.number, AFTERMATH_S)
                return {**noticed, "limit": injected["limit"]}
        return {**noticed, **self.again(bookie, was_up=False)}

    def _lift(self, bookie: Bookie, files: int) -> None:
        """Give the process its former limit; ``FaultError`` when it ends just then, or has another one."""
        with _running(bookie):
            _, hard = resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE, (files, hard))
            limit = _limit(bookie)
        if limit != str(files):
            raise FaultError(f"{self.target} may still open only {limit} files")


@contextmanager
def _running(bookie: Bookie) -> Iterator[None]:
    """``FaultError`` when the process ends in the block, so that the kernel has no limits of it any more."""
    try:
        yield
    except (ProcessLookupError, FileNotFoundError, ServerError) as error:
        raise FaultError(f"{bookie.name} ended meanwhile: {error}") from error


def _limit(bookie: Bookie) -> str:
    """The soft limit of open files of the running process."""
    lines = Path(f"/proc/{bookie.pid}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith("Max open files")).split()[3]
