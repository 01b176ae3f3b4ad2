"""Reading a server's files after the run: ZooKeeper's transaction log, by ZooKeeper's own code.

One short-lived JVM; no server needs to run. The result is raw evidence: written whole or not at all.
"""

from __future__ import annotations

import os
import subprocess

from cluster import artifacts
from evidence.folder import RunFolder
from protocol.addresses import ZOOKEEPER
from protocol.errors import EvidenceError

MAIN = "fencepost.offline.TransactionLog"
_TIMEOUT_S = 600


def transactions(folder: RunFolder) -> None:
    """Write ``raw/ledgers/transactions.jsonl`` from ZooKeeper's data folder of the run.

    Raises ``EvidenceError`` when the data folder is gone or cannot be read.
    """
    data = folder.server(ZOOKEEPER) / "data" / "version-2"
    if not data.is_dir():
        raise EvidenceError(
            f"{data} is gone and {folder.transactions} was never written",
            remedy="metadata cannot be judged without one of them",
        )
    version = str(folder.run()["versions"].get(ZOOKEEPER) or folder.run()["bookkeeper"])
    fresh = folder.transactions.with_suffix(".part")
    jars = [artifacts.class_path(version).class_path, str(artifacts.client_jar())]
    done = subprocess.run(
        [
            str(artifacts.java()),
            *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx256m"),
            *("-cp", os.pathsep.join(jars), MAIN, str(data), str(fresh)),
        ],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise EvidenceError(f"ZooKeeper's transaction log in {data} cannot be read: {last}")
    fresh.replace(folder.transactions)
