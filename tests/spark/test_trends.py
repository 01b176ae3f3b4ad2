"""Trends over stored runs: exact sums, and a run that cannot be read costs only itself."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.report import command
from evidence.codes import NEVER, Kind, Outcome
from evidence.folder import RunFolder, every_mode, read_json, write_json
from pipeline.judge import judge
from pipeline.session import Session
from pipeline.trends import LeftOut, Trend, read_trend, read_trends, with_adds
from protocol.errors import UsageError
from reports.trends import csv_text, json_text, trend_lines
from tests.histories.simulator import simulated
from tests.histories.story import acked, chunk, operation, unsure
from tests.spark.storedruns import stored

LOSING = {"losses": True, "flushes": False, "crashes": 12, "steps": 250, "shape": (4, 2, 1), "bookies": 5}
SECOND = 10**9


@pytest.fixture(scope="module")
def results(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lossy runs and a clean one, judged; one half, one damaged, one whose ``run.json`` is none."""
    root = tmp_path_factory.mktemp("results")
    for name, seed in (("lossy/1-2010", 2010), ("lossy/2-2011", 2011)):
        judge(session, stored(root / name, simulated(seed, **LOSING)))
    clean = stored(root / "clean/1-7", simulated(7, contest=1.0))
    judge(session, clean)
    for name in ("half/1-7", "damaged/1-7", "garbled/1-7"):
        shutil.copytree(clean.path, root / name / clean.mode)
    (root / "half/1-7" / clean.mode / "verdict.json").unlink()
    part = next((root / "damaged/1-7" / clean.mode / "tables" / "operations").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    (root / "garbled/1-7" / clean.mode / "run.json").write_text("{")
    (root / "latest").symlink_to(root / "clean/1-7")
    return root


def test_runs_are_read_on_spark_and_bad_ones_are_named(session: Session, results: Path) -> None:
    folders = [mode.path for mode in every_mode(results)]
    assert len(folders) == 6
    read = read_trends(session, folders)
    trends = [one for one in read if isinstance(one, Trend)]
    left = {Path(one.path).parts[-3]: one.why for one in read if isinstance(one, LeftOut)}
    assert [Path(one.path).parts[-3] for one in trends] == ["clean", "damaged", "lossy", "lossy"]
    assert set(left) == {"half", "garbled"}
    assert left["half"] == "not judged yet"
    assert "run.json is damaged" in left["garbled"]
    assert [one.no_load.split(":")[0] for one in trends] == ["", "damaged (ArrowInvalid", "", ""]
    assert trends[1].acknowledged == trends[0].acknowledged > 0
    assert (trends[1].acked, trends[1].waiting_s) == (0, 0)


def test_what_a_run_says_is_what_its_verdict_counts(results: Path) -> None:
    for path in [mode.path for mode in every_mode(results / "lossy")]:
        trend = read_trend(path)
        assert isinstance(trend, Trend)
        counts = read_json(RunFolder(path).verdict_json)["judgements"]["durability"]["counts"]
        assert sum(trend.lost.values()) == counts["lost"] > 0
        assert trend.release == "4.18.0"
        assert trend.acked >= trend.acknowledged > 0
        assert 0 < trend.p50_ms <= trend.p99_ms


def test_text_json_and_csv_say_the_same(results: Path) -> None:
    read = [read_trend(path) for path in [mode.path for mode in every_mode(results)]]
    trends = [one for one in read if isinstance(one, Trend)]
    left = [one for one in read if isinstance(one, LeftOut)]
    tree = json.loads(json_text(trends, left))
    rows = list(csv.DictReader(io.StringIO(csv_text(trends))))
    assert len(rows) == len(tree["runs"]) == len(trends) == 4
    (group,) = tree["groups"]  # the simulator calls all its runs by one name
    assert group["acknowledged"] == sum(int(row["acknowledged"]) for row in rows)
    assert group["runs"] == group["valid"] + group["anomaly"] + group["unknown"] == 4
    lines = list(trend_lines(trends, left))
    assert lines[-1] == "4 mode runs in 1 group: 0 damaged, 1 without operations; 2 left out"
    assert sum(line.startswith("left out: ") for line in lines) == 2
    assert sum(line.startswith("only its verdict is counted: damaged") for line in lines) == 1


def test_a_verdict_over_damaged_evidence_is_counted_and_named(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "clean", tmp_path / "clean")
    (folder,) = [mode.path for mode in every_mode(tmp_path)]
    verdict = read_json(folder / "verdict.json")
    write_json(folder / "verdict.json", {**verdict, "damage": ["operations: torn"]})
    trend = read_trend(folder)
    assert isinstance(trend, Trend)
    assert any(line.startswith("damaged: ") for line in trend_lines([trend], []))


def test_a_results_folder_without_runs_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--trends", "--results", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert "--results names another folder" in result.exception.remedy


NONE = Trend(
    "", "", "", "", "valid", damaged=False, acknowledged=0, lost={}, corrupt=0, vanished=0, unavailable=0
)


def trend(*history: tuple[str, dict[str, int]]) -> Trend:
    """The figures of a story's adds; the run began at 0."""
    return with_adds(NONE, [chunk([fact]).operations for fact in history], 0)


def between(entry: int, first_s: float, last_s: float) -> tuple[str, dict[str, int]]:
    return acked(entry, invoked_ns=int(first_s * SECOND), completed_ns=int(last_s * SECOND))


def test_a_second_in_which_nothing_was_acknowledged_while_somebody_waited_is_not_available() -> None:
    """Waited from 0 to 3.5 s and in 9 to 9.9 s; served in seconds 0, 3 and 9."""
    found = trend(between(0, 0.1, 0.2), between(1, 0.3, 3.5), between(2, 9.0, 9.9))
    assert (found.acked, found.waiting_s, found.served_s, found.stall_s) == (3, 5, 3, 2)
    assert found.p99_ms == pytest.approx(3200, rel=0.03)
    assert found.p50_ms == pytest.approx(900, rel=0.03)


def test_an_add_that_never_ended_counts_where_it_began_and_one_never_sent_not_at_all() -> None:
    pending = unsure(1, outcome=Outcome.PENDING, invoked_ns=5 * SECOND, completed_ns=NEVER)
    never = unsure(2, outcome=Outcome.FAIL, invoked_ns=7 * SECOND, completed_ns=7 * SECOND)
    found = trend(between(0, 0.1, 0.2), pending, never, operation(Kind.CLOSE, invoked_ns=99 * SECOND))
    assert (found.waiting_s, found.served_s, found.stall_s) == (2, 1, 1)


def test_nothing_added_says_nothing_of_speed() -> None:
    assert trend() == NONE
    assert (NONE.acked, NONE.waiting_s, NONE.served_s, NONE.stall_s) == (0, 0, 0, 0)
    assert (NONE.p50_ms, NONE.p99_ms) == (-1.0, -1.0)
