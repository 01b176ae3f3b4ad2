"""Nested scopes: they end in reverse order whatever happens, and every error is reported.

Unlike ``contextlib.ExitStack`` an error while ending one thing hides neither the error that ended
the run nor those of the others: all are reported together. Independent of servers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

from protocol.errors import ServerError

T = TypeVar("T")


class TeardownError(ServerError):
    """Steps of a teardown failed; the message names each with its error, oldest first."""


class Scopes:
    """A context manager that ends what was entered into it, the newest first.

    When the body fails, its error propagates and the errors of the teardown are added to it as notes;
    when only the teardown fails, ``TeardownError`` is raised.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[str, Callable[[], object]]] = []

    def __enter__(self) -> Scopes:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        errors = self.close()
        if not errors:
            return
        lines = [f"{what}: {type(failure).__name__}: {failure}" for what, failure in errors]
        if error is None:
            failed = f"{len(errors)} of the teardown failed: {'; '.join(lines)}"
            raise TeardownError(failed) from errors[0][1]
        for line in lines:
            error.add_note(f"while ending {line}")

    def enter(self, what: str, scope: AbstractContextManager[T]) -> T:
        """Enter a context manager; it is left with no exception of the body's."""
        value = scope.__enter__()
        self._ends.append((what, lambda: scope.__exit__(None, None, None)))
        return value

    def on_end(self, what: str, end: Callable[[], object]) -> None:
        """Call ``end`` when its turn comes."""
        self._ends.append((what, end))

    def close(self) -> list[tuple[str, Exception]]:
        """End everything now; returns the errors instead of raising them. A second call does nothing.

        An interrupt (Ctrl-C) propagates only after every teardown step has run.
        """
        errors: list[tuple[str, Exception]] = []
        interrupt: BaseException | None = None
        while self._ends:
            what, end = self._ends.pop()
            try:
                end()
            except Exception as error:  # teardown: the others must still be ended  # noqa: BLE001
                errors.append((what, error))
            except BaseException as error:  # the same, for an interrupt  # noqa: BLE001
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return errors
