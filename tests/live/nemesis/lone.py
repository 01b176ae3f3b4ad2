"""One real bookie, alone with a writer and the observer: no other bookie has its entries.

Its adds are journaled, so that a kill leaves them in the journal, and a graceful shutdown also in the
ledger storage. Every test begins and ends with a running bookie; after damage a new bookie gets the old id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from cluster.interface import ProcessState, Refusal
from cluster.waiting import wait_until
from evidence.codes import ErrorCode
from evidence.collect.logs import LogEvent
from harness.recording.context import BootLogs
from nemesis.nemesis import Nemesis
from protocol.addresses import bookie_id
from tests.nemesis_contract.fault_stories import Lines, inject, start

ENTRIES = 20
_TIMEOUT_S = 120
_CODES: dict[int, str] = {
    ErrorCode.OK: "present",
    ErrorCode.NO_SUCH_ENTRY: "no entry",
    ErrorCode.NO_SUCH_LEDGER: "no ledger",
}


class Lone:
    """The bookie ``b1``; ``nemesis`` are the faults on it, ``lines`` is their log."""

    def __init__(self, cluster: Any, nemesis: Nemesis, lines: Lines, number: Callable[[], int]) -> None:
        self.cluster, self.nemesis, self.lines = cluster, nemesis, lines
        self._number = number
        self._heard = BootLogs()

    @property
    def context(self) -> Any:
        """As much of a context as its acts and conditions need."""
        return SimpleNamespace(
            cluster=self.cluster, nemesis=self.nemesis, boot_log=self._events, assert_alive=lambda: None
        )

    def _events(self, name: str) -> Sequence[LogEvent]:
        process = self.cluster.process(name)
        return self._heard.of(name, process.boot, process.log)

    @property
    def process(self) -> Any:
        return self.cluster.process("b1")

    def written(self) -> int:
        """A new ledger with ``ENTRIES`` acknowledged entries, its writer's handle still open."""
        self._known(self.cluster.clients["writer"])
        handle = f"h{self._number()}"
        shape = {"ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
        made = self._ask("create", handle=handle, **shape)
        added = self._ask("append", handle=handle, entries=ENTRIES, entry_bytes=500, outstanding=ENTRIES)
        assert added["acked"] == ENTRIES
        return int(made["ledger"])

    def written_after(self, snapshot: str, *, end: str) -> int:
        """A ledger that was written between the snapshot and that end of the bookie."""
        self.process.snapshot(snapshot)
        ledger = self.written()
        self.end(end)
        return ledger

    def end(self, how: str) -> None:
        inject(self.nemesis, how, target="b1")

    def wipe(self, **params: str) -> None:
        inject(self.nemesis, "wipe", target="b1", **params)

    def corrupt(self, what: str, how: str, **params: Any) -> Mapping[str, Any]:
        """The proof in the fault log."""
        inject(self.nemesis, "corrupt", target="b1", what=what, how=how, **params)
        found: Mapping[str, Any] = next(one for one in self.lines[::-1] if one["phase"] == "injected")
        return found["proof"]  # type: ignore[no-any-return]

    def start(self, **step: Any) -> Refusal | None:
        """Start it, by default until it is ready; how it refused, if that was allowed."""
        refusal: Refusal | None = start(self.nemesis, target="b1", **step)
        return refusal

    def outcome_of_boot(self) -> str:
        """The result of a boot that was not awaited: ``ready``, ``refused`` or ``failed to replay``.

        After the last the process stays, but serves no requests.
        """
        context = self.context

        def found() -> tuple[bool, str]:
            if self.process.refusal() is not None:
                return True, "refused"
            if any(line.event == "journal_failed" for line in context.boot_log("b1")):
                return True, "failed to replay"
            registered = "b1" in self.cluster.metadata.registered()
            return registered and self.cluster.answer("b1", 0, 0) is not None, "ready"

        return wait_until(found, _TIMEOUT_S, "b1 to boot or to fail")

    def holds(self, ledger: int) -> dict[str, int]:
        """What it answers for each of a ledger's entries, and how often; ``damaged`` are present too."""
        self._known(self.cluster.observer)
        span = {"ledger": ledger, "first": 0, "last": ENTRIES - 1, "bookies": ["b1"]}
        asked = {"pass": self._number(), "ledgers": [span], "outstanding": 10}
        reply = self.cluster.observer.call("census", timeout_s=_TIMEOUT_S, **asked)
        assert reply["ok"], reply
        codes = {_CODES.get(int(code), f"error {code}"): count for code, count in reply["codes"].items()}
        return codes | ({"damaged": reply["damaged"]} if reply["damaged"] else {})

    def renew(self) -> None:
        """Replace it by a new bookie."""
        if self.process.state is not ProcessState.DOWN:
            self.end("kill")
        self.wipe(cookie="remove_everywhere")
        self.start()

    def _ask(self, do: str, **parameters: Any) -> Any:
        reply = self.cluster.clients["writer"].call(do, timeout_s=_TIMEOUT_S, **parameters)
        assert reply["ok"], reply
        return reply

    def _known(self, client: Any) -> None:
        def known() -> tuple[bool, str]:
            return client.call("knows", timeout_s=_TIMEOUT_S, bookie=bookie_id("b1"))["known"], "not known"

        wait_until(known, _TIMEOUT_S, "b1 to be known")
