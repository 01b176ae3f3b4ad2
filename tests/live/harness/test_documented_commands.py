"""Documented commands that no other test executes, on real servers: with short runs in place of long ones."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from bench.__main__ import bench
from cluster.releases import artifacts
from protocol.modes import DB_STORAGE
from tests.live.running import ROOT, Start, assert_as_stated, document_in
from tests.spark.standalone import standalone

pytestmark = pytest.mark.long
ONE_RUN = """\
name: short
runs: [{scenarios: [fencing/figure], modes: [unprotected], rounds: 1}]
"""
BENCHES = (
    "scenarios --only fencing/figure --quick --parallel auto",
    "calm --times 1 --for-s 5 --agent",
    "judge --operations 10000 --census --frames --shape many --rounds 1 --no-duckdb --no-log",
    "log --transactions 1000",
    "wire --rounds 1 --entries 2000",
    "writes --rounds 1 --entries 2000",
)
AS_EXPECTED = "| fencing/figure | {} | unprotected | 1 of 1 |"


def test_the_scenario_of_the_guide_is_as_the_guide_expects(fencepost: Start) -> None:
    page = (ROOT / "docs" / "how-to" / "write-a-scenario.md").read_text(encoding="utf-8")
    (scenario,) = re.findall(r"^ *```yaml\n(.*?)^ *```", page, re.M | re.S)
    run = fencepost("run", textwrap.dedent(scenario), "--times", "2", "--parallel", "auto")
    run.ends(0, "4 of 4 mode runs as expected")


def test_a_run_is_repeated_twice_as_it_was_executed(fencepost: Start) -> None:
    fencepost("run", "fencing/figure", "--mode", "unprotected", "--rounds", "1").ends(0)
    code, text = fencepost("replay", "latest", "--times", "2", "--parallel", "auto", "--json").finish()
    replayed = document_in(text)
    assert (code, replayed["failed"], replayed["of"]) == (4, 2, 2), text


def test_a_campaign_runs_on_another_release_for_a_time(fencepost: Start) -> None:
    run = fencepost("campaign", ONE_RUN, "--bookkeeper", "4.16.4", "--for", "8h", "--parallel", "auto")
    run.ends(0)
    (page,) = run.results.glob("campaigns/short*/*/summary.md")
    assert AS_EXPECTED.format("4.16.4") in page.read_text()


def test_a_campaign_runs_on_a_build(fencepost: Start, tmp_path: Path) -> None:
    jars = shutil.copytree(artifacts.class_path().folder, tmp_path / "jars")
    junit = tmp_path / "gate.xml"
    fencepost("campaign", ONE_RUN, "--jars", str(jars), "--junit", str(junit), "--for", "4h").ends(0)
    (case,) = ElementTree.parse(junit).getroot().findall(".//testcase")
    assert (case.get("classname"), list(case)) == ("fencing/figure", [])


def test_a_soak_runs_on_another_release_with_settings_and_results_elsewhere(
    fencepost: Start, tmp_path: Path
) -> None:
    conf = tmp_path / "bk_server.conf"
    conf.write_text(f"openFileLimit=1234\nledgerStorageClass={DB_STORAGE}\n")
    words = ("--mode", "protected", "--set", "for_s=10", "--bookkeeper", "4.17.3", "--bookie-conf", str(conf))
    run = fencepost("run", "soak/kill9", *words, "--results", str(tmp_path / "shared"), "--json")
    (stored,) = assert_as_stated(*run.finish())
    assert Path(stored["folder"]).is_relative_to(tmp_path / "shared")


def test_a_run_is_judged_on_a_cluster_of_spark(
    fencepost: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    words = ("--mode", "unprotected", "--rounds", "1", "--results", str(tmp_path / "shared"), "--json")
    with standalone(tmp_path / "spark") as spark:
        assert_as_stated(*fencepost("run", "fencing/figure", *words, "--master", spark.url).finish())
        assert max(spark.executors()) >= 1


def test_a_cure_acts_and_its_finding_is_gone(fencepost: Start) -> None:
    words = ("--mode", "protected", "--times", "2", "--json", "--cure", "preboot-awaited")
    code, text = fencepost("run", "bp46/limbo-late", *words).finish()
    assert code in (3, 4), text
    for one in document_in(text)["runs"]:
        (mode,) = one["modes"].values()
        assert " times" in mode["modified"][0]
        assert not any(row["shown"] for row in mode["comparison"]["shown"]), mode["comparison"]


def test_a_known_bug_is_found_on_an_affected_release_alone(fencepost: Start) -> None:
    fencepost("trackrecord", "protection-ignored").ends(0, "4.14.7: 1 of 1 | 4.15.0: 0 of 1")


@pytest.mark.parametrize("words", BENCHES)
def test_a_bench_prints_its_table(words: str, tmp_path: Path) -> None:
    name, *rest = words.split()
    elsewhere = ["--results", str(tmp_path)] if name in ("scenarios", "calm") else []
    done = CliRunner().invoke(bench, [name, *rest, *elsewhere])
    assert done.exit_code == 0, done.output
    assert len(done.output.splitlines()) > 1
