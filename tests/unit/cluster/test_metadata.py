"""The harness's own connection to ZooKeeper, where kazoo stands between it and a Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cluster import metadata


class Kazoo:
    """Sends as kazoo does, whose ``except:`` swallows whatever is raised there; a Ctrl-C comes just then."""

    def __init__(self, **_: Any) -> None:
        self.connected = True

    def start(self, timeout: float) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...

    def get_children_async(self, path: str) -> Any:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # A signal is delivered between two of these.
                pass
        except:  # noqa: E722
            return SimpleNamespace(get=lambda **_: ["swallowed"])
        return SimpleNamespace(get=lambda **_: [])


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Handle SIGINT as in a terminal; tests that run in the background ignore it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_ctrl_c_while_kazoo_sends_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "KazooClient", Kazoo)
    with metadata.Metadata(("localhost", 1)) as store, pytest.raises(KeyboardInterrupt):
        store.registered()


class Store:
    """A metadata store that has these names below the path of repair."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def children(self, path: str) -> tuple[str, ...]:
        return self._names if path == "/ledgers/underreplication" else ()


@pytest.mark.parametrize(
    ("names", "over"),
    [
        ((), False),
        (("ledgers", "locks", "auditorelection", "LAYOUT"), False),
        (("ledgers", "checkallledgersctime"), True),
        (("ledgers", "disable"), True),  # an auditor that may not repair does not check either
    ],
)
def test_the_first_check_of_all_ledgers_is_over_when_its_time_is_told(
    names: tuple[str, ...], over: bool
) -> None:
    store: Any = Store(*names)
    assert metadata.RepairRecords(store).checked() is over
