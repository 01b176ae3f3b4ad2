"""A log of ledgers whose new leader did not recover: only the log shows it, here and in what is exported."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from checkers.log.checker import judge_log
from cli.export import command as export
from evidence.exchange.jepsen import read_jepsen
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated


def test_a_leader_that_was_not_fenced_is_seen_in_the_log_alone(
    tmp_path: Path,
    fencepost: Start,
) -> None:
    name = "chain-without-recovery"
    run, runs = as_stated(fencepost, [name], "protected", document="fencing")
    found = {name: one["findings"] for name, one in runs[name]["judgements"].items() if one["findings"]}
    assert set(found) == {"log"}
    assert {one["kind"] for one in found["log"]} >= {"incompatible-order", "G0-realtime"}
    assert all("log forgotten" in one["text"] or "shortest" in one["text"] for one in found["log"])
    for form in ("edn", "trace"):
        arguments = [str(run.folder.parent), f"--{form}", "--out", str(tmp_path / f"run.{form}")]
        assert CliRunner().invoke(export, arguments, standalone_mode=False).exit_code == 0
    results = {one.kind for one in judge_log(read_jepsen(tmp_path / "run.edn")).findings}
    assert results == {one["kind"] for one in found["log"]}
    events = json.loads((tmp_path / "run.trace").read_text())["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"client old", "client new", "client reader", "server b1", "faults"} <= named
    run.assert_nothing_left()
