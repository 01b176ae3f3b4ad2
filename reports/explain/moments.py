"""One line of a story: when, who, what; and how many such lines become text.

Independent of tables and of BookKeeper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Literal

_WIDEST_NAME = 28
METADATA, NEMESIS = "metadata", "nemesis"
Tone = Literal["plain", "good", "bad", "doubt", "fault"]
"""What colour a moment has."""


class Event(Enum):
    """What a drawing must know of a moment, whatever its words are."""

    HEALED = auto()
    """The end of a fault."""
    CLOSED = auto()
    """A version of the metadata that is CLOSED."""
    BEGAN = auto()
    ENDED = auto()
    KILLED = auto()
    BOOTING = auto()
    """A step of a boot, or what its disk held."""
    LACKED = auto()
    """Its disk did not hold the entry."""


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """At ``at_ns`` (monotonic), ``who`` did ``what``; ``to`` is the receiver, if any.

    ``order`` decides between equal times. Neighbours that ``join`` become one line when they say
    the same: of one sender to several, or of several senders. Moments that ``decide`` are metadata
    versions and the messages of a recovery: no summary leaves them out. ``targets`` are the servers that a
    fault hit or a version of the metadata names; ``census_pass`` is 0 for what is no answer of a census.
    """

    at_ns: int
    order: int
    who: str
    what: str
    to: str = ""
    join: bool = False
    decides: bool = False
    tone: Tone = "plain"
    event: Event | None = field(default=None, compare=False)
    targets: tuple[str, ...] = ()
    census_pass: int = 0

    @property
    def subject(self) -> str:
        """``writer -> b1``, or just who."""
        return f"{self.who} -> {self.to}" if self.to else self.who


def format_moments(moments: Iterable[Moment], began_ns: int) -> Iterator[str]:
    """The lines of a story in order of time, in seconds since ``began_ns``."""
    lines = joined(moments)
    width = min(_WIDEST_NAME, max((len(line.subject) for line in lines), default=0))
    for line in lines:
        yield f"  {(line.at_ns - began_ns) / 1e9:10.4f} s  {line.subject:{width}}  {line.what}"


def joined(moments: Iterable[Moment]) -> list[Moment]:
    """In order of time, with neighbours that say the same as one."""
    lines: list[Moment] = []
    for moment in sorted(moments):
        if lines and (both := _both(lines[-1], moment)):
            lines[-1] = both
        else:
            lines.append(moment)
    return lines


def _both(one: Moment, other: Moment) -> Moment | None:
    if not (one.join and other.join and one.what == other.what and bool(one.to) == bool(other.to)):
        return None
    if one.to:
        return replace(one, to=f"{one.to}, {other.to}") if one.who == other.who else None
    return replace(one, who=f"{one.who}, {other.who}")
