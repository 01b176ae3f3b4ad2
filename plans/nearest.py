"""Sentences about a name that is not known: what was given, what is nearest, what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None when none is like it."""
    found = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """``unknown step `kil`; did you mean `kill`? Allowed: kill, start`` (one line)."""
    names = sorted(known)
    close = nearest(str(name), names)
    hint = f"did you mean `{close}`? " if close else ""
    allowed = ", ".join(names) if names else "none"
    return f"unknown {what} `{name}`; {hint}Allowed: {allowed}"
