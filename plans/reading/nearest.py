"""Sentences about a name that is not known: what was given, what is nearest, what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to ``name``, or else a name that begins with it; None without either."""
    names = sorted(known)
    begins = [other for other in names if len(name) > 2 and other.startswith(name)]
    found = get_close_matches(name, names, n=1, cutoff=0.6) or begins
    return found[0] if found else None


def unknown(what: str, name: object, known: Iterable[str], *, listing: str = "") -> str:
    """``unknown step `kil`; did you mean `kill`? Allowed: kill, start`` (one line).

    ``listing`` is the command that prints the names, where a message has no room for all of them.
    """
    return f"unknown {what} `{name}`; {instead(name, known, listing=listing)}"


def instead(name: object, known: Iterable[str], *, listing: str = "") -> str:
    """``did you mean `kill`? Allowed: kill, start``, or only what is allowed."""
    names = sorted(known)
    close = nearest(str(name), names)
    hint = f"did you mean `{close}`? " if close else ""
    if listing:
        return f"{hint}`{listing}` prints all names"
    return f"{hint}{'Allowed' if close else 'allowed'}: {', '.join(names) or 'none'}"
