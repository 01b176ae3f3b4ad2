"""A run whose steps end while a load runs: the load ends with them, and the run is judged."""

from __future__ import annotations

from pathlib import Path

from tests.live.running import Start

PLAN = """\
name: test/abandoned
source: {document: BP-46, section: Test Plan}
about: A condition that never comes ends the steps while clients write.
clients: [w1, w2]
modes: [journal]
control: {nothing: a test}
steps:
  - load: {workload: append, as: writers, writers: [w1], rate_per_s: 100}
  - load: {workload: failover, as: service, writers: [w1, w2], rate_per_s: 100}
  - wait_for: {condition: down, target: b1, timeout_s: 1}
  - end_load: {as: writers}
  - end_load: {as: service}
expect:
  journal: [holds]
  unprotected: [{breaks: {property: durability, kind: lost}}]
"""


def test_steps_that_end_early_end_their_loads(fencepost: Start, tmp_path: Path) -> None:
    plan = tmp_path / "abandoned.yaml"
    plan.write_text(PLAN)
    run = fencepost("run", str(plan))
    run.wait_for("otherwise than planned")
    code, text = run.finish()
    assert code == 3, text
    assert "waited 1 s for condition 'down'" in text
    run.assert_nothing_left()
