"""What holds of every load: its parameters are checked, and it ends whatever became of its clients."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from plans.grammar.names import Names, bookie_names
from tests.unit.workloads.fake_clients import fake_cluster
from tests.unit.workloads.running import load_of
from workloads.chain import ChainLoad
from workloads.churn import ChurnLoad
from workloads.failover import FailoverLoad
from workloads.forced import ForcedLoad
from workloads.many_ledgers import ManyLedgers
from workloads.recovery import RecoveryLoad
from workloads.registry import Workload
from workloads.rolling import AppendLoad
from workloads.striped import StripedLoad

NAMES = Names(bookies=bookie_names(5), clients=("writer", "w1", "w2", "r1", "r2", "owner"))
ONE, TWO = {"writers": ["writer"]}, {"writers": ["w1", "w2"]}
GOOD: dict[type[Workload], dict[str, Any]] = {
    AppendLoad: ONE,
    ChainLoad: TWO,
    ChurnLoad: {**ONE, "deleter": "owner"},
    FailoverLoad: TWO,
    ForcedLoad: ONE,
    ManyLedgers: ONE,
    RecoveryLoad: {**ONE, "recoverers": ["r1", "r2"]},
    StripedLoad: ONE,
}
TWICE = {"writers": ["w1", "w1"]}
NAMED_TWICE = "a client is named twice: w1, w1"


@pytest.mark.parametrize("load", [AppendLoad, ChainLoad, FailoverLoad, ForcedLoad, RecoveryLoad, StripedLoad])
def test_a_load_ends_although_everybody_is_dead(load: type[Workload]) -> None:
    cluster = fake_cluster(*NAMES.clients or ())
    more = {"readers": ["r1"], "closer": "r2"} if load is AppendLoad else {}
    with load_of(load, cluster, **GOOD[load], **more) as running:
        running.until(lambda: cluster.ledgers.state)
        for client in cluster.clients.values():
            client.die()
        assert running.end()["ledgers"] > 0


def test_a_load_has_writers() -> None:
    with pytest.raises(ValidationError, match=r"writers\n  Field required"):
        AppendLoad()


@pytest.mark.parametrize(
    ("load", "params", "message"),
    [
        (AppendLoad, {"writers": []}, "at least 1"),
        (AppendLoad, TWICE, NAMED_TWICE),
        (AppendLoad, {"writers": ["writr"]}, "did you mean `writer`"),
        (AppendLoad, {"write_quorum": 2, "ack_quorum": 3}, "AQ"),
        (AppendLoad, {"ensemble": 6}, "ensemble 6 is more than the plan's 5 bookies"),
        (AppendLoad, {"close_fraction": 1.5}, "less than or equal to 1"),
        (AppendLoad, {"entry_bytes": 63}, "greater than or equal to 64"),
        (AppendLoad, {"rate_per_s": 0}, "greater than 0"),
        (ChainLoad, {"writers": ["w1"]}, "at least 2"),
        (ChainLoad, {"readers": ["r1", "r1"]}, "a client is named twice: r1, r1"),
        (ChainLoad, {"log": "a/b"}, "should match pattern"),
        (ChainLoad, {"read_every_s": 0}, "greater than 0"),
        (ChurnLoad, {"keep": -1}, "greater than or equal to 0"),
        (ChurnLoad, TWICE, NAMED_TWICE),
        (FailoverLoad, {"writers": ["w1"]}, "at least 2"),
        (FailoverLoad, TWICE, NAMED_TWICE),
        (
            FailoverLoad,
            {"rate_per_s": 0.1, "patience_s": 2},
            "rate_per_s 0.1 is less than one add in patience_s 2",
        ),
        (FailoverLoad, {"patience_s": 0}, "greater than 0"),
        (FailoverLoad, {"late_entries": 0}, "greater than or equal to 1"),
        (ForcedLoad, {"entries_per_force": 0}, "greater than or equal to 1"),
        (ForcedLoad, {"unforced_fraction": 1.5}, "less than or equal to 1"),
        (ForcedLoad, TWICE, NAMED_TWICE),
        (ManyLedgers, {"writers": []}, "at least 1"),
        (ManyLedgers, TWICE, NAMED_TWICE),
        (ManyLedgers, {"ledgers": 0}, "greater than or equal to 1"),
        (RecoveryLoad, {"recoverers": ["r1"]}, "at least 2"),
        (RecoveryLoad, {"recoverers": ["r1", "r1"]}, "a client is named twice: r1, r1"),
        (RecoveryLoad, {"recoverers": ["rr1", "r2"]}, "did you mean `r1`"),
        (RecoveryLoad, {"writers": []}, "at least 1"),
        (RecoveryLoad, {"rate_per_s": 0}, "greater than 0"),
        (RecoveryLoad, {"write_quorum": 2, "ack_quorum": 3}, "AQ"),
        (StripedLoad, {"ensemble": 3}, "write quorum 3 is not less than ensemble 3: nothing is striped"),
        (
            StripedLoad,
            {"ensemble": 5},
            "ensemble 5 leaves none of the plan's 5 bookies to take another's place",
        ),
        (StripedLoad, {"ensemble": 6}, "ensemble 6 is more than the plan's 5 bookies"),
        (StripedLoad, {"changes_per_ledger": 0}, "greater than or equal to 1"),
    ],
)
def test_parameters_that_cannot_be_are_refused(
    load: type[Workload], params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        named = {"workload": load.kind, "as": "load1"}
        load.model_validate(named | GOOD[load] | params, context=NAMES.context())
