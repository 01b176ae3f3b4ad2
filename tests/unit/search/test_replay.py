"""A stored run becomes a plan with the user's own settings in it, as far as the run took them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.processes.settings import RunSpec
from evidence.findings import Judgement
from evidence.folder import RunFolder
from harness.vocabulary import words
from plans.load import find, load
from plans.models import Plan
from plans.resolve import resolve
from protocol.modes import MODES
from search import replay
from search.replay import Again, find_again
from search.status import StatusLines
from tests.unit.search.simulated import anomaly


def again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *judgements: Judgement,
    jars: Path | None = None,
    **own: str,
) -> tuple[Plan, Again]:
    """A plan, and its stored run with these judgements and the user's ``own`` settings of bookies."""
    monkeypatch.setattr(replay, "stored_judgements", lambda _: {one.property: one for one in judgements})
    folder = RunFolder.create(tmp_path / "run", "protected")
    plan = load(find("bp46/truncation"), words())
    spec = RunSpec(folder, MODES["protected"], bookie_conf=plan.cluster.bookie_conf, user_bookie_conf=own)
    folder.write_run(
        {
            **resolve(plan, 1, "protected").as_json(),
            "bookkeeper": "4.18.0",
            "commit": "a" * 40,
            "dirty": False,
            "conf": spec.describe(),
            "user_conf": {"bookie": own, "client": {}},
        }
    )
    return plan, find_again(tmp_path, str(tmp_path / "run"), None, jars)


def test_a_replay_has_the_users_settings_but_not_their_addresses_and_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, found = again(
        tmp_path,
        monkeypatch,
        bookieId="mine:3181",
        dbStorage_writeCacheMaxSizeMb="8192",
        gcEntryLogMetadataCachePath="/mnt/mine",
        gcWaitTime="9000",
        ledgerDirectories="/mnt/mine/1,/mnt/mine/2",
    )
    assert found.plan.cluster.bookie_conf == {
        **plan.cluster.bookie_conf,
        "dbStorage_writeCacheMaxSizeMb": "512",
        "gcWaitTime": "9000",
    }


def test_what_is_known_or_does_not_count_is_sought_only_where_nothing_else_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [anomaly("metadata/wrong_length"), anomaly("replicas/hole")]
    _, found = again(tmp_path, monkeypatch, anomaly("closing/closed_below"), *others)
    assert found.sought == {"closing/closed_below"}
    assert found.beside.endswith(": metadata/wrong_length, replicas/hole")
    _, found = again(tmp_path / "known", monkeypatch, *others)
    assert (found.sought, found.beside) == ({"metadata/wrong_length", "replicas/hole"}, "")


def test_a_run_of_another_commit_or_build_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "adopt", lambda _: "4.19.0-jars.0123456789ab")
    _, found = again(tmp_path, monkeypatch, jars=tmp_path / "jars")
    assert found.version == "4.19.0-jars.0123456789ab"
    assert found.words[-2:] == ("--jars", str(tmp_path / "jars"))
    build, commit = found.differences
    assert build == "BookKeeper: 4.18.0 in the run, 4.19.0-jars.0123456789ab here"
    assert commit.startswith("Fencepost's commit: aaaaaaaaaaaa in the run, ")
    status = StatusLines(quiet=False)
    lines: list[str] = []
    monkeypatch.setattr(status, "line", lambda text, **_: lines.append(text))
    replay._introduce(found, 1, status)
    assert {build, commit} <= {*lines}
