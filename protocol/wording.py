"""How texts say a number of things."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 entry``, ``41,200 entries``."""
    word = singular if number == 1 else plural or f"{singular}s"
    return f"{number:,} {word}"
