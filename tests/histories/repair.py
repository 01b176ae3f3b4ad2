"""BP-46's full check in the simulator: a bookie that lost entries ends its limbo and copies what it lacks."""

from __future__ import annotations

from tests.histories.clients import Conversation
from tests.histories.cluster import CLOSED, Cluster, Metadata
from tests.histories.openers import Opener
from tests.histories.wire import OK


class FullCheck(Opener):
    """A recoverer inside one boot of a bookie: what it asks itself crosses no wire."""

    def __init__(self, cluster: Cluster, bookie: int) -> None:
        super().__init__(cluster, bookie)
        self.boot = cluster.bookies[bookie].boot
        self.busy = False

    def check(self) -> None:
        """Begin a check, if none goes on; a bookie's crash ends it."""
        if self.alive and not self.busy:
            self.busy = True
            self.converse(self._checking())

    def _checking(self) -> Conversation:
        bookie = self.cluster.bookies[self.number]
        whole = True
        for ledger in sorted(bookie.limbo):
            end = yield from self.ending(ledger)
            if end is not None or self.cluster.read(ledger) is None:
                bookie.limbo.discard(ledger)
            else:
                whole = False
        for ledger in self.cluster.versions:
            read = self.cluster.read(ledger)
            if read is not None:
                whole &= yield from self._copy(ledger, read)
        if whole:
            bookie.unclean = False
            self.cluster.boot_events.append(
                (self.number, self.boot, "full_check_complete", self.cluster.tick())
            )
        self.busy = False

    def _copy(self, ledger: int, read: Metadata) -> Conversation:
        """Copy what is missing of every fragment that has ended; whether nothing is missing now."""
        bookie = self.cluster.bookies[self.number]
        ended = read.last if read.state == CLOSED else read.fragments[-1][0] - 1
        for entry in range(ended + 1):
            targets = read.targets(entry)
            if self.number not in targets or bookie.holds(ledger, entry):
                continue
            for peer in targets:
                if peer != self.number and not bookie.holds(ledger, entry):
                    _, status, copy = yield [(peer, ("read", ledger, entry))]
                    if status == OK:
                        bookie.durable[ledger, entry] = copy
            if not bookie.holds(ledger, entry):
                return False
        return True
