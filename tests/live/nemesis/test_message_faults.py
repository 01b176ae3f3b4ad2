"""Faults of messages on a real cluster, as BookKeeper's own client and bookies take them, in V3 and V2."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.waiting import wait_until
from evidence.codes import ErrorCode, Status
from nemesis.nemesis import Nemesis
from tests.live.clusters import healing, running
from tests.nemesis_contract.fault_stories import WHOLE, Lines, inject, phases, proof

QUORUMS = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
PROTOCOLS = {"v3": {}, "v2": {"useV2WireProtocol": "true"}}
ANSWERED = {"way": "answers", "kinds": ("add",), "ledger": "main"}


@pytest.fixture(scope="module", params=PROTOCOLS)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    # There is no fourth bookie to replace a bookie that does not answer.
    conf = {"delayEnsembleChange": "true", "addEntryTimeoutSec": "30", "readEntryTimeoutSec": "30"}
    spec = {"client_conf": conf | PROTOCOLS[request.param], "observed": False}
    with running(tmp_path_factory.mktemp("messages"), clients=("writer", "other"), **spec) as opened:
        yield opened
        wire = opened.links.wire()
    assert wire is not None
    assert sum(link["requests"] for link in wire["links"].values()) > 0
    hidden = ("raw_streams", "oversize", "unparsed", "uncorrelated", "discarded", "unforgeable")
    for name, link in wire["links"].items():
        assert {counter: link[counter] for counter in hidden} == dict.fromkeys(hidden, 0), name


class Writing:
    """One ledger of the writer, known as ``main``."""

    def __init__(self, cluster: Any, handle: str) -> None:
        self._cluster = cluster
        self._handle = handle
        self._writer = cluster.clients["writer"]
        self.ledger = int(self._call("create", **QUORUMS)["ledger"])

    def append(self, entries: int, **more: Any) -> dict[str, Any]:
        asked = {"entries": entries, "entry_bytes": 128, "outstanding": 50, **more}
        return self._call("append", **asked)

    def acked(self) -> int:
        return int(self._call("status")["acked"])

    def statuses(self, bookie: str, *entries: int) -> list[int | None]:
        """What a bookie answers when it is asked for entries, past every link."""
        return [self._cluster.answer(bookie, self.ledger, entry) for entry in entries]

    def wait_for_statuses(self, bookie: str, *entries: int) -> None:
        """Wait until a bookie has the entries."""

        def there() -> tuple[bool, str]:
            statuses = self.statuses(bookie, *entries)
            return statuses == [Status.EOK] * len(entries), f"{bookie} says {statuses}"

        wait_until(there, 60, f"entries {entries} at {bookie}")

    def _call(self, do: str, **more: Any) -> dict[str, Any]:
        return dict(self._writer.call(do, timeout_s=60, handle=self._handle, **more))


@pytest.fixture
def writing(cluster: Any, request: pytest.FixtureRequest) -> Writing:
    return Writing(cluster, request.node.name.partition("[")[0])


@pytest.fixture
def nemesis(cluster: Any, writing: Writing, lines: Lines) -> Iterator[Nemesis]:
    ledger = {"main": writing.ledger}.__getitem__
    with healing(Nemesis(cluster, lambda line: lines.append(dict(line)), ledger=ledger)) as faults:
        yield faults
    assert cluster.unplanned() == []


def to(bookie: str) -> dict[str, str]:
    return {"from": "writer", "to": bookie}


def until(nemesis: Nemesis, name: str, times: int) -> None:
    """Wait until a fault has acted ``times`` times."""

    def acted() -> tuple[bool, str]:
        count = nemesis.acted(name) or 0
        return count >= times, f"it acted {count} times"

    wait_until(acted, 60, f"{name} to act {times} times")


def test_a_dropped_add_is_not_at_that_bookie_and_not_acknowledged_by_it(
    writing: Writing, nemesis: Nemesis, lines: Lines
) -> None:
    lost = {"kinds": ("add",), "ledger": "main", "entries": (2, 3), "as": "lost"}
    inject(nemesis, "drop", **to("b1"), **lost)
    assert writing.append(6)["acked"] == 6
    until(nemesis, "lost", 2)  # two others were enough for the acknowledgements
    nemesis.heal()
    assert (proof(lines, "healed")["matched"], proof(lines, "healed")["acted"]) == (2, 2)
    writing.wait_for_statuses("b1", 5)
    assert writing.statuses("b1", 1, 2, 3, 4) == [Status.EOK, Status.ENOENTRY, Status.ENOENTRY, Status.EOK]
    writing.wait_for_statuses("b2", 2, 3)


def test_an_add_waits_for_its_ack_quorum_while_answers_are_held(
    writing: Writing, nemesis: Nemesis, lines: Lines
) -> None:
    inject(nemesis, "hold", **to("b1"), **ANSWERED, **{"as": "first"})
    inject(nemesis, "hold", **to("b2"), **ANSWERED, **{"as": "second"})
    writing.append(5, background=True)
    until(nemesis, "first", 5)
    until(nemesis, "second", 5)
    assert writing.acked() == 0
    assert writing.statuses("b1", 0, 4) == [Status.EOK, Status.EOK]  # Stored, but not acknowledged.
    nemesis.heal(name="first")
    wait_until(lambda: (writing.acked() >= 5, f"{writing.acked()}"), 60, "5 acknowledged entries")
    assert [str(entry) for entry in nemesis.in_force()] == ["hold writer-b2"]
    nemesis.heal()
    assert [proof(lines, "healed", fault)["released"] for fault in (1, 2)] == [5, 5]
    assert writing.append(1)["acked"] == 1


def test_duplicates_do_no_harm(writing: Writing, nemesis: Nemesis, lines: Lines, cluster: Any) -> None:
    for number, bookie in enumerate(("b1", "b2", "b3")):
        way = "answers" if number == 2 else "requests"
        inject(nemesis, "duplicate", **to(bookie), kinds=("add",), way=way, **{"as": f"twice{bookie}"})
    assert writing.append(40)["acked"] == 40
    for bookie in ("b1", "b2", "b3"):  # The last answers come when two of three were enough.
        until(nemesis, f"twice{bookie}", 40)
    nemesis.heal()
    assert [proof(lines, "healed", fault)["acted"] for fault in (1, 2, 3)] == [40, 40, 40]
    other = cluster.clients["other"]
    opened = other.call("open", timeout_s=60, handle="twice", ledger=writing.ledger, recovery=True)
    assert opened["last_entry"] == 39
    assert other.call("read", timeout_s=60, handle="twice", first=0, last=39)["entries"] == 40


def test_a_forged_fence_ends_the_writer(writing: Writing, nemesis: Nemesis, lines: Lines) -> None:
    for bookie in ("b2", "b3"):  # One alone could come after a full ack quorum.
        inject(nemesis, "forge", **to(bookie), **ANSWERED, entries=(7, 7), status="EFENCED")
    ended = writing.append(20, outstanding=1)
    assert (ended["ok"], ended["code"], ended["acked"]) == (False, ErrorCode.LEDGER_FENCED, 7)
    assert sum(counted["acted"] for counted in healed(nemesis, lines)) >= 1
    writing.wait_for_statuses("b3", 7)  # The bookie had said yes.


def test_a_forged_answer_stands_for_a_bookie_that_was_not_asked(
    writing: Writing, nemesis: Nemesis, lines: Lines, cluster: Any
) -> None:
    assert writing.append(3, outstanding=1)["acked"] == 3
    for bookie in ("b1", "b2", "b3"):
        forged = {"from": "other", "to": bookie, "kinds": ("read",), "entries": (0, 0)}
        inject(nemesis, "forge", **forged, status="ENOENTRY")
    other = cluster.clients["other"]
    other.call("open", timeout_s=60, handle="denied", ledger=writing.ledger, recovery=False)
    denied = other.call("read", timeout_s=60, handle="denied", first=0, last=0)
    assert (denied["ok"], denied["code"]) == (False, ErrorCode.NO_SUCH_ENTRY)
    assert sum(proof_of["acted"] for proof_of in healed(nemesis, lines)) == 3
    assert other.call("read", timeout_s=60, handle="denied", first=0, last=0)["ok"]


def healed(nemesis: Nemesis, lines: Lines) -> list[Any]:
    count = len(nemesis.in_force())
    nemesis.heal()
    return [proof(lines, "healed", fault) for fault in range(1, count + 1)]


def test_delayed_answers_make_an_add_late(writing: Writing, nemesis: Nemesis, lines: Lines) -> None:
    for bookie in ("b1", "b2"):
        late = {"entries": (3, 3), "delay_ms": 2000, "as": f"late{bookie}"}
        inject(nemesis, "delay", **to(bookie), **ANSWERED, **late)
    assert writing.append(3)["acked"] == 3
    assert [nemesis.acted(f"late{bookie}") for bookie in ("b1", "b2")] == [0, 0]
    began = time.monotonic()
    assert writing.append(1)["acked"] == 1
    assert time.monotonic() - began >= 2
    for bookie in ("b1", "b2"):  # One of them was enough for the acknowledgement.
        until(nemesis, f"late{bookie}", 1)
    nemesis.heal()
    assert [phases(lines, fault) for fault in (1, 2)] == [WHOLE, WHOLE]


def test_a_lost_fence_lets_the_writer_go_on_at_that_bookie(
    writing: Writing, nemesis: Nemesis, lines: Lines, cluster: Any
) -> None:
    assert writing.append(3)["acked"] == 3
    lost = {"from": "other", "kinds": ("fencing_lac_read", "recovery_read"), "ledger": "main", "as": "lost"}
    inject(nemesis, "drop", **lost, to="b3")
    other = cluster.clients["other"]
    assert other.call("open", timeout_s=60, handle="fence", ledger=writing.ledger, recovery=True)["ok"]
    until(nemesis, "lost", 1)  # two others were enough to open it
    assert writing.append(1)["code"] == ErrorCode.LEDGER_FENCED
    writing.wait_for_statuses("b3", 3)  # It did not get the fence and accepts the add.
    assert writing.statuses("b1", 3) != [Status.EOK]
    nemesis.heal()
    assert proof(lines, "healed")["acted"] >= 1


def test_a_silent_link_lets_go_what_it_held_when_it_is_healed(
    writing: Writing, nemesis: Nemesis, lines: Lines
) -> None:
    inject(nemesis, "pause", target="b2")
    inject(nemesis, "hold", **to("b2"), **{"as": "silent"})  # also while the bookie reads nothing
    nemesis.heal(kind="pause")
    assert writing.append(10)["acked"] == 10
    until(nemesis, "silent", 10)
    assert nemesis.acted("silent") == 10
    assert set(writing.statuses("b2", *range(10))) <= {Status.ENOENTRY, Status.ENOLEDGER}
    nemesis.heal()
    writing.wait_for_statuses("b2", *range(10))
    assert phases(lines, 2) == WHOLE
