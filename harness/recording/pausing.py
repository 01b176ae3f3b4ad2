"""``run --pause-on anomaly``: the cluster keeps running until the user has inspected it.

A copy of the recorded evidence is judged, so the evidence itself is unchanged and is closed afterwards as
usual. The user's operations on the cluster meanwhile are recorded like all others.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Iterator

from cluster.releases import artifacts
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.judging import Judge
from harness.recording.context import RunContext
from protocol.addresses import ZOOKEEPER
from protocol.errors import Interrupted, UsageError
from protocol.java import java

ANOMALY, ALWAYS = "anomaly", "end"
_SHELL = "org.apache.bookkeeper.bookie.BookieShell"


def require_terminal() -> None:
    """Refuse to pause without a terminal, on which the user could end the pause."""
    if not sys.stdin.isatty():
        raise UsageError(
            "--pause-on waits for Enter, and standard input is no terminal", remedy="leave --pause-on out"
        )


def pause(context: RunContext, judge: Judge, *, on: str) -> None:
    """Judge the present evidence, and if the user's condition holds, wait while the cluster runs."""
    context.narrator.event("judging what was recorded, with everything up")
    verdict = _so_far(context.folder, judge)
    if on == ANOMALY and verdict.verdict is not Verdict.ANOMALY:
        return
    context.narrator.event(f"PAUSED: {verdict.headline}", style="bold")
    for line in _inside(context):
        context.narrator.line(line)
    began = time.monotonic()
    try:
        sys.stdin.readline()
    except Interrupted as interrupt:
        if interrupt.number != signal.SIGINT:  # Ctrl-C ends the pause as Enter does
            raise
    context.narrator.event(f"continued after {time.monotonic() - began:.0f} s")


def _so_far(folder: RunFolder, judge: Judge) -> RunVerdict:
    """The verdict on a copy of the present evidence, which is not closed."""
    copy = RunFolder(folder.scratch / folder.mode)
    try:
        shutil.copytree(folder.raw, copy.raw)
        shutil.copyfile(folder.run_json, copy.run_json)
        shutil.copytree(
            folder.server(ZOOKEEPER), copy.server(ZOOKEEPER), ignore=shutil.ignore_patterns("tmp")
        )
        for log in folder.servers.glob("*/boot-*.log"):
            place = copy.server(log.parent.name)
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, place / log.name)
        return judge.verdict(copy)
    finally:
        shutil.rmtree(folder.scratch, ignore_errors=True)


def _inside(context: RunContext) -> Iterator[str]:
    """The addresses of all processes, and commands to inspect them."""
    cluster = context.cluster
    for name in (ZOOKEEPER, *cluster.bookies):
        process = cluster.process(name)
        address = getattr(process, "address", None)
        at = f"{address[0]}:{address[1]}" if address else "no address"
        yield f"  {name:6} {process.state}, boot {process.boot}, {at}, log {process.log}"
    known = context.ledgers.known()
    yield f"  ledgers: {', '.join(f'{name} = {ledger}' for name, ledger in known.items()) or 'none'}"
    name, bookie = next(iter(cluster.bookies.items()))
    server = context.folder.server(name).absolute()
    jars = artifacts.class_path(str(context.folder.run()["versions"][name])).folder
    yield "  BookKeeper's shell, for instance for a ledger's metadata:"
    yield (
        f"    {java()} -cp '{jars}/*' -Djdk.net.hosts.file={server}/hosts {_SHELL} "
        f"-conf {server}/boot-{bookie.boot}.conf ledgermetadata -ledgerid {min(known.values(), default=0)}"
    )
    yield "  Enter ends the pause; everything is then stopped and judged as always."
