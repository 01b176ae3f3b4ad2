"""Limits of the operating system: a bookie that may open no more files."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import ClassVar

from cluster.interface import Bookie, Cluster, ProcessState
from nemesis.registry import FaultContext, HealOrder, MayEndBookie, Proof, register
from protocol.errors import FaultError, UsageError
from protocol.faults import AFTERMATH_S


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
        bookie.allow_end(context.number)
        soft, hard = resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE, (0, hard))
        return {"limit": soft, "logged": self.logged(context)}

    def confirm(self, context: FaultContext) -> Proof:
        """The kernel's own table of the process shows the limit, and how many files are open."""
        bookie = context.cluster.bookie(self.target)
        limit, opened = _limit(bookie), len(list(Path(f"/proc/{bookie.pid}/fd").iterdir()))
        if limit != "0" or bookie.boot != context.injected["logged"]["boot"]:
            raise FaultError(f"{self.target} may open {limit} files in boot {bookie.boot}")
        return {"boot": bookie.boot, "open_files": opened}

    def heal(self, context: FaultContext) -> Proof:
        bookie, injected = context.cluster.bookie(self.target), context.injected
        if not injected or bookie.boot != injected["logged"]["boot"]:
            return {}  # each boot has a limit of its own
        done = {**self.noticed(context), **self.again(bookie, was_up=False)}
        if "boot" in done or bookie.state is ProcessState.DOWN:
            return done
        _, hard = resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(bookie.pid, resource.RLIMIT_NOFILE, (injected["limit"], hard))
        if (limit := _limit(bookie)) != str(injected["limit"]):
            raise FaultError(f"{self.target} may still open only {limit} files")
        bookie.limit_end(context.number, AFTERMATH_S)
        return {**done, "limit": injected["limit"]}


def _limit(bookie: Bookie) -> str:
    """The soft limit of open files of the running process."""
    lines = Path(f"/proc/{bookie.pid}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith("Max open files")).split()[3]
