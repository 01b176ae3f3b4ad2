"""Operators on a real cluster: autorecovery copies what a dead bookie held, admin commands act or fail."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from cluster.servers.cluster import Cluster
from cluster.waiting import wait_until
from nemesis.registry import FAULTS, FaultContext
from protocol.shell import COMMANDS
from tests.length import quick_and_long

Opener = Callable[..., AbstractContextManager[Cluster]]
NO_SUCH_ENTRY_AT_ALL = 2**40
VERSIONS = ["4.18.0", "4.14.7"]


def closed_ledger(cluster: Cluster, entries: int) -> tuple[int, tuple[str, ...]]:
    """A closed ledger and the bookies that have all of it."""
    writer = cluster.clients["writer"]
    made = writer.call("create", timeout_s=60, handle="h", ensemble=3, write_quorum=3, ack_quorum=3)
    assert made["ok"], made
    sizes = {"entries": entries, "entry_bytes": 100, "outstanding": 10}
    assert writer.call("append", timeout_s=60, handle="h", **sizes)["acked"] == entries
    assert writer.call("close", timeout_s=60, handle="h")["ok"]
    return int(made["ledger"]), ensemble(cluster, int(made["ledger"]))


def ensemble(cluster: Cluster, ledger: int) -> tuple[str, ...]:
    found = cluster.metadata.ledger(ledger)
    assert found is not None
    (fragment,) = found[0].fragments
    return tuple(fragment.bookies)


@pytest.mark.parametrize("version", quick_and_long(VERSIONS, ["4.14.7"]))
def test_what_a_killed_bookie_held_is_copied_though_the_auditor_was_killed_too(
    opened: Opener, version: str
) -> None:
    spec = {"version": version, "mode": "journal", "clients": ("writer",), "observed": False}
    with opened(bookies=4, autorecovery=2, **spec) as cluster:
        elections = cluster.repairs
        assert elections.checked(), "the auditor's first check of all ledgers precedes the test's ledgers"
        ledger, before = closed_ledger(cluster, 10)
        auditor = cluster.repairs.auditor()
        assert auditor is not None
        first = cluster.autorecovery[auditor]
        first.kill()
        cluster.bookies[before[0]].kill()
        (spare,) = set(cluster.bookies) - set(before)

        def replaced() -> tuple[bool, str]:
            now = ensemble(cluster, ledger)
            return set(now) == {*before[1:], spare}, f"ensemble {now}, auditor {cluster.repairs.auditor()}"

        wait_until(replaced, 90, "the spare bookie replaces the killed bookie")
        assert [cluster.answer(spare, ledger, entry) for entry in range(10)] == [0] * 10
        wait_until(
            lambda: (not cluster.repairs.under_replicated() and not cluster.repairs.under_repair(), "marks"),
            60,
            "no mark and no lock",
        )
        second = next(one for name, one in cluster.autorecovery.items() if name != auditor)
        assert cluster.repairs.auditor() == second.name
        first.start()
        first.wait_ready(60)
        former = {vote for vote, name in elections.votes().items() if name == second.name}
        second.kill()
        second.start()
        assert former and former.isdisjoint(elections.votes()), (
            "the vote of the killed one does not wait for its session's end"
        )
        second.wait_ready(60)
        assert cluster.repairs.auditor() == auditor
        first.pause()
        wait_until(
            lambda: (cluster.repairs.auditor() == second.name, "session"),
            60,
            "the end of the paused one's session",
        )
        paused = FAULTS["pause"](target=auditor)
        assert paused.heal(FaultContext(cluster)) == {"boot": 3, "ready": True}
        assert cluster.unplanned() == []


@pytest.mark.parametrize("version", quick_and_long(VERSIONS, ["4.14.7"]))
def test_admin_commands_act_on_the_cluster_or_say_that_they_failed(opened: Opener, version: str) -> None:
    spec = {"version": version, "mode": "journal", "clients": ("writer",), "observed": False}
    with opened(bookies=4, administered=True, linked=False, **spec) as cluster:
        ledger, before = closed_ledger(cluster, 5)
        name = before[0]
        bookie = cluster.bookies[name]
        (spare,) = set(cluster.bookies) - set(before)

        def code(command: str, timeout_s: float = 120) -> int | None:
            done = cluster.administer(COMMANDS[command], name, timeout_s=timeout_s)
            assert done.output.is_file()
            return done.ended.code if done.ended else None

        assert code("decommission") != 0, "it is running"
        assert cluster.metadata.cookie(name) is not None
        cluster.zookeeper.pause()  # which it has to ask
        assert code("cookie_delete", timeout_s=0.5) is None, "its time was up"
        cluster.zookeeper.resume()
        bookie.stop()
        assert code("rebuild_index") == 0
        bookie.start()
        bookie.wait_ready(60)
        assert cluster.answer(name, ledger, 4) == 0
        assert cluster.answer(name, ledger, NO_SUCH_ENTRY_AT_ALL) != 0
        bookie.stop()
        assert code("recover") == 0
        assert set(ensemble(cluster, ledger)) == {*before[1:], spare}
        assert [cluster.answer(spare, ledger, entry) for entry in range(5)] == [0] * 5
        assert code("cookie_delete") == 0
        assert cluster.metadata.cookie(name) is None
        assert code("cookie_delete") != 0, "there is none any more"
        assert cluster.unplanned() == []
