"""Runs with faults of messages: a harness that is killed, and a fault that nothing came by."""

from __future__ import annotations

import json
import signal

import pytest

from evidence.codes import Message
from evidence.raw.wirelog import decode_segment
from tests.live.running import Start

pytestmark = pytest.mark.usefixtures("without_spark")
PLAN = """\
name: try/messages
source: {{document: BP-46}}
about: Faults of messages.
clients: [writer]
modes: [journal]
control: {{nothing: a test}}
steps:
  - create: {{client: writer, ledger: main}}
  - {fault}
  - append: {{client: writer, ledger: main, entries: 20}}
  - wait_for: {wait}
expect:
  journal: [holds]
  unprotected: [{{breaks: {{property: durability}}}}]
"""


def test_a_killed_harness_leaves_no_process_and_every_message(fencepost: Start) -> None:
    held = "hold: {from: writer, to: b1, kinds: [add], as: late}"
    # The third bookie's requests are not needed for the acknowledgements, and may come later.
    every = "{condition: acted, fault: late, times: 20}\n  - wait_for: {condition: elapsed, for_s: 600}"
    run = fencepost("run", PLAN.format(fault=held, wait=every))
    run.wait_for("late has acted 20 of 20 times")
    run.send(signal.SIGKILL)
    run.ends(-signal.SIGKILL)
    frames = run.folder / "raw" / "frames"
    run_id = int(json.loads((run.folder / "run.json").read_text())["run_id"])
    segment = decode_segment(frames / "frames-000001.wire", run_id=run_id)
    assert segment.damage == ()
    adds = segment.records[segment.records["kind"] == Message.ADD]
    assert (adds["way"] == 0).sum() == 60
    assert (adds["forwarded_ns"][adds["rule"] > 0] == 0).sum() == 20  # held, and never passed on
    assert not (run.folder / "raw" / "end.json").exists()
    names = [json.loads(line)["name"] for line in (frames / "links.jsonl").read_text().splitlines()]
    assert "writer-b1" in names


def test_a_fault_that_nothing_came_by_makes_the_run_unknown(fencepost: Start) -> None:
    unmet = "drop: {from: writer, to: b1, kinds: [force]}"
    run = fencepost("run", PLAN.format(fault=unmet, wait="{condition: elapsed, for_s: 0.1}"))
    run.ends(
        3, "heal drop writer-b1 (never acted)", "fault 1 (drop writer-b1) was injected and never confirmed"
    )
    assert json.loads((run.folder / "raw" / "end.json").read_text())["wire"]["log"]["lost"] == 0
