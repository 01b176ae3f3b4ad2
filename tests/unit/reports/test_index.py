"""The index knows every run below the results, and keeps what they share once."""

from __future__ import annotations

import json
import re
from pathlib import Path

from evidence.folder import point_latest, read_json, write_json
from reports.index import Pool, collected, flattened, write_index
from reports.page.stored import stored_modes
from reports.page.writing import write_page
from tests.unit.reports.stored_run import HOSTILE, stored_run


def test_every_run_is_there_once_and_the_newest_first(tmp_path: Path) -> None:
    stored_run(tmp_path, stamp="20260101T000000Z")
    newest = stored_run(tmp_path, scenario="mine", stamp="20260301T000000Z", modes=["journal"])
    stored_run(tmp_path, stamp="20260201T000000Z", seed=8)
    point_latest(tmp_path, newest.path)
    write_page(newest)
    runs = collected(tmp_path, {}, [])
    assert [(run.scenario, run.seed, run.report) for run in runs] == [
        ("mine", 7, True),
        ("bp46/truncation", 8, False),
        ("bp46/truncation", 7, False),
    ]
    assert [(mode.name, mode.verdict) for mode in runs[1].modes] == [
        ("unprotected", "anomaly"),
        ("protected", "valid"),
    ]


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    broken = stored_run(tmp_path, seed=1)
    stored_run(tmp_path, seed=2)
    broken.modes[0].run_json.write_text("{")
    unread: list[Path] = []
    assert [run.seed for run in collected(tmp_path, {}, unread)] == [2]
    assert unread == [broken.path]
    name = broken.path.relative_to(tmp_path).as_posix()
    assert f"1 run; 1 could not be read: {name}" in write_index(tmp_path).read_text()


def test_an_unjudged_run_says_so(tmp_path: Path) -> None:
    found = stored_run(tmp_path, modes=["protected"])
    (found.path / "verdict.json").unlink()
    found.modes[0].verdict_json.unlink()
    (run,) = collected(tmp_path, {}, [])
    assert (run.modes[0].verdict, run.modes[0].met) == ("unknown", None)


def test_a_mode_that_was_judged_again_by_itself_is_not_compared(tmp_path: Path) -> None:
    """The run's verdict compares the verdict that the mode had before."""
    found = stored_run(tmp_path)
    path = found.path / "protected" / "verdict.json"
    write_json(path, read_json(path) | {"verdict": "anomaly", "headline": "5 of 50 lost"})
    (run,) = collected(tmp_path, {}, [])
    assert [(mode.name, mode.verdict, mode.met) for mode in run.modes] == [
        ("unprotected", "anomaly", True),
        ("protected", "anomaly", None),
    ]
    assert [bool(one.comparison) for one in stored_modes(found)] == [True, False]


def test_an_expected_anomaly_is_said_to_be_one(tmp_path: Path) -> None:
    stored_run(tmp_path)
    text = write_index(tmp_path).read_text()
    assert text.count('<span class="muted"> as expected</span>') == 1  # of unprotected; protected is valid


def test_what_runs_share_is_kept_once(tmp_path: Path) -> None:
    for seed in range(5):
        stored_run(tmp_path, seed=seed, conf={"flushInterval": str(seed % 2)})
    pool: Pool = {}
    collected(tmp_path, pool, [])
    assert list(pool.values()) == list(range(len(pool)))
    assert [one for one in pool if one[0] == "conf.bookie.flushInterval"] != []
    assert sum(name == "conf.bookie.flushInterval" for name, _ in pool) == 2


def test_a_tree_is_flattened_to_names_and_texts() -> None:
    tree = {"a": {"b": 3, "c": "x"}, "d": [1, 2], "steps": [{"kill": {"target": "b1"}}]}
    assert list(flattened(tree)) == [
        ("a.b", "3"),
        ("a.c", "x"),
        ("d", "[1, 2]"),
        ("steps 1", '{"kill": {"target": "b1"}}'),
    ]


def test_nothing_in_a_run_becomes_markup(tmp_path: Path) -> None:
    stored_run(tmp_path, hostile=HOSTILE, conf={"key": HOSTILE})
    text = write_index(tmp_path).read_text()
    assert "<img" not in text
    assert text.count("</script>") == text.count("<script")
    assert json.loads(re.search(r'id="index-data">(.*?)</script>', text)[1])["runs"]


def test_the_head_counts_the_runs(tmp_path: Path) -> None:
    assert "0 runs, " in write_index(tmp_path).read_text()
    stored_run(tmp_path)
    assert "1 run, the newest first" in write_index(tmp_path).read_text()
