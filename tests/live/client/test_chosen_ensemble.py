"""A plan may say which bookies a ledger begins with: the ensemble is theirs, in that order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster.configuration import CHOSEN_ENSEMBLE
from tests.live.clusters import running

CHOSEN = ("b3:3181", "b1:3181", "b4:3181")


@pytest.mark.parametrize("version", ["4.14.7", "4.18.0"])
def test_a_ledger_begins_with_the_bookies_that_were_named(version: str, tmp_path: Path, ask: Any) -> None:
    spec = {"bookies": 4, "clients": ("writer",), "linked": False, "version": version}
    with running(tmp_path, "unprotected", **spec) as cluster:
        chosen = {CHOSEN_ENSEMBLE: ",".join(CHOSEN)}
        quorums = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 2}
        for number in range(3):
            made = ask(cluster.clients["writer"], "create", handle=f"h{number}", metadata=chosen, **quorums)
            found = cluster.metadata.ledger(int(made["ledger"]))
            assert found is not None
            assert list(found[0].fragments[0].bookies) == ["b3", "b1", "b4"]
        made = ask(cluster.clients["writer"], "create", handle="free", **quorums)
        assert cluster.metadata.ledger(int(made["ledger"])) is not None
