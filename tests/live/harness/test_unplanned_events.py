"""What the servers do otherwise than planned ends the steps and their loads, and is judged: no error."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from plans.load import find
from tests.live.defects import never_fenced
from tests.live.running import Fencepost, Start, document_in

pytestmark = pytest.mark.usefixtures("without_spark")
AS_EXPECTED, UNKNOWN, ANOMALY = 0, 3, 4
FENCES = sorted(
    f"{path.parent.name}/{path.stem}"
    for pattern in ("fencing/*.yaml", "bp46/lost-fence*.yaml")
    for path in find("fencing/figure").parents[1].glob(pattern)
)
GOES_OTHERWISE = """\
name: test/otherwise
source: {document: BP-46, section: Test Plan}
about: What the last step wants does not come.
clients: [writer]
modes: [journal]
control: {nothing: "a test of the harness"}
limits: {quiet_s: 30}
steps:
  - create: {client: writer, ledger: main}
  - append: {client: writer, ledger: main, entries: 50}
  - stop: {target: b1}
"""
LASTS = "  - start: {target: b1}\n  - wait_for: {condition: down, target: b2, timeout_s: 800}\n"


@pytest.fixture
def going_otherwise(fencepost: Start) -> Callable[[str], Fencepost]:
    """Begins a run of one mode whose last steps are given."""
    return lambda last: fencepost("run", f"{GOES_OTHERWISE}{last}expect: {{journal: [holds]}}\n", "--json")


def judged(run: Fencepost) -> tuple[int, str, list[str]]:
    """The exit code, the headline, and why."""
    code, text = run.finish()
    document = document_in(text)
    (mode,) = document["runs"][0]["modes"].values()
    return code, mode["headline"], mode["comparison"]["reasons"]


def test_bookies_that_ask_for_no_fence_are_found_out(fencepost: Start, tmp_path: Path) -> None:
    options = ("--mode", "unprotected", "--rounds", "1", "--json")
    run = fencepost("run", "fencing/figure", "--jars", str(never_fenced(tmp_path / "jars")), *options)
    code, headline, reasons = judged(run)
    assert code == ANOMALY
    assert "1 add accepted by a fenced bookie" in headline
    assert reasons[0] == "an anomaly that was not expected: fencing (accepted_when_fenced) on main"
    assert "the client decided otherwise: step 'append' ended ok, the plan expects unknown" in reasons[-1]


@pytest.mark.long
@pytest.mark.parametrize("scenario", FENCES)
def test_no_plan_trips_over_bookies_that_ask_for_no_fence(
    fencepost: Start, tmp_path: Path, scenario: str
) -> None:
    run = fencepost("run", scenario, "--rounds", "1", "--jars", str(never_fenced(tmp_path / "jars")))
    code, text = run.finish()
    assert code in (AS_EXPECTED, ANOMALY), text


@pytest.mark.parametrize(
    ("last", "code", "why"),
    [
        (
            "  - start: {target: b1, expect: refuses}\n",
            ANOMALY,
            "the server decided otherwise: b1 became ready in boot 2, but the plan expects it to refuse",
        ),
        (
            LASTS.replace("800", "0.5"),
            UNKNOWN,
            "waited 0.5 s for condition 'down'; last seen: b2 is running",
        ),
    ],
    ids=["a boot that is to refuse and does not", "a wait that never holds"],
)
def test_what_does_not_come_ends_the_steps_and_is_judged(
    going_otherwise: Callable[[str], Fencepost], last: str, code: int, why: str
) -> None:
    ended, headline, reasons = judged(going_otherwise(last))
    assert (ended, headline) == (code, "0 of 50 acknowledged entries lost; unknown: evidence")
    assert why in reasons[0]


def test_a_bookie_that_ends_by_itself_is_started_again_and_the_run_is_judged(
    going_otherwise: Callable[[str], Fencepost],
) -> None:
    run = going_otherwise(LASTS)
    run.wait_for("start b1: boot 2 is ready")
    os.kill(run.pid_of("/servers/b3/hosts"), signal.SIGTERM)
    code, headline, reasons = judged(run)
    assert (code, headline) == (UNKNOWN, "0 of 50 acknowledged entries lost; unknown: evidence")
    assert reasons[0].startswith("b3 (boot 1) ended on its own")
    assert "start b3, which ended on its own" in run.log()
    run.assert_nothing_left()


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


def test_steps_that_end_early_end_their_loads(fencepost: Start) -> None:
    run = fencepost("run", PLAN)
    run.wait_for("otherwise than planned")
    run.ends(3, "waited 1 s for condition 'down'")
