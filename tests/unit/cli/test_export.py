"""``fencepost export``: a stored run for Elle, which finds what we find, and for Perfetto."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from checkers.log.checker import judge_log
from cli.export import command
from evidence.collection import Collection, write_collection
from evidence.exchange.jepsen import read_jepsen
from evidence.folder import RunFolder
from evidence.schemas import TABLES
from protocol.errors import EvidenceError, UsageError
from tests.histories.literals_log import LITERALS
from tests.histories.story import CLIENTS, Fact, chunk
from tests.histories.story_chain import BORN, EVENTS
from tests.stored_tables import write_tables

LISTS = [
    {
        "chain": "events",
        "version": version,
        "ledgers": list(EVENTS.ledgers[: version + 1]),
        "zxid": BORN + version,
        "born": BORN,
        "earliest_ns": since,
    }
    for version, since in enumerate(EVENTS.since_ns)
]


def run_folder(tmp_path: Path, history: list[Fact], *modes: str, lists: bool = True) -> Path:
    run = tmp_path / "soak" / "chain" / "20260101T000000Z-1"
    for mode in modes or ("protected",):
        folder = RunFolder.create(run, mode)
        folder.write_run({"clients": CLIENTS, "bookies": {}, "clock": {"monotonic_ns": 0, "wall_ns": 0}})
        folder.tables.mkdir()
        parts = dict(chunk(history).tables)
        if lists:
            parts["chains"] = pa.Table.from_pylist(LISTS, schema=TABLES["chains"])
        write_tables(folder.tables, parts, 1)
        write_collection(folder.tables, Collection(1, {}, ()))
    return run


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize("form", ["--edn", "--json"])
@pytest.mark.parametrize("name", [name for name in LITERALS if name.startswith("log/")])
def test_what_is_exported_has_the_same_findings(tmp_path: Path, form: str, name: str) -> None:
    case = LITERALS[name]
    out = tmp_path / f"history.{form[2:]}"
    done = export(run_folder(tmp_path, case.history), form, "--out", out)
    assert done.exit_code == 0, done.exception
    results = {one.kind for one in judge_log(read_jepsen(out)).findings}
    assert results == {one.removeprefix("log/") for one in case.found}


def test_an_element_is_a_number_that_says_ledger_and_entry(tmp_path: Path) -> None:
    done = export(run_folder(tmp_path, LITERALS["log/G0-realtime"].history), "--edn")
    assert '[[:append "events" 7000000001]]' in done.output
    assert '[[:r "events" [7000000000 7000000001 8000000000]]]' in done.output


def test_a_trace_goes_with_any_run(tmp_path: Path) -> None:
    done = export(run_folder(tmp_path, LITERALS["durability/lost"].history, lists=False), "--trace")
    events = json.loads(done.output)["traceEvents"]
    assert next(event["name"] for event in events if event.get("cat") == "operation") == "add 1:0"


def test_a_run_without_a_log_has_no_history_and_says_what_has(tmp_path: Path) -> None:
    done = export(run_folder(tmp_path, LITERALS["durability/lost"].history, lists=False), "--edn")
    assert isinstance(done.exception, UsageError)
    assert "has no log of ledgers" in str(done.exception)
    assert "--trace" in (done.exception.remedy or "")


def test_a_run_that_was_not_collected_says_how_it_will_be(tmp_path: Path) -> None:
    run = run_folder(tmp_path, [])
    (run / "protected" / "tables" / "collected.json").unlink()
    done = export(run, "--trace")
    assert isinstance(done.exception, EvidenceError)
    assert "fencepost check" in (done.exception.remedy or "")


def test_a_bundle_is_a_run_too() -> None:
    assert str(export("nowhere.zip", "--trace").exception) == "there is no bundle nowhere.zip"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to write: --edn, --json or --trace"),
        (("--edn",), "the run has the modes journal, protected"),
        (("--edn", "--mode", "nosync"), "the run has no mode 'nosync', only journal, protected"),
    ],
)
def test_what_cannot_be_meant_is_told(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    run = run_folder(tmp_path, LITERALS["log/G1a"].history, "journal", "protected")
    done = export(run, *arguments)
    assert message in str(done.exception)
