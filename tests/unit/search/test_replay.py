"""A stored run becomes a plan with the user's own settings in it, as far as the run took them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.processes.settings import RunSpec
from evidence.folder import RunFolder
from harness.vocabulary import words
from plans.load import find, load
from plans.resolve import resolve
from protocol.modes import MODES
from search import replay
from search.replay import find_again


def test_a_replay_has_the_users_settings_but_not_their_addresses_and_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "stored_kinds", lambda folder: frozenset())
    monkeypatch.setattr(replay, "stored_ledgers", lambda folder: ())
    own = {
        "bookieId": "mine:3181",
        "dbStorage_writeCacheMaxSizeMb": "8192",
        "gcEntryLogMetadataCachePath": "/mnt/mine",
        "gcWaitTime": "9000",
        "ledgerDirectories": "/mnt/mine/1,/mnt/mine/2",
    }
    folder = RunFolder.create(tmp_path / "run", "protected")
    plan = load(find("bp46/truncation"), words())
    spec = RunSpec(folder, MODES["protected"], bookie_conf=plan.cluster.bookie_conf, user_bookie_conf=own)
    folder.write_run(
        {
            **resolve(plan, 1, "protected").as_json(),
            "bookkeeper": "4.18.0",
            "conf": spec.describe(),
            "user_conf": {"bookie": own, "client": {}},
        }
    )
    again = find_again(tmp_path, str(tmp_path / "run"), None)
    assert again.plan.cluster.bookie_conf == {
        **plan.cluster.bookie_conf,
        "dbStorage_writeCacheMaxSizeMb": "512",
        "gcWaitTime": "9000",
    }
