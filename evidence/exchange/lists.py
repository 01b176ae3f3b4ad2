"""The lists that were read, stored once: most are prefixes of the longest list of their log.

A list is given as text, decimal elements with one blank between. A text that is a prefix of the longest
one of its log is not parsed: its length is enough. So each of a million reads costs one comparison of
bytes.
"""

from __future__ import annotations

import re
from array import array
from typing import Any

import numpy as np

from evidence.exchange.transactions import Ints

_BLANK = 32
_ELEMENT = rb"(?:-?\d{1,17}|-9\d{17})"
_PLAIN = re.compile(rb" ?" + _ELEMENT + rb"(?: " + _ELEMENT + rb")*")
_OWN = 10**17
_NAMED = -9 * _OWN - 1
_SHARED = -1


class Lists:
    """Collects the lists of reads; returns afterwards where each starts in one flat array."""

    def __init__(self) -> None:
        self._known: list[bytes] = []
        self._foreign = array("q")
        self._named: dict[Any, int] = {}

    def add(self, key: int, text: bytes) -> tuple[int, int]:
        """(where it starts, its length) of one list of a log; -1 for the start of the log's longest list.

        ``ValueError`` for anything but a list of integers of at most 17 digits.
        """
        while len(self._known) <= key:
            self._known.append(b"")
        known = self._known[key]
        if not text:
            return _SHARED, 0
        length = text.count(b" ") + 1
        if _begins(known, text):
            return _SHARED, length
        continues = _begins(text, known)
        if _PLAIN.fullmatch(text, len(known) if continues else 0) is None:
            raise ValueError("elements are integers of at most 17 digits")
        if continues:
            self._known[key] = text
            return _SHARED, length
        start = len(self._foreign)
        self._foreign.extend(map(int, text.split()))
        return start, length

    def number(self, element: Any) -> int:
        """The integer that stands for an element: itself, or a number far below zero."""
        if type(element) is int and abs(element) < _OWN:
            return element
        return self._named.setdefault(element, _NAMED - len(self._named))

    def names(self) -> dict[int, str]:
        """The names of the elements that are no integers."""
        return {number: str(name) for name, number in self._named.items()}

    def flat(self, key: Ints, start: Ints, is_read: Ints) -> tuple[Ints, Ints]:
        """(starts in the flat array, the flat array), from what ``add`` returned for each read."""
        longest = [array("q", map(int, text.split())) for text in self._known]
        sizes = np.array([len(one) for one in longest] or [0], dtype=np.int64)
        base = np.concatenate(([0], np.cumsum(sizes)))
        parts = [np.frombuffer(one, dtype=np.int64) for one in longest if len(one)]
        foreign = (
            np.frombuffer(self._foreign, dtype=np.int64) if len(self._foreign) else np.empty(0, np.int64)
        )
        own = np.where(start == _SHARED, base[np.minimum(key, len(sizes) - 1)], start + base[-1])
        return np.where(is_read, own, 0), np.concatenate([*parts, foreign])


def _begins(whole: bytes, part: bytes) -> bool:
    """Whether ``part`` is as many whole elements of the beginning of ``whole``."""
    return whole.startswith(part) and (len(whole) == len(part) or not part or whole[len(part)] == _BLANK)
