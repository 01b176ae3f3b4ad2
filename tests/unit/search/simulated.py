"""Runs that ended as a test says, without folders."""

from __future__ import annotations

from search.running import Ended


def ending(verdict: str, *kinds: str, known: bool = False, headline: str = "") -> type[Ended]:
    """A class of runs with this verdict and failures of these kinds, all of them ``known`` or none."""
    found = frozenset(kinds)
    columns = {"verdict": verdict, "headline": headline, "kinds": found}
    return type("Simulated", (Ended,), {**columns, "known": found if known else frozenset()})
