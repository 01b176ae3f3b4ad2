"""The scenarios of the documents on closing, fencing, the protocol and BP-31's durability contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from checkers.log.checker import judge_log
from cli.export import command as export
from cluster.servers.disks import unavailable_reason
from evidence.exchange.jepsen import read_jepsen
from harness.vocabulary import words
from plans.load import load
from tests.length import quick_and_long
from tests.live.scenarios.conftest import Stated

SCENARIOS = Path(__file__).parents[3] / "scenarios"
CONTRACT = (
    "unprotected damaged-source",
    "journal damaged-copy",
    "protected replicas-counted",
)
LONG_CONTRACT = (
    "journal metadata-lost",
    "unprotected deletion",
    "unprotected rack-lost write-refused",
    "journal compaction",
    "protected incarnation bit-rot damage-spreads",
    "journal write-errors placement-repaired metadata-wiped",
)
MISTAKES = ("journal dead-bookie-brought-back",)
LONG_MISTAKES = (
    "journal index-rebuilt index-rebuilt-read-only ledger-index-rebuilt ledger-index-refused",
    "journal storage-changed storage-converted",
)
QUICK_FENCING = ("default-storage", "deleted-ledger", "fence-collected", "index-moved", "non-fencing-open")
ON_DISKS = pytest.mark.skipif(
    unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}"
)


def test_a_fence_is_lost_or_not_asked_for_as_stated(stated: Stated) -> None:
    stated(" ".join(["unprotected", *QUICK_FENCING]), document="fencing")


def test_a_scenario_comes_out_as_stated_over_v2(stated: Stated) -> None:
    stated("unprotected default-storage", "--set", "v2=true", document="fencing")


@pytest.mark.long
@pytest.mark.parametrize("document", ["closing", "fencing", "protocol"])
def test_what_must_break_without_protection_comes_out_as_stated(stated: Stated, document: str) -> None:
    """In the mode that must break, or the only one; mistakes of operators have no such mode."""
    plans = [(path, load(path, words())) for path in sorted(SCENARIOS.glob(f"{document}/*.yaml"))]
    names = [path.stem for path, plan in plans if "unprotected" in plan.modes]
    left = [name for name in names if name not in QUICK_FENCING]
    stated(" ".join(["unprotected", *left]), document=document)


@pytest.mark.parametrize("row", quick_and_long(MISTAKES + LONG_MISTAKES, LONG_MISTAKES))
def test_mistakes_of_operators_truncate_as_stated(stated: Stated, row: str) -> None:
    stated(row, document="closing")


@pytest.mark.parametrize("row", quick_and_long(CONTRACT + LONG_CONTRACT, LONG_CONTRACT))
def test_what_endangers_the_contract_comes_out_as_stated(stated: Stated, row: str) -> None:
    stated(row, document="durability")


@pytest.mark.parametrize(
    "soak", ["durable-state", pytest.param("disk-errors", marks=[pytest.mark.long, ON_DISKS])]
)
def test_every_copy_is_there_again_when_bookies_failed_at_random(stated: Stated, soak: str) -> None:
    runs = stated(f"journal {soak}", "--seed", "3", "--set", "for_s=12", document="soak")
    assert runs[soak]["judgements"]["replicas"]["verdict"] == "valid"


def test_an_ensemble_change_leaves_acknowledged_entries_behind(stated: Stated) -> None:
    """The only scenario in which journaled entries are lost without a crash."""
    verdicts = stated("journal ensemble-change-in-flight", document="protocol")
    (lost,) = verdicts["ensemble-change-in-flight"]["judgements"]["durability"]["findings"]
    assert (lost["first_entry"], lost["last_entry"], lost["loss"]) == (4, 6, "unexplained")


def test_a_leader_that_was_not_fenced_is_seen_in_the_log_alone(stated: Stated, tmp_path: Path) -> None:
    """Only the log of ledgers shows it, in the verdict and in what is exported."""
    [run] = stated("protected chain-without-recovery", document="fencing").values()
    found = {name: one["findings"] for name, one in run["judgements"].items() if one["findings"]}
    assert set(found) == {"log"}
    assert {one["kind"] for one in found["log"]} >= {"incompatible-order", "G0-realtime"}
    assert all("log forgotten" in one["text"] or "shortest" in one["text"] for one in found["log"])
    for form in ("edn", "trace"):
        arguments = [str(run["folder"].parent), f"--{form}", "--out", str(tmp_path / f"run.{form}")]
        assert CliRunner().invoke(export, arguments, standalone_mode=False).exit_code == 0
    results = {one.kind for one in judge_log(read_jepsen(tmp_path / "run.edn")).findings}
    assert results == {one["kind"] for one in found["log"]}
    events = json.loads((tmp_path / "run.trace").read_text())["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"client old", "client new", "client reader", "server b1", "faults"} <= named
