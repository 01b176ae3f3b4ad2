"""A tailing reader of a load: follows every ledger from its creation to its end."""

from __future__ import annotations

from collections import OrderedDict

from cluster.commands import Result
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings
from workloads.crew import Crew, Inbox, Rolled, next_in

_LOOK_S = 0.2
_END_S = 1.0


class Tailer:
    """Opens each announced ledger without recovery and tails it in the background.

    At most ``at_once`` tails run at a time; the oldest is ended first, settled ledgers before others.
    """

    def __init__(self, crew: Crew, asker: Asker, inbox: Inbox, *, at_once: int) -> None:
        self._crew = crew
        self._asker = asker
        self._inbox = inbox
        self._at_once = at_once
        self._sayings = Sayings(asker.name, crew.say)
        self._tails: OrderedDict[str, Rolled] = OrderedDict()

    def run(self) -> None:
        """Work until the load ends; then end every tail."""
        while not self._crew.stop.is_set():
            try:
                self._step()
            except LoadEndedError:
                return
            except ClientError:
                self._tails.clear()  # they died with the process
                self._asker.wait_for_next_life()
        try:
            while self._tails:
                self._end(next(iter(self._tails)))
        except (ClientError, LoadEndedError):
            return

    def _step(self) -> None:
        rolled = next_in(self._inbox, _LOOK_S)
        if rolled is not None:
            self._begin(rolled)
        while len(self._tails) > self._at_once:
            settled = (handle for handle, rolled in self._tails.items() if rolled.settled.is_set())
            self._end(next(settled, next(iter(self._tails))))

    def _begin(self, rolled: Rolled) -> None:
        handle = self._crew.new_handle(self._asker.name)
        result: Result = self._asker.open(handle, rolled.ledger, recovery=False)
        if result.ok:
            result = self._asker.tail(handle, background=True)
            self._tails[handle] = rolled
        if not result.ok:
            self._sayings.say(f"ledger {rolled.ledger} cannot be followed: {result.refusal}")

    def _end(self, handle: str) -> None:
        self._tails.pop(handle)
        self._crew.totals.add(read=self._asker.stop(handle, _END_S).read)
        self._asker.release(handle)
