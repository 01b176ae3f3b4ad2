"""A ZooKeeper server's files without the server, by ZooKeeper's own code: its log read, its content put back.

Each call is one short-lived JVM. A server has lives: one ends where a fault exchanges the content, and its
log is kept (``lives/<n>`` in the server's folder; ``lives/<n>.json`` says how life n began, the first has
none). What is read after the run is raw evidence: written whole or not at all.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cluster.processes import runner
from cluster.releases import artifacts
from evidence.folder import RunFolder, read_json
from evidence.shapes import Transaction
from protocol.addresses import ZOOKEEPER
from protocol.errors import EvidenceError, ServerError
from protocol.java import archive_options, java

LOG_READER = "fencepost.offline.TransactionLog"
PUT_BACK = "fencepost.offline.PutBack"
FILES = "version-2"
"""ZooKeeper's own folder below its data folder."""
_LIVES, _NEXT = "lives", "next"
_TIMEOUT_S = 600
_PLAIN_LOG = "org.apache.logging.log4j.simple.SimpleLoggerContextFactory"


def transactions(folder: RunFolder) -> None:
    """Write ``raw/ledgers/transactions.jsonl`` from all lives of the run's ZooKeeper.

    A fault that put other content in place has a line with ``op`` ``put_back``: ``from`` is the last
    transaction (zxid) of this content, ``at_ns`` when the server was down for it. Raises
    ``EvidenceError`` when a data folder is gone or cannot be read.
    """
    version = str(folder.run()["versions"].get(ZOOKEEPER) or folder.run()["bookkeeper"])
    fresh = folder.transactions.with_suffix(".part")
    part = folder.transactions.with_suffix(".life")
    try:
        with fresh.open("w", encoding="utf-8") as out:
            for data, began in lives(folder.server(ZOOKEEPER)):
                if not (data / FILES).is_dir():
                    raise EvidenceError(
                        f"{data / FILES} is gone and {folder.transactions} was never written",
                        remedy="metadata cannot be judged without one of them",
                    )
                if began:
                    out.write(json.dumps(began) + "\n")
                done = _run(version, LOG_READER, [data / FILES, part])
                if done.returncode != 0:
                    raise EvidenceError(
                        f"ZooKeeper's transaction log in {data / FILES} cannot be read: {_last_word(done)}"
                    )
                out.write(part.read_text(encoding="utf-8"))
        fresh.replace(folder.transactions)
    finally:
        for left in (fresh, part):
            left.unlink(missing_ok=True)


def lives(server: Path) -> Iterator[tuple[Path, Transaction | None]]:
    """The data folder of each boot of a server, oldest first, and how that boot began."""
    number = 1
    began: Transaction | None = None
    while (ended := server / _LIVES / str(number)).is_dir():
        yield ended, began
        number += 1
        began = read_json(_beginning(server, number))
    now = server / "data"
    unfinished = number > 1 and not now.exists()  # ended between the two renames: it has logged nothing
    yield server / _NEXT if unfinished else now, began


def put_back(
    server: Path, version: str, *, copy: Path | None, nodes: Mapping[str, str], at_ns: int
) -> Transaction:
    """Begin a new life of a server that is down, with the content of ``copy`` (a data folder) or with none.

    ``nodes`` are paths with their text that are there besides. The log of the life that ends is kept.
    Returns how the new life began. Raises ``ServerError`` when ZooKeeper's files
    cannot be read; nothing is changed then.
    """
    fresh, now = server / _NEXT, server / "data"
    texts = [f"{path}={text}" for path, text in nodes.items()]
    done = _run(version, PUT_BACK, [now, fresh, copy or "-", *texts])
    if done.returncode != 0:
        raise ServerError(f"the content of {now} could not be exchanged: {_last_word(done)}")
    result = json.loads(done.stdout)
    number = sum(1 for _ in lives(server)) + 1
    facts: Transaction = {
        "op": "put_back",
        "path": "/",
        "life": number,
        "zxid": hex(result["zxid"]),
        "from": hex(result["from"]),
        "last": hex(result["last"]),
        "at_ns": at_ns,
    }
    began = _beginning(server, number)
    began.parent.mkdir(exist_ok=True)
    began.write_text(json.dumps(facts), encoding="utf-8")
    now.rename(server / _LIVES / str(number - 1))
    fresh.rename(now)
    return facts


def _beginning(server: Path, life: int) -> Path:
    return server / _LIVES / f"{life}.json"


def _run(version: str, main: str, arguments: Sequence[object]) -> subprocess.CompletedProcess[str]:
    jars = [artifacts.class_path(version).class_path, str(artifacts.client_jar())]
    archive = artifacts.class_data_archive(version, runner.ZOOKEEPER)  # fits: its jars come first here too
    return subprocess.run(
        [
            str(java()),
            *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx256m"),
            *archive_options(archive),
            f"-Dlog4j2.loggerContextFactory={_PLAIN_LOG}",  # half of the start would be log4j's
            *("-cp", os.pathsep.join(jars), main, *map(str, arguments)),
        ],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )


def _last_word(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["no message"])[-1]
