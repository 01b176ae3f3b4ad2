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


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """``unknown step `kil`; did you mean `kill`? Allowed: kill, start`` (one line)."""
    return f"unknown {what} `{name}`; {instead(name, known)}"


def instead(name: object, known: Iterable[str]) -> str:
    """``did you mean `kill`? Allowed: kill, start``, or only what is allowed."""
    names = sorted(known)
    allowed = ", ".join(names) if names else "none"
    close = nearest(str(name), names)
    return f"did you mean `{close}`? Allowed: {allowed}" if close else f"allowed: {allowed}"
