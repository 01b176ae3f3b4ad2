"""Documented commands that need no server, on a stored run: each as it is printed, and what some print."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cli.main import fencepost
from evidence.exchange.jepsen import jepsen_lines
from evidence.folder import point_latest
from protocol.errors import UsageError
from tests.documented import DOCUMENTED, ROOT, Command
from tests.histories.log_story import append, ok, read, story
from tests.inline import session_in
from tests.unit.reports.stored_run import stored_run

LISTS = story(ok(append("x", 1)).by(1).at(0, 1), ok(read("x", 1)).by(2).at(2, 3))
SET = """\
{:index 0, :type :invoke, :process 0, :f :add, :value 1}
{:index 1, :type :ok, :process 0, :f :add, :value 1}
{:index 2, :type :invoke, :process 0, :f :read, :value nil}
{:index 3, :type :ok, :process 0, :f :read, :value #{1}}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fencepost, list(arguments), standalone_mode=False)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    stored_run(tmp_path)
    monkeypatch.setenv("FENCEPOST_RESULTS", str(tmp_path))
    return tmp_path


def test_report_prints_an_issue(results: Path) -> None:
    done = run("report", "bp46/truncation", "--issue")
    assert done.stdout.startswith("# Bookie: 1 of 50 acknowledged entries lost")
    assert "In 1 of 1 stored runs of `bp46/truncation` in mode `unprotected`" in done.stdout


def test_report_opens_the_page_of_all_runs(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    run("report", "--open")
    assert opened == [str(results / "index.html")]
    assert "bp46/truncation" in (results / "index.html").read_text()


def test_explain_shows_an_entry_and_export_a_trace(results: Path) -> None:
    life = run("explain", "bp46/truncation", "main:49").stdout
    assert "recovery read: ENOENTRY" in life
    assert life.index("mode unprotected") < life.index("mode protected"), "the order of the plan"
    assert "no client has added this entry" not in life
    one = run("explain", "bp46/truncation", "main:49", "--mode", "protected").stdout
    assert ("mode protected" in one, "mode unprotected" in one) == (True, False)
    with pytest.raises(UsageError, match="no mode 'journal', only"):
        CliRunner().invoke(
            fencepost,
            ["explain", "bp46/truncation", "main", "--mode", "journal"],
            standalone_mode=False,
            catch_exceptions=False,
        )
    assert "no client has added this entry" in run("explain", "bp46/truncation", "main:9999").stdout
    assert run("export", "bp46/truncation", "--trace", "--mode", "unprotected").stdout.startswith("{")


def test_list_runs_names_a_stored_run(results: Path) -> None:
    assert "bp46/truncation" in run("list", "runs").stdout


def test_doctor_warns_of_a_setting_that_the_release_does_not_read(tmp_path: Path) -> None:
    conf = tmp_path / "bk_server.conf"
    conf.write_text("journalWriteDataa=false\n")
    done = run("doctor", "--bookie-conf", str(conf))
    assert "warn  journalWriteDataa: BookKeeper 4.18.0 does not read this key" in done.stdout
    assert "did you mean journalWriteData?" in done.stdout
    assert "bk_server.conf with BookKeeper 4.18.0: 0 invalid values, 2 warnings\n" in done.stdout
    assert "The default storage: " in done.stdout


def test_explore_prints_a_plan_that_can_be_loaded(tmp_path: Path) -> None:
    done = run("explore", "--seed", "7", "--show")
    plan = tmp_path / "drawn.yaml"
    plan.write_text(done.stdout)
    assert "steps:" in done.stdout
    assert run("run", str(plan), "--mode", "no-such-mode").exception is not None


LEDGERS = {"all:5": "main:5"}
"""Ledgers of other scenarios than that of the stored run."""
PRINTED = {str(one): one for one in DOCUMENTED if one.only_reads}
"""Each command once; several pages show some of them."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with a run, which each test gets a copy of."""
    results = tmp_path_factory.mktemp("stored") / "results"
    found = stored_run(results, stamp="20261121T134434Z", seed=3, modes=("unprotected", "journal"))
    point_latest(results, found.path)
    return results


@pytest.fixture
def folder(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a stored run and the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(click, "launch", lambda _: None)
    monkeypatch.setattr("harness.judging.session_in", session_in)
    monkeypatch.setenv("FENCEPOST_RESULTS", str(tmp_path / "results"))
    shutil.copytree(stored, tmp_path / "results", symlinks=True)
    (tmp_path / "RUN").symlink_to((tmp_path / "results" / "latest").resolve() / "journal")
    for name in ("bk_server.conf", "client.conf"):
        (tmp_path / name).touch()
    for page in ("write-a-scenario", "run-in-ci"):
        text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
        for block in re.findall(r"^ *```yaml\n(.*?)^ *```", text, re.M | re.S):
            if named := re.search(r"^ *name: (?:mine/)?(\w+)$", block, re.M):
                (tmp_path / f"{named[1]}.yaml").write_text(block)
    (tmp_path / "history.json").write_text("\n".join(jepsen_lines(LISTS, as_json=True)) + "\n")
    return tmp_path


@pytest.mark.parametrize("one", PRINTED.values(), ids=PRINTED)
def test_a_documented_command_runs_as_it_is_printed(one: Command, folder: Path) -> None:
    lists = "\n".join(jepsen_lines(LISTS)) + "\n"
    (folder / "history.edn").write_text(SET if "set" in one.words else lists)
    done = run(*(LEDGERS.get(word, word) for word in one.words))
    assert done.exit_code == 0, f"{one.place}: {done.output} {done.exception!r}"
    assert done.output.strip()
