"""Admin commands as steps, and when all is replicated: what is asked, and how it is judged."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.interface import Exit, ProcessState
from cluster.servers.admin import Administered
from evidence.codes import Outcome
from harness.conditions.repair import (
    Candidate,
    Locked,
    Marked,
    ReplicasCounted,
    Replicated,
    candidate,
    locked,
    marked,
    replicas_counted,
    replicated,
)
from harness.recording.context import BootLogs
from harness.steps.admin import Admin, admin
from protocol.errors import ContradictedError, UsageError
from protocol.shell import ShellCommand

RUNNING, DOWN = ProcessState.RUNNING, ProcessState.DOWN


class Operated:
    """A cluster of three bookies with one auditor, whose log and marks the test writes.

    It is a run's context as well, as far as conditions and steps look at one.
    """

    def __init__(self, path: Path) -> None:
        self.cluster, self.folder = self, SimpleNamespace(path=path)
        self.ledgers = SimpleNamespace(id={"main": 7}.__getitem__)
        self._logs = BootLogs()
        self.bookies = {name: SimpleNamespace(state=RUNNING) for name in ("b1", "b2", "b3")}
        self.autorecovery: dict[str, Any] = {"ar1": SimpleNamespace(boot=1)}
        self.present = {"b1", "b2", "b3"}
        self.marks: list[int] = []
        self.locks: list[int] = []
        self.metadata = SimpleNamespace(registered=lambda: frozenset(self.present))
        self.ends_with: Exit | None = Exit("admin", 1, 0, None, 1)
        self.says = "done"
        self.given: list[tuple[str, str | None]] = []
        self.votes = {"V_0000000003": "ar1"}
        self.repairs = SimpleNamespace(
            auditor=lambda: "ar1",
            votes=lambda: self.votes,
            under_replicated=lambda: self.marks,
            under_repair=lambda: self.locks,
        )
        self.process = self.bookies.__getitem__

    def log(self, name: str) -> Path:
        return self.folder.path / f"{name}.log"

    def boot_log(self, name: str) -> Any:
        return self._logs.of(name, 1, self.log(name))

    def audit(self, *, began: bool = True, ended: bool = True, what: str = "auditBookies") -> None:
        """Write an audit into the log, as of now."""
        with self.log("ar1").open("a") as log:
            for wanted, words in ((began, f"Starting {what}"), (ended, f"Completed {what}")):
                if wanted:
                    log.write(
                        f"{time.monotonic_ns()} {time.time_ns() // 10**6} INFO  [A] Task - {words} {{}}\n"
                    )

    def count_replicas(self, *counts: int) -> None:
        """Write a check of replicas with these counts of ledgers into the log, the worst first."""
        self.audit(ended=False, what="ReplicasCheck")
        ends = ("NoReplicaOfAnEntry", "LessThanAQReplicasOfAnEntry", "LessThanWQReplicasOfAnEntry")
        result = ", ".join(f"numLedgersFoundHaving{end}={n}" for end, n in zip(ends, counts, strict=True))
        with self.log("ar1").open("a") as log:
            log.write(f"0 {time.time_ns() // 10**6} INFO  [A] Task - Completed ReplicasCheck {{{result}}}\n")

    def administer(self, command: ShellCommand, target: str | None, *, timeout_s: float) -> Administered:
        self.given.append((command.name, target))
        output = self.folder.path / "servers" / "admin" / "boot-1.log"
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(self.says)
        return Administered(self.ends_with, output)


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    return Operated(tmp_path)


def test_all_is_replicated_after_an_audit_that_began_since(cluster: Any) -> None:
    cluster.audit()
    look = replicated(cluster, Replicated())
    assert look()[0] is False, "that audit was before"
    cluster.audit(ended=False)
    assert look()[0] is False, "it goes on"
    cluster.audit(began=False)
    assert look()[0] is True


def test_an_audit_of_bookies_does_not_pass_for_one_of_ledgers(cluster: Any) -> None:
    look = replicated(cluster, Replicated(audit="ledgers"))
    look()
    cluster.audit()
    assert look() == (False, "no audit of ledgers has ended that began since; the auditor is ar1")
    cluster.audit(what="checkAllLedgers")
    assert look()[0] is True


def test_an_auditor_that_has_ended_is_told(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    look = replicated(cluster, Replicated())
    cluster.autorecovery["ar1"] = SimpleNamespace(boot=1, state=DOWN)
    monkeypatch.setattr(cluster.repairs, "auditor", lambda: None)
    assert look() == (
        False,
        "no audit of bookies has ended that began since; no auditor is elected; ended: ['ar1']",
    )


@pytest.mark.parametrize("what", ["marks", "locks"])
def test_nothing_is_replicated_while_a_ledger_is_marked_or_under_repair(cluster: Any, what: str) -> None:
    look = replicated(cluster, Replicated())
    look()
    cluster.audit()
    getattr(cluster, what).append(7)
    assert look()[0] is False
    getattr(cluster, what).clear()
    assert look()[0] is True


def test_an_audit_counts_from_when_just_the_running_bookies_are_registered(cluster: Any) -> None:
    look = replicated(cluster, Replicated())
    look()
    cluster.bookies["b1"].state = DOWN
    assert look() == (False, "registered though not running: ['b1']; running and not registered: []")
    cluster.audit()  # It may have taken b1 for alive.
    cluster.present.remove("b1")
    assert look()[0] is False
    cluster.audit()
    assert look()[0] is True


def test_what_is_counted_is_what_the_last_check_of_replicas_told_that_began_since(cluster: Any) -> None:
    step = ReplicasCounted(no_copy=1, below_write_quorum=2)
    cluster.count_replicas(1, 0, 2)
    look = replicas_counted(cluster, step)
    assert look() == (False, "no check of replicas has ended that began since; the auditor is ar1")
    cluster.count_replicas(1, 0, 2)
    message = "ledgers counted: no_copy 1, below_ack_quorum 0, below_write_quorum 2"
    assert look() == (True, message)
    cluster.count_replicas(0, 0, 0)
    assert look()[0] is False


def test_five_checks_of_replicas_that_count_alike_and_otherwise_contradict_the_plan(cluster: Any) -> None:
    step = ReplicasCounted(below_ack_quorum=1)
    look = replicas_counted(cluster, step)
    for counted in ((0, 1, 1), (1, 0, 1), (1, 0, 1), (1, 0, 1), (1, 0, 1)):
        cluster.count_replicas(*counted)
        assert look()[0] is False
    cluster.count_replicas(1, 0, 1)
    with pytest.raises(ContradictedError, match="below_write_quorum 1 by each of 5 checks"):
        look()


def test_without_autorecovery_the_plan_is_wrong(cluster: Any) -> None:
    cluster.autorecovery.clear()
    with pytest.raises(UsageError, match="no autorecovery"):
        replicated(cluster, Replicated())


@pytest.mark.parametrize(
    ("marks", "wanted", "holds"), [([7], True, True), ([], True, False), ([], False, True)]
)
def test_a_mark_is_asked_for_or_its_absence(
    cluster: Any, marks: list[int], wanted: bool, holds: bool
) -> None:
    cluster.marks = marks
    assert marked(cluster, Marked.model_validate({"ledger": "main", "is": wanted}))[0] is holds


def test_a_ledger_is_locked_while_its_lock_is_there(cluster: Any) -> None:
    step = Locked(ledger="main")
    assert locked(cluster, step) == (False, "main is not locked by a worker")
    cluster.locks = [6, 7]
    assert locked(cluster, step) == (True, "main is locked by a worker")


def test_a_candidate_has_cast_a_vote(cluster: Any) -> None:
    assert candidate(cluster, Candidate(target="ar1")) == (True, "ar1 has cast a vote")
    assert candidate(cluster, Candidate(target="ar2")) == (False, "ar2 has no vote")


@pytest.mark.parametrize(
    ("ended", "output", "outcome"),
    [
        (Exit("admin", 1, 0, None, 1), "done", Outcome.OK),
        (Exit("admin", 1, 255, None, 1), "0 1 ERROR no", Outcome.FAIL),
        (Exit("admin", 1, None, 9, 1), "", Outcome.FAIL),
        (Exit("admin", 1, 0, None, 1), "java.io.IOException: lock\n-- Done --", Outcome.FAIL),
        (None, "waiting", Outcome.UNKNOWN),
    ],
)
def test_a_command_is_judged_by_its_end_and_its_words(
    cluster: Any, ended: Exit | None, output: str, outcome: Outcome
) -> None:
    cluster.bookies["b1"].state = DOWN
    cluster.ends_with, cluster.says = ended, output
    done = admin(cluster, Admin(command="rebuild_index", target="b1"))
    assert done.outcome is outcome, done.text
    assert done.facts["output"] == "servers/admin/boot-1.log"


def test_a_command_that_wants_its_bookie_down_is_given_otherwise_only_anyway(cluster: Any) -> None:
    with pytest.raises(UsageError, match="wants b1 to be down, and it is running"):
        admin(cluster, Admin(command="rebuild_index", target="b1"))
    assert cluster.given == []
    admin(cluster, Admin(command="rebuild_index", target="b1", anyway=True))
    assert cluster.given == [("rebuild_index", "b1")]
